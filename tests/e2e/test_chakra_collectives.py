"""Runs `syncline convert --to chakra` on traces with collectives. Checks which kernels become
communication nodes, and the contents of the comm-group file."""
import json
import os
import pathlib
import resource
import subprocess

import pytest

import chakra
import harness
from test_chakra_convert import convert, run, slice_, write


def collective_rows(*ranks_of, name="allreduce"):
    rows = []
    for i, ranks in enumerate(ranks_of, 1):
        rows += [slice_("cuda_runtime", "cudaLaunchKernel", 10, 20 * i, 5, cbid=211, correlation=i),
                 slice_("kernel", "ncclDevKernel", 7, 20 * i + 7, 9, device=0, context=1, stream=7,
                        correlation=i, Collective_name=name, dtype="Float", In_msg_nelems=10,
                        Out_msg_nelems=10, Group_size=len(ranks), Process_Group_Name=str(i),
                        Process_Group_Ranks=str(ranks))]
    return rows


def test_ranks_add_their_groups_to_one_file(tmp_path):
    """Four ranks add their groups to one file. A group has the same number on each of its ranks,
    even if the ranks have different names for it."""
    for rank, groups in enumerate([([0, 1], [0, 2]), ([1, 3], [0, 1]), ([0, 2], [2, 3]),
                                   ([2, 3], [1, 3])]):
        trace = write(tmp_path / "t.json", collective_rows(*groups),
                      distributedInfo={"rank": rank, "world_size": 4})
        run(trace, tmp_path / f"job.{rank}.et")
    groups = json.loads((tmp_path / "job.comm_groups.json").read_text())
    assert sorted(groups.values()) == [[0, 1], [0, 2], [1, 3], [2, 3]]
    for rank in range(4):
        et = chakra.Et(tmp_path / f"job.{rank}.et")
        assert et.header["rank"] == rank
        assert all(rank in groups[n.attr["pg_name"]] for n in et.gpu)
        assert not chakra.broken(et, set(groups))


@pytest.mark.parametrize("text", [
    "my notes", "[]", '{"5": 3}', '{"5": "x"}', '{"5": [0, 1],\n}', '{"5": [0, 1]} {"6": [1]}',
    '{"5": [0, 1,]}', '{"5": [0, -1]}', '{"five": [0]}', '{"5": [0, 1]', '{"5": [0, 1]}\0'])
def test_a_file_of_groups_that_is_none_is_left_alone(tmp_path, text):
    trace = write(tmp_path / "t.json", collective_rows([0, 2]),
                  distributedInfo={"rank": 0, "world_size": 4})
    (tmp_path / "job.comm_groups.json").write_text(text)
    done = run(trace, tmp_path / "job.0.et", status=1)
    assert "job.comm_groups.json: it is not a comm-group file" in done.stderr
    assert (tmp_path / "job.comm_groups.json").read_text() == text


@pytest.mark.parametrize("text", ["", "{}", " {\n} \n", '{"5":[ 0,\t1 ]\n, "6" : [] }\n'])
def test_groups_are_added_to_any_file_of_groups(tmp_path, text):
    trace = write(tmp_path / "t.json", collective_rows([0, 2], [1, 3]),
                  distributedInfo={"rank": 0, "world_size": 4})
    path = tmp_path / "job.comm_groups.json"
    path.write_text(text)
    run(trace, tmp_path / "job.0.et")
    groups = json.loads(path.read_text())
    assert {k: groups.pop(k) for k in ("5", "6") if k in groups} == json.loads(text or "{}")
    assert sorted(groups.values()) == [[0, 2], [1, 3]]
    once = path.read_text()
    run(trace, tmp_path / "job.1.et")
    assert path.read_text() == once


