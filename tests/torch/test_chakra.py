"""The Chakra file of a PyTorch job has operators and ranges with their own times, and equals the file that
`convert` makes from the Kineto file. PyTorch's own execution trace can be joined with this file."""
import collections
import json
import subprocess

import chakra
import harness
import pytest
from chakra_live import check_live
from test_chakra_online import check, the_et
from test_chakra_replay import check_ends, convert


def test_operators_of_a_training_step(torch, tmp_path):
    run = torch.job("mlp", log="warn")
    assert run.status == 0, run.stderr
    et, trace = the_et(run), run.trace()
    assert not chakra.broken(et)
    names = collections.Counter(n.name for n in et.cpu)
    assert names["aten::addmm"] and any(name.startswith("autograd::") for name in names)
    # Every operation depends on the CPU node that launched the operation.
    by_id = et.by_id
    assert et.gpu and all(any(by_id[d].cpu for d in n.deps) for n in et.gpu)
    assert {n.attr["rf_id"] for n in et.cpu if "rf_id" in n.attr} <= \
        {e["args"].get("Record function id") for e in trace.of("cpu_op", "user_annotation")}
    assert not any(trace.counters[f"chakra_{what}"] for what in
                   ("edges_left_out", "rows_left_out", "no_launch", "failed"))
    assert check(et.path).returncode == 0
    # In a replay, steps end at their recorded times. The last nodes of autograd's thread and of the
    # calling thread do too.
    assert any(row["name"].startswith("ProfilerStep#") for row in trace.of("user_annotation"))
    assert len({n.attr["tid"] for n in et.cpu}) > 1
    check_ends(et, run, trace.path)
    check_live(run.out, tmp_path)


@pytest.mark.full(seconds=4.3)
def test_what_operators_were_given(torch, tmp_path):
    run = torch.job("mlp", log="warn", SYNCLINE_OPS="full")
    assert run.status == 0, run.stderr
    et = the_et(run)
    assert not chakra.broken(et)
    products = [n.proto.inputs for n in et.cpu if n.name == "aten::addmm" and n.proto.HasField("inputs")]
    assert products and all(json.loads(n.types)[:3] == ["float"] * 3 for n in products)
    for bias, left, right in (json.loads(n.shapes)[:3] for n in products):
        assert left[1] == right[0] and bias == [right[1]]
    check_live(run.out, tmp_path)


def test_a_backward_pass_is_of_the_thread_that_called_it(torch, tmp_path):
    """A thread runs a backward pass. Another thread has operators with the same sequence numbers
    and sleeps. Only nodes of the calling thread depend on nodes of autograd's thread."""
    run = torch.job("forwards", log="warn")
    assert run.status == 0, run.stderr
    et = the_et(run)
    assert not chakra.broken(et)
    (caller,) = {n.attr["tid"] for n in et.cpu if n.name == "calls backward"}
    (sleeper,) = {n.attr["tid"] for n in et.cpu if n.name == "sleeps"}
    autograd = {n.attr["tid"] for n in et.cpu if n.name.startswith("autograd::")}
    pairs = {(et.by_id[d].attr["tid"], n.attr["tid"]) for n in et.cpu for d in n.deps
             if et.by_id[d].cpu}
    for thread in autograd:
        assert {(caller, thread), (thread, caller)} <= pairs
        assert not {(sleeper, thread), (thread, sleeper)} & pairs
    # The sleeping thread's time is not split. The time of the calling thread is split.
    assert sum(n.duration for n in et.cpu if n.name == "sleeps") > 300_000_000
    assert not run.trace().counters["chakra_callers_unknown"]
    check_live(run.out, tmp_path)


# Attributes of PyTorch's trace that are not compared, because syncline's writer sets them from its
# own records.
SAID_ANYWAY = {"rf_id", "tid", "seq_id"}


def what_pytorch_says(path) -> dict[int, dict]:
    """Returns the data of PyTorch's execution trace by record function: the lists unchanged, and
    the attributes that have a value."""
    said = {}
    for node in json.loads(path.read_text())["nodes"]:
        attrs = {a["name"]: a["value"] for a in node["attrs"] if a["value"] != ""}
        if rf_id := attrs["rf_id"]:  # 0 for the nodes of threads and of the process, which are left out
            said[rf_id] = {
                "name": node["name"], "et_id": node["id"], "et_parent": node["ctrl_deps"],
                **{(io, what): node[io][what] for io in ("inputs", "outputs")
                   for what in ("values", "shapes", "types")},
                **{name: value for name, value in attrs.items() if name not in SAID_ANYWAY}}
    return said


