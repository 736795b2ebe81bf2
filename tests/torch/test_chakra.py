"""The Chakra file of a PyTorch job: operators and ranges around calls, each with its own time, as
`convert` makes them of the Kineto file."""
import collections

import chakra
import harness
from test_chakra_online import check, the_et
from test_chakra_replay import convert


def content(et: chakra.Et) -> collections.Counter:
    keys = {n.id: (et.lane(n), n.name, n.start, n.end, n.correlation) for n in et.nodes}
    return collections.Counter((keys[n.id], tuple(sorted(keys[d] for d in n.deps)))
                               for n in et.nodes)


def same_nodes(online: chakra.Et, converted: chakra.Et) -> None:
    """What operators were given stands in the Kineto file alone."""
    one, other = content(online), content(converted)
    assert one == other, (list((one - other).items())[:3], list((other - one).items())[:3])


def test_operators_of_a_training_step(torch, tmp_path):
    run = torch.job("mlp", log="warn")
    assert run.status == 0, run.stderr
    et, trace = the_et(run), run.trace()
    assert not chakra.broken(et)
    names = collections.Counter(n.name for n in et.cpu)
    assert names["aten::addmm"] and any(name.startswith("autograd::") for name in names)
    # Every operation was launched in some operator: the row before it on its thread, or around it.
    by_id = et.by_id
    assert all(any(by_id[d].cpu for d in n.deps) for n in et.gpu)
    assert {n.attr["rf_id"] for n in et.cpu if "rf_id" in n.attr} <= \
        {e["args"]["Record function id"] for e in trace.of("cpu_op")}
    assert not any(trace.counters[f"chakra_{what}"] for what in
                   ("edges_left_out", "rows_left_out", "no_launch", "failed"))
    assert check(et.path).returncode == 0
    same_nodes(et, convert(trace.path, tmp_path))
