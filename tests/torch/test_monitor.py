"""SYNCLINE_COLLECTIVES_PRINT prints what Google's monitor_collectives.py prints (docs/from-monitor-collectives.md).
The rules of that program (monitor_rules.py) run in the same job."""
import json
import os
import pathlib
import re
import sys

import harness
import pytest
from conftest import JOBS
from test_ranks import per_rank
from tiers import full_but

UNDER = pathlib.Path(__file__).with_name("under_monitor.py")
VALUES = {"GPU_SERIAL": "1654 \"A\"", "VM_ID": "8013"}


def lines_of(text: str, prefix: str) -> dict[int, list[dict]]:
    """Returns the objects of each rank, in their order. The ids of batches are counted anew, since both
    programs choose them as they like. The time is left out."""
    found = {}
    for line in text.splitlines():
        if line.startswith(prefix + '{"name":'):
            one = json.loads(line.removeprefix(prefix))
            assert isinstance(one.pop("timestamp"), int)
            found.setdefault(one["rank"], []).append(one)
    for calls in found.values():
        ids = list(dict.fromkeys(call["correlation_id"] for call in calls if "correlation_id" in call))
        for call in calls:
            if "correlation_id" in call:
                call["correlation_id"] = ids.index(call["correlation_id"])
    return found


def compare(run) -> tuple[dict, dict]:
    """Returns the lines of syncline and of the other program."""
    assert run.status == 0, run.stderr
    return lines_of(run.stdout, ""), lines_of(run.stdout, "monitor ")


def without_coalesced(calls: list[dict], ranks: int) -> list[dict]:
    """The other program prints each call in a _coalescing_manager, and syncline the one call that the manager
    makes of them. Returns the lines of other calls."""
    elements = {"all_reduce": (41, 42), "all_gather": (51 * ranks, 52 * ranks), "reduce_scatter": (61, 62)}
    coalesced = {(name, 4 * size) for name, sizes in elements.items() for size in (*sizes, sum(sizes))}
    return [one for one in calls if (one["name"], one["message_size"]) not in coalesced]


@pytest.mark.parametrize("ranks, mode, per_node", full_but(
    [(2, "ALL", 2)], [(2, "ALL", 2), (2, "CROSSNODE", 1), (4, "ALL", 4), (4, "CROSSNODE", 2)], seconds=8))
def test_prints_what_monitor_collectives_prints(torch, ranks, mode, per_node):
    run = torch.ranks("calls", ranks, under=[UNDER], RANKS_PER_NODE=str(per_node), TORCH_DISTRIBUTED_TRACING=mode,
                      TORCH_DISTRIBUTED_TRACING_PRINT="1", **VALUES)
    ours, theirs = compare(run)
    assert ours.keys() == theirs.keys() == (set(range(ranks)) if per_node in (1, ranks) else {0, ranks - 1})
    for rank, calls in ours.items():
        counts = [len(found) - len(without_coalesced(found, ranks)) for found in (calls, theirs[rank])]
        assert counts == ([3, 6] if rank == 0 else [0, 0])
        assert without_coalesced(calls, ranks) == without_coalesced(theirs[rank], ranks)
        assert all((one["gpu_serial"], one["vm_id"]) == tuple(VALUES.values()) for one in calls)
    # An object list is one line, although it is two broadcasts. Sizes are whole numbers.
    assert len([one for one in ours[0] if one["name"] == "broadcast_object_list"]) == 1
    singles = [[one["message_size"] for one in found[0] if one["name"] == "all_to_all_single"] for found in (ours, theirs)]
    assert list(map(type, singles[0])) == [int, int] and list(map(type, singles[1])) == [float, float]
    assert "Num p2p ops in batch" not in run.stdout
    assert "TORCH_DISTRIBUTED_TRACING is used as SYNCLINE_COLLECTIVES, " \
           "TORCH_DISTRIBUTED_TRACING_PRINT is used as SYNCLINE_COLLECTIVES_PRINT" in run.stderr


def test_the_commands_of_the_page_work(torch):
    """Runs the commands of the page, and compares its example with what is printed."""
    page = (harness.REPO / "docs" / "from-monitor-collectives.md").read_text()
    commands = "".join(re.findall("```sh\n(.*?)```", page, re.DOTALL))
    examples = [json.loads(text) for text in re.findall(r'^{"name".*?}$', page, re.DOTALL | re.MULTILINE)]
    assert len(examples) == 2
    program = torch.tmp / "train.py"
    # The simulated GPU broadcasts no sizes, so that the ranks would not agree about the bytes of the object list.
    program.write_text((JOBS / "calls.py").read_text().replace('dist.broadcast_object_list([{"a": 1}], src=0)', "pass"))
    commands = commands.replace("/usr/local/lib/libsyncline.so", str(harness.LIBRARY)).replace("train.py", str(program))
    commands = commands.replace("torchrun", "torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0")
    run = torch.run("bash", "-ec", commands, sim=["--devices", "2", *torch.processes()], inject=False,
                    SYNCLINE_OUTPUT="syncline-out", SYNCLINE_JOB="",
                    PATH=f"{harness.TOOL.parent}:{torch.python.parent}:{os.environ['PATH']}")
    assert run.status == 0, run.stderr
    printed = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"name"')]
    for one in examples:
        one["source_line"] = one["source_line"].replace("/work/train.py", str(program))
        assert [same for same in printed if same | {"timestamp": 0} == one | {"timestamp": 0}]
    assert re.search(r"default_pg 0,1 +reduce_scatter_tensor +64 B", run.stdout)


@pytest.mark.full(seconds=5)
def test_known_differences(torch):
    run = torch.ranks("monitored", 2, under=[UNDER], collectives_print="1", TORCH_DISTRIBUTED_TRACING="ALL")
    ours, theirs = compare(run)
    assert list(ours) == list(theirs) == [0]
    world, *coalesced, received = theirs[0]
    # If the default group is passed, the other program prints its ranks. PyTorch does not tell it apart.
    assert world.pop("group_ranks") == [0, 1] and ours[0][0] == world
    assert [one["message_size"] for one in coalesced] == [40, 40]
    assert ours[0][1]["message_size"] == 80 and ours[0][1]["name"] == "all_reduce"
    # The other program prints a recv() from any rank before NCCL refuses it.
    assert received["name"] == "recv" and "peer_rank" not in received and "recv:" in run.stderr
    assert len(ours[0]) == 2


@pytest.mark.full(seconds=4)
def test_none_prints_nothing(torch):
    run = torch.ranks("monitored", 2, collectives="none", collectives_print="1")
    assert run.status == 0 and '{"name"' not in run.stdout


# Runs a command whose stdout is a full pipe that nobody reads.
FULL = """\
import fcntl, os, sys
reader, writer = os.pipe()
os.set_inheritable(reader, True)
os.set_blocking(writer, False)
os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))
os.set_blocking(writer, True)
os.dup2(writer, 1)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.full(seconds=10)
@pytest.mark.parametrize("before, said", [
    ([sys.executable, "-c", FULL], "lines were not printed, because the reader of stdout was too slow"),
    (["bash", "-c", 'exec "$@" >&-', "bash"], "the process has no stdout")])
def test_a_bad_stdout_does_no_harm(torch, before, said):
    run = torch.ranks("monitored", 2, before=before, collectives_print="1")
    assert run.status == 0, run.stderr
    assert said in run.stderr
    assert len(per_rank(run, torch.tmp / "1")) == 2