def what_we_say(node: chakra.Node, keys) -> dict:
    """Returns the same data for a node of syncline's trace."""
    lists = {(io, what): json.loads(getattr(getattr(node.proto, io), what) or "[]")
             for io in ("inputs", "outputs") for what in ("values", "shapes", "types")}
    return {key: lists[key] if key in lists else node.name if key == "name" else node.attr.get(key)
            for key in keys}


def test_joined_with_what_pytorch_s_observer_wrote(torch, tmp_path):
    """syncline records a job that runs three steps under torch.profiler and ExecutionTraceObserver.
    All nodes of PyTorch's execution trace can be joined with the trace of syncline, and with the
    trace of torch.profiler."""
    theirs = tmp_path / "theirs.json"
    run = torch.job("profiled", "observed", theirs)
    assert run.status == 0, run.stderr
    observed = tmp_path / "theirs.json.et.json"
    said = what_pytorch_says(observed)
    assert len(said) > 300 and any(node["inputs", "shapes"] for node in said.values())
    ours = run.trace()
    for trace, lost in ((theirs, 0), (ours.path, ours.lost())):
        et = convert(trace, tmp_path, "--et", observed, "--force")
        assert not chakra.broken(et)
        joined = {node.attr["rf_id"]: node for node in et.cpu if "et_id" in node.attr}
        assert joined.keys() <= said.keys() and len(said.keys() - joined.keys()) <= lost
        for rf_id, node in joined.items():
            assert what_we_say(node, said[rf_id]) == said[rf_id]


def communication(et: chakra.Et) -> list[tuple]:
    """Returns the type, place and size of each communicating node, in the order of the nodes on their thread
    or stream."""
    return sorted((et.lane(n), n.start, n.name, n.type, *(n.attr.get(key) for key in (
        "comm_type", "comm_size", "pg_name", "comm_src", "comm_dst", "collective")))
        for n in et.gpu if "comm_size" in n.attr)


@pytest.mark.full(seconds=10.7)
def test_collectives_of_a_running_job(torch, tmp_path):
    """Each rank's Chakra file has the collectives and groups that `convert` makes from its Kineto file."""
    run = torch.ranks("collectives", 4, log="warn")
    assert run.status == 0, run.stderr
    files = sorted(run.out.rglob("*.et.zst"))
    assert [path.name for path in files] == [f"1.{rank}.et.zst" for rank in range(4)]
    some = set()
    for rank, path in enumerate(files):
        et = chakra.Et(path)
        (kineto,) = path.parent.glob("*.pt.trace.json*")
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        made = folder / f"1.{rank}.et"
        subprocess.run([harness.TOOL, "convert", kineto, "--to", "chakra", "-o", made], check=True)
        found = communication(et)
        assert found == communication(chakra.Et(made))
        # Neither file has nodes for ranges that any thread may end.
        assert any(row["args"].get("async") and row["name"].startswith("nccl:")
                   for row in harness.Trace(kineto).of("user_annotation"))
        names = {n.name for n in et.cpu}
        assert "record_param_comms" in names and names == {n.name for n in chakra.Et(made).cpu}
        assert not any(name.startswith("nccl:") for name in names)
        some |= {(row[4], row[6]) for row in found}
        groups = [json.loads((place / "1.comm_groups.json").read_text())
                  if (place / "1.comm_groups.json").exists() else {} for place in (path.parent, folder)]
        assert not chakra.broken(et, set(groups[0])) and check(path).returncode == 0
        # The header that `convert` reads also has groups that this rank did not use.
        assert groups[0].items() <= groups[1].items()
        assert {row[6] for row in found} <= {"", *groups[0]}
        assert all(sorted(ranks) == ranks and rank in ranks for ranks in groups[0].values())
    # ALL_REDUCE of all ranks and of some, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, BROADCAST.
    assert {kind for kind, _ in some} >= {0, 2, 6, 7, 5}
    assert any(group for _, group in some)