@pytest.mark.parametrize("old", [None, [[i, 10000 + i] for i in range(5000)]])
def test_a_full_disk_leaves_the_file_of_groups_as_it_was(tmp_path, old):
    """The disk becomes full while new groups are written. The file keeps its old content."""
    path = tmp_path / "job.comm_groups.json"
    if old:
        path.write_text(json.dumps({str(i): ranks for i, ranks in enumerate(old, 1)}))
    ranks = [[1, *range(10, 1000 + i)] for i in range(1 if old else 4)]
    trace = write(tmp_path / "t.json", collective_rows(*ranks),
                  distributedInfo={"rank": 0, "world_size": 4000})
    text = path.read_text() if old else None
    limit = len(text) + 10 if text else 10000
    done = run(trace, tmp_path / "job.0.et", status=1,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert "job.comm_groups.json: File too large" in done.stderr
    assert (path.read_text() if path.exists() else None) == text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.0.et", *[path.name] * bool(old), "t.json"]


def test_many_ranks_at_once(tmp_path):
    """24 ranks write at the same time. Each adds one group, and no group is lost."""
    traces = [write(tmp_path / f"t{rank}.json", collective_rows([0, rank]),
                    distributedInfo={"rank": rank, "world_size": 99}) for rank in range(1, 25)]
    children = [subprocess.Popen([harness.TOOL, "convert", trace, "--to", "chakra", "-o",
                                  tmp_path / f"job.{rank}.et"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for rank, trace in enumerate(traces, 1)]
    assert [child.wait(60) for child in children] == [0] * 24
    groups = json.loads((tmp_path / "job.comm_groups.json").read_text())
    assert sorted(groups.values()) == [[0, rank] for rank in range(1, 25)]


def test_who_may_read_the_file_of_groups_still_may(tmp_path):
    path = tmp_path / "job.comm_groups.json"
    for rank in (1, 2):
        trace = write(tmp_path / "t.json", collective_rows([0, rank]),
                      distributedInfo={"rank": rank, "world_size": 4})
        run(trace, tmp_path / f"job.{rank}.et")
        assert path.stat().st_mode & 0o777 == (0o600 if rank == 1 else 0o644)
        path.chmod(0o644)
    assert sorted(json.loads(path.read_text()).values()) == [[0, 1], [0, 2]]


def test_what_an_earlier_run_left_is_in_the_way(tmp_path):
    """A temporary file of an earlier run with the same process id exists, which happens in
    containers. The command asks the user to remove this file, and does not read groups from it."""
    trace = write(tmp_path / "t.json", collective_rows([0, 2]),
                  distributedInfo={"rank": 0, "world_size": 4})
    path = tmp_path / "job.comm_groups.json"
    done = run(trace, tmp_path / "job.0.et", status=1,
               preexec_fn=lambda: pathlib.Path(f"{path}.{os.getpid()}.part").touch())
    assert "an earlier run left" in done.stderr and "remove it" in done.stderr
    assert "another job" not in done.stderr
    assert not path.exists()


def test_a_group_that_has_other_ranks_in_the_file_is_said(tmp_path):
    trace = write(tmp_path / "t.json", collective_rows([0, 2]),
                  distributedInfo={"rank": 0, "world_size": 4})
    run(trace, tmp_path / "job.0.et")
    path = tmp_path / "job.comm_groups.json"
    number, = json.loads(path.read_text())
    for ranks in ([0, 1], [0], [0, 2, 3], [], [2, 0], [0, 21]):
        path.write_text(text := json.dumps({"7": [0, 2], number: ranks}))
        done = run(trace, tmp_path / "job.1.et", "--force", status=1)
        assert f"its group {number} has other ranks" in done.stderr
        assert path.read_text() == text


@pytest.mark.parametrize("name", ["reduce", "gather", "scatter", "barrier"])
def test_what_makes_simulators_abort_is_computation_to_them(tmp_path, name):
    trace = write(tmp_path / "t.json", collective_rows([0, 1], name=name),
                  distributedInfo={"rank": 0, "world_size": 2})
    node, = convert(trace, tmp_path).gpu
    assert node.type == chakra.COMP and node.attr["collective"] == name.upper()


@pytest.mark.parametrize("args", [
    {"Process_Group_Ranks": "[0, 1, ...]"}, {"dtype": "Quaternion"}, {"Collective_name": "wait"},
    {"In_msg_nelems": -4}, {"In_msg_nelems": 2**60}, {"Process_Group_Ranks": "[]"}])
def test_collectives_that_are_not_told_whole_are_computation(tmp_path, args):
    rows = collective_rows([0, 2])
    rows[1]["args"].update({k.replace("_", " "): v for k, v in args.items()})
    done = run(write(tmp_path / "t.json", rows), tmp_path / "t.et")
    node, = chakra.Et(tmp_path / "t.et").gpu
    assert node.type == chakra.COMP and "comm_type" not in node.attr
    assert "left out: 1 collectives of unknown type" in done.stdout


@pytest.mark.parametrize("name, type_", [("all_to_allv", chakra.COLL), ("send", chakra.SEND),
                                         ("barrier", chakra.COMP)])
def test_a_rank_that_puts_in_nothing_takes_part(tmp_path, name, type_):
    """A rank contributes no elements, for example because its expert received no token. The rank's file still
    has a communication node, because the nodes of the other ranks wait for this node."""
    rows = collective_rows([0, 1], name=name)
    rows[1]["args"].update({"In msg nelems": 0, "Dst Rank": 1})
    node, = convert(write(tmp_path / "t.json", rows,
                          distributedInfo={"rank": 0, "world_size": 2}), tmp_path).gpu
    assert node.type == type_ and node.attr["comm_size"] == 0 and node.attr["pg_name"] == ""
    assert node.attr.get("collective") == ("BARRIER" if name == "barrier" else None)
