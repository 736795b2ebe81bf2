"""Tests `syncline collectives` on traces worked out by hand: bandwidth, waiting, clocks of several hosts, ranks that
do not agree, and bad input."""
import gzip
import json
import random
import subprocess

import pytest

from edges_tool import launch
from real_traces import TRACES, real
from test_report import report, step, table
from test_tool import TOOL, one_line, run


def nccl(correlation, start, end, *, name="allreduce", into=None, elements=250, number=None, ranks=(0, 1),
         dtype="Float", stream=20, **args):
    """Returns the rows of one collective. Times are in us."""
    rows = launch(correlation, start - 5, start, end, stream=stream, **{
        "Collective name": name, "In msg nelems": elements, "Out msg nelems": into or elements,
        "Group size": len(ranks), "dtype": dtype, "Process Group Name": "0",
        "Process Group Description": "default_pg", "Process Group Ranks": str(list(ranks)), **args})
    rows[1]["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    if number is not None:
        rows[1]["args"]["Seq"] = number
    return rows


def write(tmp_path, rank, rows, world=2, **header):
    path = tmp_path / f"rank-{rank}.pt.trace.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": rows,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, **header}))
    return path


def collectives(*arguments, status=0):
    return json.loads(run("collectives", "--json", *arguments, status=status)[0])


def test_two_ranks_with_exact_numbers(tmp_path):
    """1000 bytes. Rank 1 begins 40 us late twice, and both begin together once; each transfer is 20 us. A compute
    kernel hides 15 us of the first on rank 0."""
    rows = [[], []]
    for rank in (0, 1):
        for n, late in enumerate([40, 40, 0]):
            at = 1000 * n
            rows[rank] += nccl(n + 1, at + 10 + late * rank, at + 30 + late, number=n)
    rows[0] += launch(99, 20, 25, 40)
    found = collectives(*[write(tmp_path, rank, rows[rank], host_name="node") for rank in (0, 1)])
    (row,) = found["collectives"]
    assert row == {
        "group": 0, "call": "all_reduce", "bytes_from": 512, "count": 3, "timed": 3, "shared": 0, "sample": 1,
        "kernel_ns": 200000, "exposed_ns": 185000, "waiting_ns": 80000, "transfer_ns": 60000,
        "algorithm_gb_per_s": pytest.approx(0.05), "bus_gb_per_s": pytest.approx(0.05), "is_local": False,
        "together": 1, "last": [{"rank": 1, "count": 2}]}
    assert found["groups"] == [{"description": "default_pg", "ranks": [0, 1], "size": 2, "is_timed": True}]
    assert (found["matched"], found["problems"], found["absent_ranks"]) == (3, [], [])
    assert [clock["error_ns"] for clock in found["clocks"]] == [0, 0]
    out = run("collectives", tmp_path)[0]
    assert "default_pg 0,1" in out and "rank 1: 2, together: 1" in out and "do not agree" not in out


@pytest.mark.parametrize("name, sent, received, args, size, factor", [
    ("allreduce", 1000, 1000, {}, 4000, 1.5),
    ("_allgather_base", 1000, 4000, {}, 16000, 0.75),
    ("_reduce_scatter_base", 4000, 1000, {}, 16000, 0.75),
    ("broadcast", 1000, 1000, {}, 4000, 1),
    ("reduce", 1000, 1000, {}, 4000, 1),
    ("all_to_allv", 1000, 1000, {}, 4000, 0.75),
    ("gather", 1000, 4000, {}, 16000, 0.75),
    ("scatter", 4000, 1000, {}, 16000, 0.75),
    ("all_to_allv", 1000, 1000, {"Message size": 8000, "Call": "all_to_all_single"}, 8000, 0.75),
])
def test_size_and_bandwidth_of_each_call(tmp_path, name, sent, received, args, size, factor):
    """Kernels of 10 us on 4 ranks, of one of which the file is there: local bandwidths."""
    path = write(tmp_path, 0, nccl(1, 10, 20, name=name, elements=sent, into=received, ranks=range(4), **args), 4)
    found = collectives(path)
    (row,) = found["collectives"]
    assert row["is_local"] and row["timed"] == 0 and row["waiting_ns"] is None
    assert row["bytes_from"] == 1 << size.bit_length() - 1
    assert row["algorithm_gb_per_s"] == pytest.approx(size / 10000)
    assert row["bus_gb_per_s"] == pytest.approx(size / 10000 * factor)
    assert row["call"] == args.get("Call", row["call"])
    assert (found["absent_ranks"], found["not_recorded"]) == ([1, 2, 3], 1)


def test_one_rank_and_barrier_and_shared_kernels(tmp_path):
    """As in nccl-tests: one rank has no bandwidth of the bus, and a barrier none at all."""
    path = write(tmp_path, 0, [
        *nccl(1, 10, 20, ranks=[0]), *nccl(2, 30, 40, name="barrier", elements=0, dtype="Byte", ranks=[0]),
        *nccl(3, 50, 60, name="_allgather_base", ranks=[0], Batch="7")], 1)
    found = collectives(path)
    assert {(row["call"], row["shared"], row["algorithm_gb_per_s"], row["bus_gb_per_s"])
            for row in found["collectives"]} == {
        ("all_reduce", 0, 0.1, 0), ("barrier", 0, None, None), ("all_gather_into_tensor", 1, None, None)}
    assert found["not_recorded"] == 0
    assert "L: local" in run("collectives", path)[0]


def test_send_and_receive_by_pair_and_order(tmp_path):
    """Rank 1 sends twice; rank 0 begins to receive 30 us earlier, then together."""
    sent = {"name": "send", "Dst Rank": 0, "Src Rank": 1, "number": 5}
    got = {"name": "recv", "Src Rank": 1, "Dst Rank": 0, "number": 9}
    paths = [write(tmp_path, 1, [*nccl(1, 40, 50, **sent), *nccl(2, 100, 110, **sent)], host_name="node"),
             write(tmp_path, 0, [*nccl(1, 10, 50, **got), *nccl(2, 100, 110, **got)], host_name="node")]
    found = collectives(*paths)
    assert [(row["call"], row["count"], row["timed"], row["waiting_ns"], row["transfer_ns"], row["together"],
             row["last"]) for row in found["collectives"]] == [
        ("send", 2, 2, 30000, 20000, 1, [{"rank": 1, "count": 1}])]
    assert found["collectives"][0]["bus_gb_per_s"] == pytest.approx(0.1)


def batch(correlation, start, end, *, sent=(), got=(), ranks=(0, 1), **args):
    """Returns the rows of a batch_isend_irecv() of 1000 bytes to each rank of `sent` and from each of `got`."""
    calls = len(sent) + len(got)
    if len(set(sent)) == 1:
        args["Dst Rank"] = sent[0]
    if len(set(got)) == 1:
        args["Src Rank"] = got[0]
    one_way = len(set(sent)) + len(set(got)) == 1
    return nccl(correlation, start, end, name=("send" if sent else "recv") if one_way else "batch_isend_irecv", ranks=ranks,
                **{"Call": "batch_isend_irecv", "Calls": calls, "Batch": str(correlation), "Message size": 1000 * calls, **args})


def test_batches_of_messages_between_two_ranks(tmp_path):
    """Rank 1 exchanges 40 us late, then rank 0 sends 30 us late, then sends two tensors in one kernel."""
    paths = [
        write(tmp_path, 0, [*batch(1, 10, 60, sent=[1], got=[1]), *batch(2, 130, 140, sent=[1]),
                            *batch(3, 200, 210, sent=[1, 1])], host_name="node"),
        write(tmp_path, 1, [*batch(1, 50, 60, sent=[0], got=[0]), *batch(2, 100, 140, got=[0]),
                            *batch(3, 200, 210, got=[0, 0])], host_name="node")]
    found = collectives(*paths)
    rows = {(row["call"], row["bytes_from"]): row for row in found["collectives"]}
    assert {key: (row["count"], row["timed"], row["shared"], row["waiting_ns"], row["transfer_ns"], row["bus_gb_per_s"],
                  row["last"], row["together"]) for key, row in rows.items()} == {
        ("batch_isend_irecv", 1024): (1, 1, 1, 40000, 10000, None, [{"rank": 1, "count": 1}], 0),
        ("send", 512): (1, 1, 0, 30000, 10000, pytest.approx(0.1), [{"rank": 0, "count": 1}], 0),
        ("send", 1024): (1, 1, 1, 0, 10000, None, [], 1)}
    assert (found["matched"], found["not_recorded"], found["problems"]) == (3, 0, [])
    assert "not timed" not in run("collectives", *paths)[0]


def test_a_batch_is_matched_only_with_the_same_messages(tmp_path):
    """Rank 1 has the messages of rank 0's first kernel in two kernels. The second exchange is the same on both."""
    paths = [
        write(tmp_path, 0, [*batch(1, 10, 60, sent=[1], got=[1]), *batch(2, 100, 130, sent=[1], got=[1])], host_name="node"),
        write(tmp_path, 1, [*batch(1, 10, 40, got=[0]), *batch(2, 50, 60, sent=[0]),
                            *batch(3, 120, 130, sent=[0], got=[0])], host_name="node")]
    found = collectives(*paths)
    exchange, = (row for row in found["collectives"] if row["call"] == "batch_isend_irecv")
    assert (exchange["count"], exchange["timed"], exchange["waiting_ns"], exchange["last"]) == (
        2, 1, 20000, [{"rank": 1, "count": 1}])
    assert (found["matched"], found["unmatched"]["message"], found["problems"]) == (1, 3, [])
    assert "3: messages that the other rank did not record" in run("collectives", *paths)[0]


def test_batches_with_several_ranks_are_not_timed(tmp_path):
    """A ring of three ranks, each of which has two peers."""
    paths = [write(tmp_path, rank, batch(1, 10, 20, sent=[(rank + 1) % 3], got=[(rank + 2) % 3], ranks=range(3)), 3,
                   host_name="node") for rank in range(3)]
    found = collectives(*paths)
    (row,) = found["collectives"]
    assert (row["call"], row["count"], row["timed"], row["algorithm_gb_per_s"]) == ("batch_isend_irecv", 3, 0, None)
    assert (found["not_recorded"], found["unmatched"]["several_peers"], found["problems"]) == (3, 3, [])
    out = run("collectives", *paths)[0]
    assert "3: kernels of messages with several ranks" in out and "not all ranks recorded" not in out


def test_messages_in_batches_with_several_ranks_count(tmp_path):
    """Rank 0 sends a tensor, then one in a batch. Rank 1 receives the first in a batch, and the second alone, so
    that nothing is the same on both. Then rank 0 sends once more."""
    paths = [
        write(tmp_path, 0, [*batch(1, 10, 20, sent=[1], ranks=range(3)), *batch(2, 30, 40, sent=[1], got=[2], ranks=range(3)),
                            *batch(3, 90, 100, sent=[1], ranks=range(3))], 3, host_name="node"),
        write(tmp_path, 1, [*batch(1, 10, 20, sent=[2], got=[0], ranks=range(3)), *batch(2, 35, 40, got=[0], ranks=range(3)),
                            *batch(3, 50, 100, got=[0], ranks=range(3))], 3, host_name="node")]
    found = collectives(*paths)
    sent, = (row for row in found["collectives"] if row["call"] == "send")
    assert (sent["count"], sent["timed"], sent["waiting_ns"]) == (2, 1, 40000)
    assert (found["matched"], found["unmatched"]["several_peers"], found["unmatched"]["message"]) == (1, 2, 2)


def test_a_message_in_a_batch_is_not_missing(tmp_path):
    """In step 2, rank 1 receives in a batch, which also sends to rank 2."""
    rows = [[], []]
    for n in (1, 2, 3):
        at, both = 1000 * n, {"ranks": range(3)}
        rows[0] += [step(n, at, 900), *batch(n, at + 10, at + 20, sent=[1], **both)]
        rows[1] += [step(n, at, 900), *batch(n, at + 10, at + 20, sent=[2] if n == 2 else [], got=[0], **both)]
    found = collectives(*[write(tmp_path, rank, rows[rank], 3, host_name="node") for rank in (0, 1)])
    assert (found["matched"], found["not_recorded"], found["problems"]) == (2, 2, [])


def test_the_report_gives_no_bandwidth_of_batches(tmp_path):
    """The batch in one direction with one call has its kernel alone."""
    write(tmp_path, 0, [*batch(1, 10, 60, sent=[1], got=[1]), *batch(2, 130, 140, sent=[1]), *batch(3, 200, 210, got=[1, 1])])
    rows = table(report("--only", "collectives", tmp_path), "collectives")
    assert {(row["type"], row["algorithm_gb_per_s"]) for row in rows} == {
        ("batch_isend_irecv", None), ("send", 0.1), ("recv", None)}


@pytest.mark.parametrize("missing, matched", [(0, 3), (1, 0)])
def test_the_report_matches_without_steps(tmp_path, missing, matched):
    """Rank 1 is 40 us late. If it began to record one call later, the order does not tell which calls are one."""
    for rank in (0, 1):
        write(tmp_path, rank, [row for n in range(missing * rank, 3) for row in nccl(
            n + 1, 1000 * n + 10 + 40 * rank, 1000 * n + 60)], host_name="node")
    rows = table(report("--only", "collectives", tmp_path), "collectives")
    assert [(row["rank"], row["matched"], row["waiting_ns"], row["late_rank"]) for row in rows] == [
        (0, matched, 120000 if matched else None, 1 if matched else None), (1, matched, 0 if matched else None, None)]


# ---- NCCL's own description ----

def by_nccl(call="AllReduce", number=0, size=1000, comm=0xab, rank=0, ranks=2, **args):
    """Returns the args that NCCL's profiler gives a kernel."""
    args = {"NCCL call": call, "NCCL bytes": size, "NCCL dtype": "ncclFloat32", "NCCL number": number,
            "Comm": f"0x{comm:016x}", "Comm ranks": ranks, "Comm rank": rank, **args}
    return {key: value for key, value in args.items() if value is not None}


def alone(correlation, start, end, stream=20, **args):
    """Returns the rows of a kernel that only NCCL describes."""
    rows = launch(correlation, start - 5, start, end, stream=stream, **args)
    rows[1]["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    return rows


def test_numbers_of_nccl_match_without_seq_and_steps(tmp_path):
    """Rank 1 began to record two collectives later, so that the order alone would match others."""
    rows = [[], []]
    for rank in (0, 1):
        for n in range(5 if rank == 0 else 3):
            number = n + 2 * rank
            at = 1000 * number + 10
            rows[rank] += nccl(n + 1, at + 40 * rank, at + 60, **by_nccl(number=number, rank=rank))
    found = collectives(*[write(tmp_path, rank, rows[rank], host_name="node") for rank in (0, 1)])
    (row,) = found["collectives"]
    assert (row["call"], row["count"], row["timed"], row["waiting_ns"], row["last"]) == (
        "all_reduce", 5, 3, 120000, [{"rank": 1, "count": 3}])
    assert (found["matched"], found["not_recorded"], found["problems"]) == (3, 2, [])


def test_a_communicator_of_the_same_hash_is_another(tmp_path):
    """Both number from 0. Rank 1 recorded only the second one."""
    rows = [[], []]
    for rank in (0, 1):
        for instance in range(1 + rank, 3):
            for n in range(2):
                at = 10000 * instance + 1000 * n
                rows[rank] += alone(10 * instance + n, at + 10, at + 30,
                                    **by_nccl(number=n, rank=rank, **({"Comm instance": 2} if instance == 2 else {})))
    found = collectives(*[write(tmp_path, rank, rows[rank], host_name="node") for rank in (0, 1)])
    assert (found["matched"], found["not_recorded"], found["problems"]) == (2, 2, [])


def test_pytorchs_number_comes_first(tmp_path):
    paths = [write(tmp_path, rank, nccl(1, 10, 20, number=7, **by_nccl(number=rank)), host_name="node")
             for rank in (0, 1)]
    assert collectives(*paths)["matched"] == 1


@pytest.mark.parametrize("call, name, size, factor", [
    ("AllReduce", "all_reduce", 4000, 1.5), ("AllGather", "all_gather", 16000, 0.75),
    ("ReduceScatter", "reduce_scatter", 16000, 0.75), ("Broadcast", "broadcast", 4000, 1),
    ("Reduce", "reduce", 4000, 1), ("AlltoAll", "all_to_all", 16000, 0.75), ("Gather", "gather", 16000, 0.75),
    ("Scatter", "scatter", 16000, 0.75), ("Send", "send", 4000, 1), ("Recv", "recv", 4000, 1)])
def test_size_of_each_function_of_nccl(tmp_path, call, name, size, factor):
    """NCCL's count is that of one part. The kernel lasts 10 us."""
    path = write(tmp_path, 1, alone(1, 10, 20, **by_nccl(call, size=4000, rank=1, ranks=4, **{"NCCL peer": 2})), 4)
    found = collectives(path)
    (row,) = found["collectives"]
    assert (row["call"], row["bytes_from"]) == (name, 1 << size.bit_length() - 1)
    assert row["algorithm_gb_per_s"] == pytest.approx(size / 10000)
    assert row["bus_gb_per_s"] == pytest.approx(size / 10000 * factor)
    assert found["groups"] == [{"description": "comm 0x00000000000000ab", "ranks": [1], "size": 4, "is_timed": True}]
    assert "comm 0x00000000000000ab 1 of 4" in run("collectives", path)[0]


def test_a_job_without_pytorch(tmp_path):
    """Ranks 4 and 5 are 0 and 1 of the communicator. Rank 5 is late, and receives what rank 4 sends."""
    paths = []
    for rank in (4, 5):
        comm = {"rank": rank - 4, "Comm name": "tp"}
        rows = [row for n in range(3)
                for row in alone(n + 1, 1000 * n + 10 + 30 * (rank == 5), 1000 * n + 60, **by_nccl(number=n, **comm))]
        rows += alone(9, 5000, 5010, **by_nccl("Send" if rank == 4 else "Recv", None, 500, **comm,
                                               **{"NCCL peer": 5 - rank}))
        rows += alone(10, 6000, 6010, **by_nccl("mixed", None, 3000, **comm, **{"NCCL calls in kernel": 2}))
        paths.append(write(tmp_path, rank, rows, 8, host_name="node"))
    found = collectives(*paths)
    rows = {row["call"]: row for row in found["collectives"]}
    assert (rows["all_reduce"]["timed"], rows["all_reduce"]["last"]) == (3, [{"rank": 5, "count": 3}])
    assert (rows["send"]["timed"], rows["send"]["bytes_from"]) == (1, 256) and "recv" not in rows
    assert rows["batch_isend_irecv"]["algorithm_gb_per_s"] is None and rows["batch_isend_irecv"]["shared"] == 2
    assert found["groups"] == [{"description": "tp", "ranks": [4, 5], "size": 2, "is_timed": True}]
    assert (found["matched"], found["problems"]) == (4, [])


def test_desynchronised_functions_of_nccl(tmp_path):
    """After two AllReduce, rank 3 called AllGather and the others AllReduce again. Each function has its own
    numbers, so that no number is there twice."""
    paths = []
    for rank in range(4):
        rows = []
        for n in range(3):
            odd = (rank, n) == (3, 2)
            rows += nccl(n + 1, 1000 * n + 10, 1000 * n + 30, name="_allgather_base" if odd else "allreduce",
                         ranks=range(4), source="train.py:12 odd" if odd else "train.py:10 step",
                         **by_nccl("AllGather" if odd else "AllReduce", 0 if odd else n, rank=rank, ranks=4))
        paths.append(write(tmp_path, rank, rows, 4, host_name="node"))
    found = collectives(*paths, status=1)
    (problem,) = found["problems"]
    assert (problem["kind"], problem["numbered_by"], problem["number"], problem["step"]) == ("different_call", "NCCL", 2, None)
    assert (problem["odd"]["ranks"], problem["odd"]["line"]) == ([3], "train.py:12 odd")
    assert (problem["others"]["ranks"], problem["others"]["call"]) == ([0, 1, 2], "all_reduce")
    assert ("NCCL's number 2: rank 3 called all_gather_into_tensor (train.py:12 odd), ranks 0-2 all_reduce "
            "(train.py:10 step)") in run("collectives", *paths, status=1)[0]


def test_windows_that_differ_are_no_desynchronisation(tmp_path):
    """All ranks call AllReduce, AllGather, Broadcast in turn. Each recorded another part of them, and a record of
    rank 0 was lost."""
    calls, paths = [("AllReduce", n // 3) if n % 3 == 0 else ("AllGather", n // 3) if n % 3 == 1 else
                    ("Broadcast", n // 3) for n in range(12)], []
    for rank, window in enumerate([range(0, 9), range(2, 12), range(4, 10)]):
        rows = [row for n in window if (rank, n) != (0, 5) for row in alone(
            n + 1, 1000 * n + 10, 1000 * n + 30, **by_nccl(*calls[n], rank=rank, ranks=3))]
        paths.append(write(tmp_path, rank, rows, 3, host_name="node"))
    found = collectives(*paths)
    assert (found["matched"], found["not_recorded"], found["problems"]) == (4, 8, [])


def test_totals_of_a_sample_are_scaled(tmp_path):
    """NCCL described every fourth collective. What PyTorch describes is whole."""
    paths = []
    for rank in (0, 1):
        rows = [row for n in range(0, 8, 4) for row in alone(n + 1, 1000 * n + 10 + 20 * rank, 1000 * n + 40,
                                                             **by_nccl(number=n, rank=rank))]
        rows += nccl(99, 9000, 9010, number=1)
        paths.append(write(tmp_path, rank, rows, host_name="node", syncline={"nccl_sample": 4}))
    found = collectives(*paths)
    whole, sampled = sorted(found["collectives"], key=lambda row: row["sample"])
    assert (whole["sample"], whole["count"], whole["kernel_ns"]) == (1, 1, 20000)
    assert (sampled["sample"], sampled["count"], sampled["timed"]) == (4, 8, 8)
    assert (sampled["kernel_ns"], sampled["waiting_ns"], sampled["transfer_ns"], sampled["exposed_ns"]) == (
        320000, 160000, 80000, 320000)
    assert sampled["last"] == [{"rank": 1, "count": 8}]
    assert sampled["algorithm_gb_per_s"] == pytest.approx(0.1)
    out = run("collectives", *paths)[0]
    assert "      8S    8" in out and "S: a sample of these collectives" in out


# ---- files without kernels ----

def launched(start, name="ncclAllReduce", **args):
    """Returns a row of the track NCCL: a launch on the CPU, of 3 us."""
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1 << 30, "ts": start, "dur": 3,
            "args": args}


def test_collectives_without_kernels(tmp_path):
    """The table has counts and sizes, and no times. Launches do not align clocks: rank 1 launches 1 s later."""
    paths = []
    for rank in (0, 1):
        rows = [launched(1000 * n + 10**6 * rank, **by_nccl(number=n, rank=rank)) for n in range(3)]
        rows += [launched(5000 + 10**6 * rank, "ncclSend" if rank == 0 else "ncclRecv",
                          **by_nccl("Send" if rank == 0 else "Recv", None, 64, rank=rank, **{"NCCL peer": 1 - rank}))]
        # a row of channels and a row of NVTX are no launches
        rows += [launched(10, "channel", **{"NCCL call": "AllReduce", "NCCL number": 0, "Comm": f"0x{0xab:016x}"}),
                 launched(0, domain="NCCL", payload={"Message size [bytes]": 1000})]
        paths.append(write(tmp_path, rank, rows, host_name=f"node{rank}"))
    found = collectives(*paths)
    assert {(row["call"], row["bytes_from"], row["count"], row["timed"]) for row in found["collectives"]} == {
        ("all_reduce", 512, 3, 0), ("send", 64, 1, 0), ("recv", 64, 1, 0)}
    for row in found["collectives"]:
        assert not any(row[key] for key in ("kernel_ns", "exposed_ns", "waiting_ns", "transfer_ns", "algorithm_gb_per_s",
                                            "bus_gb_per_s", "is_local", "last", "together"))
        assert row["kernel_ns"] is row["exposed_ns"] is None
    assert (found["matched"], found["not_recorded"], found["conflicts"], found["problems"]) == (4, 0, [], [])
    assert [clock["offset_ns"] for clock in found["clocks"]] == [0, 0]
    assert [group["ranks"] for group in found["groups"]] == [[0, 1]]
    out = run("collectives", *paths)[0]
    assert "Files without kernels" in out and "no collectives" not in out


def test_launches_beside_kernels_do_not_count(tmp_path):
    """The kernels say the same, with times."""
    for order in (1, -1):
        rows = [launched(100, **by_nccl()), *alone(1, 110, 120, **by_nccl())][::order]
        (row,) = collectives(write(tmp_path, 0, rows, 2))["collectives"]
        assert (row["count"], row["kernel_ns"]) == (1, 10000)


def test_ranks_that_disagree_without_kernels(tmp_path):
    paths = [write(tmp_path, rank, [launched(1000 * n, **by_nccl(number=n, rank=rank, size=2000 if (rank, n) == (1, 2) else
                                                                 1000)) for n in range(3)]) for rank in (0, 1)]
    (problem,) = collectives(*paths, status=1)["problems"]
    assert (problem["kind"], problem["number"]) == ("different_size", 2)


def test_undescribed_kernels_are_explained(tmp_path):
    """The advice fits the file: a sample and graphs have their own. A file whose graphs are described needs none."""
    def out(*rows, **header):
        return " ".join(run("collectives", write(tmp_path, 0, [row for one in rows for row in one], **header))[0].split())

    sample = {"syncline": {"nccl_sample": 3}}
    described, unknown, replay = alone(1, 10, 20, **by_nccl()), alone(2, 30, 40), alone(3, 50, 60)
    told = alone(4, 70, 80, **by_nccl(number=None))
    for rows in (replay, told):
        rows[1]["args"]["graph id"] = 7
    usable, edges, sampled = "without a usable description", "SYNCLINE_GRAPH_EDGES=1", "a sample of the collectives"
    for rows, header, found in [
            ([described, unknown], {}, [usable]),
            ([described, unknown], sample, [sampled]),
            ([unknown], sample, [usable]),  # NCCL described nothing
            ([described, replay], {}, [edges]),
            ([described, unknown, replay], sample, [edges, sampled]),
            ([unknown, told, replay], sample, [sampled]),
            ([told, replay], {}, [usable]),
            ([described], sample, [])]:
        text = out(*rows, **header)
        assert [line for line in (usable, edges, sampled) if line in text] == [
            line for line in (usable, edges, sampled) if line in found]
        count = sum(rows.count(one) for one in (unknown, replay)) // max(len(found), 1)
        assert not found or f" {count} kernel{'s' * (count > 1)} of communication ({count}0.000 us)" in text


@pytest.mark.parametrize("args", [
    {"NCCL call": "Nonsense"}, {"NCCL call": 7}, {"Comm": "ab"}, {"Comm": "0x00000000000000zz"}, {"Comm": None},
    {"Comm ranks": 0}, {"Comm ranks": 2**40}, {"Comm ranks": None}, {"Comm rank": 2}, {"Comm rank": -1},
    {"NCCL bytes": 2**63}, {"NCCL bytes": -5}, {"NCCL number": 2**64}, {"NCCL number": "x"}, {"NCCL dtype": 5},
    {"NCCL root": 2**40}])
def test_args_of_nccl_that_make_no_sense(tmp_path, args):
    paths = [write(tmp_path, rank, alone(1, 10, 20, **{**by_nccl(rank=rank), **args}), host_name="node")
             for rank in (0, 1)]
    found = collectives(*paths)
    assert sum(file["undescribed"] for file in found["files"]) + sum(
        row["count"] * (2 if row["timed"] else 1) for row in found["collectives"]) == 2


# ---- clocks ----

def job(tmp_path, clocks, hosts, calls=40, seed=1):
    """Each rank is late in turn by 100 us. `clocks`: offset in us, drift. Returns the files and the waiting in ns."""
    chance, rows, waiting = random.Random(seed), [[] for _ in clocks], 0
    for n in range(calls):
        at = 1000000 * n
        starts = [at + 50 + chance.uniform(0, 1) + 100 * (n % len(clocks) == rank) for rank in range(len(clocks))]
        waiting += sum(max(starts) - start for start in starts)
        for rank, (offset, drift) in enumerate(clocks):
            shown = [round(offset + t * (1 + drift), 3) for t in (starts[rank], max(starts) + 10)]
            rows[rank] += nccl(n + 1, *shown, number=n, ranks=range(len(clocks)))
    return [write(tmp_path, rank, rows[rank], len(clocks), host_name=hosts[rank]) for rank in range(len(clocks))], waiting


def test_clocks_of_hosts_that_are_apart_and_drift(tmp_path):
    paths, waiting = job(tmp_path, [(0, 0), (0, 0), (7000, 2e-5), (7000, 2e-5)], ["a", "a", "b", "b"])
    found = collectives(*paths)
    assert [(clock["rank"], clock["reference"]) for clock in found["clocks"]] == [(rank, 0) for rank in range(4)]
    for clock in found["clocks"][2:]:
        assert clock["drift_ns_per_s"] == pytest.approx(2e4, abs=1e3)
        # 20 ppm are 390 us in the middle of the 39 s.
        assert clock["offset_ns"] == pytest.approx(7390000, abs=clock["error_ns"] + 100)
        assert 0 < clock["error_ns"] < 20000
    (row,) = found["collectives"]
    assert (row["timed"], row["together"], row["last"]) == (40, 0, [{"rank": rank, "count": 10} for rank in range(4)])
    # Waits below the error count as none, and each of the others is off by at most the error.
    assert row["waiting_ns"] / 1000 == pytest.approx(waiting, rel=0.15)
    assert "clock of rank 2 (b): +7.39" in run("collectives", *paths)[0]


def test_a_lateness_below_the_error_is_none(tmp_path):
    """One collective of 60 us bounds the clocks by 60 us, so the 50 us of rank 1 are nothing."""
    paths = [write(tmp_path, rank, nccl(1, 1000 * rank + 10 + 50 * rank, 1000 * rank + 70, number=1),
                   host_name=f"node{rank}") for rank in (0, 1)]
    found = collectives(*paths)
    (row,) = found["collectives"]
    assert (row["timed"], row["waiting_ns"], row["together"], row["last"]) == (1, 0, 1, [])
    assert found["clocks"][1]["error_ns"] >= 30000


def test_times_that_contradict_each_other_are_named(tmp_path):
    """On one host, rank 1 begins 1 ms after rank 0 has ended."""
    rows = [nccl(1, 10, 70, number=1), nccl(1, 1010, 1070, number=1)]
    paths = [write(tmp_path, rank, rows[rank], host_name="node") for rank in (0, 1)]
    found = collectives(*paths, status=1)
    assert found["conflicts"] == [{"ranks": [0, 1], "is_one_host": True, "ns": 940000}]
    assert [problem["kind"] for problem in found["problems"]] == ["impossible_times"]
    assert not found["groups"][0]["is_timed"] and found["collectives"][0]["is_local"]
    assert "contradict each other by 940.000 us" in run("collectives", *paths, status=1)[0]
    # The clock of another host jumped between two collectives.
    rows = [[*nccl(1, 10, 70, number=1), *nccl(2, 10000, 10060, number=2)],
            [*nccl(1, 10, 70, number=1), *nccl(2, 910000, 910060, number=2)]]
    found = collectives(*[write(tmp_path, rank, rows[rank], host_name=f"node{rank}") for rank in (0, 1)], status=1)
    assert [(c["ranks"], c["is_one_host"]) for c in found["conflicts"]] == [([0, 1], False)]
    assert found["collectives"][0]["timed"] == 0


# ---- ranks that do not agree ----

def many(tmp_path, change=None, ranks=4, calls=5):
    """Ranks that call five all-reduces. `change(rank, number)` returns other arguments, or None for no call."""
    paths = []
    for rank in range(ranks):
        rows = []
        for n in range(calls):
            args = {"name": "allreduce", "source": "train.py:10 step"}
            if change:
                args = change(rank, n, args)
            if args:
                rows += nccl(n + 1, 1000 * n + 10, 1000 * n + 30, number=100 + n, ranks=range(ranks), **args)
        paths.append(write(tmp_path, rank, rows, ranks, host_name="node"))
    return paths


def test_a_desynchronised_rank_is_named_with_both_lines(tmp_path):
    paths = many(tmp_path, lambda rank, n, args: {"name": "_allgather_base", "source": "train.py:12 odd"}
                 if (rank, n) == (3, 2) else args)
    found = collectives(*paths, status=1)
    assert found["problems"] == [{
        "kind": "different_call", "group": 0, "number": 102, "numbered_by": "Seq", "step": None, "order": 0,
        "odd": {"ranks": [3], "call": "all_gather_into_tensor", "line": "train.py:12 odd", "bytes": 1000, "dtype": "Float"},
        "others": {"ranks": [0, 1, 2], "call": "all_reduce", "line": "train.py:10 step", "bytes": 1000,
                   "dtype": "Float"},
        "last_call": None, "last_line": None}]
    assert ("group default_pg 0-3, number 102: rank 3 called all_gather_into_tensor (train.py:12 odd), ranks 0-2 all_reduce "
            "(train.py:10 step)") in run("collectives", *paths, status=1)[0]
    assert {row["call"]: (row["count"], row["timed"]) for row in found["collectives"]} == {
        "all_reduce": (5, 4), "all_gather_into_tensor": (1, 0)}


@pytest.mark.parametrize("change", [{"elements": 500}, {"dtype": "BFloat16"}])
def test_ends_of_other_size_or_dtype(tmp_path, change):
    found = collectives(*many(tmp_path, lambda rank, n, args: {**args, **change} if (rank, n) == (1, 4) else args),
                        status=1)
    (problem,) = found["problems"]
    assert (problem["kind"], problem["number"], problem["odd"]["ranks"]) == ("different_size", 104, [1])


def test_missing_only_inside_the_numbers_that_all_recorded(tmp_path):
    def change(rank, n, args):
        if rank == 1 and n in (0, 4):  # outside of the window of rank 1
            return None
        return None if (rank, n) == (2, 2) else args

    paths = many(tmp_path, change)
    found = collectives(*paths, status=1)
    (problem,) = found["problems"]
    assert (problem["kind"], problem["number"], problem["odd"]["ranks"], problem["others"]["ranks"]) == (
        "missing_call", 102, [2], [0, 1, 3])
    assert (found["matched"], found["not_recorded"]) == (2, 2)
    assert "rank 2 did not call all_reduce (train.py:10 step), ranks 0-1,3 did" in run(
        "collectives", *paths, status=1)[0].replace("0,1,3", "0-1,3")


def test_a_missing_rank_and_a_cut_file(tmp_path):
    paths = many(tmp_path)
    paths.pop(2).unlink()
    found = collectives(*paths)
    assert (found["absent_ranks"], found["matched"], found["not_recorded"]) == ([2], 0, 5)
    assert found["collectives"][0]["is_local"]
    assert "no file of rank 2\n" in run("collectives", tmp_path)[0]
    paths = many(tmp_path)
    # The header comes first, so the cut leaves it. The other files have it at the end.
    trace = json.loads(paths[1].read_text())
    text = json.dumps({**{key: trace[key] for key in trace if key != "traceEvents"}, "traceEvents": trace["traceEvents"]})
    paths[1].write_text(text[:text.index('"Seq": 103')])
    out, error = run("collectives", "--json", *paths, status=1)
    found = json.loads(out)
    assert "truncated or damaged" in one_line(error)
    assert [file["is_cut"] for file in found["files"]] == [False, True, False, False]
    assert (found["matched"], found["not_recorded"], found["problems"]) == (3, 2, [])


def test_ranks_are_compared_although_one_has_no_file(tmp_path):
    def change(rank, n, args):
        if (rank, n) == (3, 2):
            return {"name": "_allgather_base", "source": "train.py:12 odd"}
        return {**args, "elements": 500} if (rank, n) == (1, 4) else args

    paths = many(tmp_path, change)
    paths.pop(0).unlink()
    found = collectives(*paths, status=1)
    assert found["absent_ranks"] == [0]
    assert [(p["kind"], p["number"], p["odd"]["ranks"]) for p in found["problems"]] == [
        ("different_call", 102, [3]), ("different_size", 104, [1])]


def test_functions_of_nccl_are_compared_although_one_rank_has_no_file(tmp_path):
    paths = []
    for rank in range(1, 4):
        rows = []
        for n in range(3):
            odd = (rank, n) == (3, 2)
            rows += nccl(n + 1, 1000 * n + 10, 1000 * n + 30, name="_allgather_base" if odd else "allreduce",
                         ranks=range(4), source="train.py:12 odd" if odd else "train.py:10 step",
                         **by_nccl("AllGather" if odd else "AllReduce", 0 if odd else n, rank=rank, ranks=4))
        paths.append(write(tmp_path, rank, rows, 4, host_name="node"))
    found = collectives(*paths, status=1)
    assert [(p["kind"], p["odd"]["ranks"], p["others"]["ranks"]) for p in found["problems"]] == [
        ("different_call", [3], [1, 2])]


# ---- jobs that hang ----

CALLS = {"AR": "allreduce", "AG": "_allgather_base", "RS": "_reduce_scatter_base"}


def hung(tmp_path, calls, kernels, *, end=9_000_000, ends=None, killed=True, starts=None):
    """Ranks that make these calls, one a ms, of which the first `kernels` have their kernels in the file. The files
    end at `end` us. `starts`: the time of a call that is late, by rank and number."""
    paths = []
    for rank, names in enumerate(calls):
        rows = []
        for n, name in enumerate(names.split()):
            at = (starts or {}).get((rank, n), 1000 * n)
            args = {"name": CALLS[name], "ranks": range(len(calls)), "source": f"train.py:{n} {name}"}
            both = nccl(n + 1, at + 10, at + 30, **args)
            describing = {key: value for key, value in both[1]["args"].items()
                          if key not in ("device", "context", "stream", "correlation")}
            rows.append({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 42, "tid": 42, "ts": at,
                         "dur": 9, "args": describing})
            rows += both if n < kernels[rank] else []
        rows.append({"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": 42, "tid": 43,
                     "ts": (ends or {}).get(rank, end), "dur": 1})
        header = {"generator": "syncline 0.1.0"} if killed else {}
        paths.append(write(tmp_path, rank, rows, len(calls), host_name="node", **header))
    return paths


def test_a_rank_that_a_hung_job_waits_for(tmp_path):
    """Rank 1 stopped after the second call and recorded nothing any more."""
    paths = hung(tmp_path, ["AR AR AG", "AR AR"], [2, 2], ends={1: 1100})
    found = collectives(*paths, status=1)
    (problem,) = found["problems"]
    assert (problem["kind"], problem["odd"]["ranks"], problem["others"]["ranks"], problem["others"]["call"],
            problem["others"]["line"], problem["last_call"], problem["last_line"]) == (
        "missing_call", [1], [0], "all_gather_into_tensor", "train.py:2 AG", "all_reduce", "train.py:1 AR")
    assert (problem["number"], problem["numbered_by"], problem["step"]) == (None, None, None)
    assert ("group default_pg 0,1, after the last collective of all ranks: rank 1 did not call all_gather_into_tensor "
            "(train.py:2 AG), rank 0 did; last call of rank 1: all_reduce (train.py:1 AR)\n"
            in run("collectives", *paths, status=1)[0])


@pytest.mark.parametrize("ending, problems", [(".part", 1), ("", 0)])
def test_a_hung_job_before_its_files_are_completed(tmp_path, ending, problems):
    """A file of another name that is cut may have had the call."""
    paths = []
    for path in hung(tmp_path, ["AR AR AG", "AR AR"], [2, 2], ends={1: 1100}):
        paths.append(path.rename(f"{path}{ending}"))
        trace = json.loads(paths[-1].read_text())
        text = json.dumps({key: trace[key] for key in trace if key != "traceEvents"})[:-1]
        paths[-1].write_text(text + ', "traceEvents": ' + json.dumps(trace["traceEvents"])[:-1])
    found = collectives(*paths, status=1)
    assert [(p["kind"], p["odd"]["ranks"]) for p in found["problems"]] == [("missing_call", [1])] * problems


@pytest.mark.parametrize("kernels", [[4, 4], [0, 6], [3, 4], [0, 0]])
def test_calls_of_a_hung_job_that_differ(tmp_path, kernels):
    """Rank 0 makes one all_gather too many. All of its kernels may be missing."""
    paths = hung(tmp_path, ["AR RS AG AR AG RS AG", "AR RS AG AR RS AG"], kernels, killed=False)
    found = collectives(*paths, status=1)
    (problem,) = found["problems"]
    assert problem["kind"] == "different_call"
    assert sorted((side["ranks"], side["call"], side["line"]) for side in (problem["odd"], problem["others"])) == [
        ([0], "all_gather_into_tensor", "train.py:4 AG"), ([1], "reduce_scatter_tensor", "train.py:4 RS")]


@pytest.mark.parametrize("change", [
    {"end": 1_000_000},                        # nobody waited for long
    {"killed": False, "ends": {1: 1500}},      # the file of rank 1 ends before the call
    {"calls": ["AG AR", "AR AG"], "kernels": [0, 0]},  # the files may begin at different calls
    {"calls": ["AR AR AG", "AR AR"], "kernels": [3, 2]}])  # the call ended, so rank 1 made it
def test_calls_that_are_no_hang(tmp_path, change):
    args = {"calls": ["AR AR AG", "AR AR"], "kernels": [2, 2], **change}
    assert collectives(*hung(tmp_path, **args))["problems"] == []


def test_a_recovered_file_is_named(tmp_path):
    paths = hung(tmp_path, ["AR AR", "AR AR"], [2, 2])
    assert [file["is_recovered"] for file in collectives(*paths)["files"]] == [True, True]
    assert ("a file of ranks 0,1 ends before its process did, which was killed: calls of the last second may be missing\n"
            in run("collectives", *paths)[0])
    paths = hung(tmp_path, ["AR AR", "AR AR"], [2, 2], killed=False)
    assert "killed" not in run("collectives", *paths)[0]


def test_matching_by_steps_and_windows(tmp_path):
    """Without sequence numbers, in two files for each rank. Rank 1 makes one call less in step 3."""
    paths = []
    for rank in (0, 1):
        for window, steps in enumerate([(1, 2), (3, 4)]):
            rows = []
            for n in steps:
                rows += [step(n, 1000 * n, 900)]
                for k in range(3 if (rank, n) == (1, 3) else 4):
                    rows += nccl(10 * n + k, 1000 * n + 100 * k + 10, 1000 * n + 100 * k + 30)
            folder = tmp_path / str(window)
            folder.mkdir(exist_ok=True)
            paths.append(write(folder, rank, rows, host_name="node"))
    found = collectives(*paths, status=1)
    assert found["matched"] == 15
    (problem,) = found["problems"]
    assert (problem["kind"], problem["number"], problem["step"], problem["order"], problem["odd"]["ranks"]) == (
        "missing_call", None, 3, 3, [1])


# ---- input ----

@real
def test_traces_without_descriptions(tmp_path):
    out = run("collectives", *sorted(TRACES.glob("two_ranks*")))[0]
    assert "20 kernels of communication (775.252 ms) without a usable description" in out
    assert "no file of ranks 2-127" in out


@pytest.mark.parametrize("args", [
    {"In msg nelems": 2**64 - 1}, {"In msg nelems": -1}, {"dtype": "Whatever"}, {"Group size": 2**31},
    {"Collective name": ""}, {"Collective name": "wait"}, {"Process Group Ranks": "[0, 0]"}, {"dtype": 7}])
def test_descriptions_that_make_no_sense(tmp_path, args):
    found = collectives(write(tmp_path, 0, [*nccl(1, 10, 20, number=1, **args), *nccl(2, 30, 40, number=2)]))
    assert [row["count"] for row in found["collectives"]] in ([1], [1, 1])
    assert found["files"][0]["undescribed"] + sum(row["count"] for row in found["collectives"]) == 2


@pytest.mark.parametrize("args", [
    {"Message size": 2**64 - 1}, {"Message size": "x"}, {"Out msg nelems": 2**63}, {"Seq": 2**64}, {"Seq": "x"},
    {"Seq": -1}, {"Seq": None}, {"Call": 5}, {"Root Rank": -9}, {"Rank": 2**40}, {"Process Group Description": 3}])
def test_args_of_damaged_files(tmp_path, args):
    paths = [write(tmp_path, rank, nccl(1, 10, 20, **args), host_name="node") for rank in (0, 1)]
    (row,) = collectives(*paths)["collectives"]
    assert row["count"] == row["timed"] == 1


def test_times_at_the_end_of_the_range(tmp_path):
    paths = [write(tmp_path, rank, nccl(1, 10, 20, number=1), baseTimeNanoseconds=(-1)**rank * (2**63 - 10**6),
                   host_name=f"node{rank}") for rank in (0, 1)]
    collectives(*paths, status=0)


@pytest.mark.parametrize("command", ["collectives", "pipeline"])
@pytest.mark.parametrize("kind, size", [("gz", 60), ("json", 150)])
def test_a_cut_file_is_of_the_job_of_the_others(tmp_path, command, kind, size):
    """Each process has a folder below that of the job. What is left of one file does not name the job."""
    for rank, path in enumerate(many(tmp_path, ranks=3)):
        folder = tmp_path / "out" / "job" / f"node-{rank}-{100 + rank}"
        folder.mkdir(parents=True)
        trace = json.loads(path.read_text())
        rows = trace.pop("traceEvents")
        text = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x" * 200}],
                           "generator": "syncline 0.1.0", "job": "job", "run_id": "abc", "run_start_ns": 5, **trace,
                           "traceEvents": rows}).encode()
        data = gzip.compress(text) if kind == "gz" else text
        (folder / f"1.pt.trace.json{'.gz' if kind == 'gz' else ''}").write_bytes(data[:size] if rank == 1 else data)
    for folder in (tmp_path / "out", tmp_path / "out" / "job"):
        error = subprocess.run([TOOL, command, folder], capture_output=True, text=True).stderr
        assert "several jobs" not in error and "node-1-101/1.pt.trace.json" in error
        assert "is truncated or damaged" in error


def test_wrong_usage(tmp_path):
    assert "name at least one trace" in one_line(run("collectives", status=2)[1])
    (tmp_path / "no.json").write_text("{}")
    assert "is not a Kineto trace" in one_line(run("collectives", tmp_path / "no.json", status=2)[1])
    path = write(tmp_path, 0, launch(1, 5, 10, 20))
    assert "no collectives" in run("collectives", path)[0]


@pytest.mark.parametrize("hosts, header", [("aabb", {}), ("aa", {"local_world_size": 2}), ("", {"local_world_size": 2})])
def test_only_calls_between_nodes(tmp_path, monkeypatch, hosts, header):
    """Ranks 0 and 1 are on one node, 2 and 3 on the other. Without files or hosts of some ranks, the number of ranks
    on each node tells it."""
    groups = [(0, 1, 2, 3), (0, 1), (2, 3), (0, 2)]
    paths = []
    for rank in range(len(hosts) or 4):
        rows = []
        for n, ranks in enumerate(groups):
            if rank in ranks:
                rows += nccl(n + 1, 100 * n, 100 * n + 50, number=n, ranks=ranks, elements=1 << n,
                             **{"Process Group Name": str(n)})
        # A message to the neighbour on the node, and one to the other node.
        for n, peer in enumerate((rank ^ 1, rank ^ 2)):
            is_sender = rank < peer
            rows += nccl(10 + n, 1000 + 100 * n, 1050 + 100 * n, name="send" if is_sender else "recv", elements=64 << n,
                         ranks=groups[0], **{"Dst Rank" if is_sender else "Src Rank": peer})
        own = {"host_name": hosts[rank]} if hosts else {}
        paths.append(write(tmp_path, rank, rows, 4, generator="syncline 0.1.0", **header, **own))
    every = {(row["call"], row["bytes_from"]) for row in collectives(*paths)["collectives"]}
    assert len(every) == (6 if len(paths) == 4 else 5)
    monkeypatch.setenv("SYNCLINE_COLLECTIVES", "crossnode")
    out, err = run("collectives", "--json", *paths)
    assert {(row["call"], row["bytes_from"]) for row in json.loads(out)["collectives"]} == {
        ("all_reduce", 4), ("all_reduce", 32), ("send", 512)}
    assert "SYNCLINE_COLLECTIVES=crossnode leaves out collectives" in one_line(err)
    monkeypatch.setenv("SYNCLINE_COLLECTIVES", "none")
    assert collectives(*paths)["collectives"] == []
    monkeypatch.setenv("SYNCLINE_COLLECTIVES", "some")
    out, err = run("collectives", "--json", *paths)
    assert {(row["call"], row["bytes_from"]) for row in json.loads(out)["collectives"]} == every
    assert "SYNCLINE_COLLECTIVES=some is not valid" in one_line(err)


def test_a_group_of_many_ranks_is_whole(tmp_path):
    """PyTorch cuts the ranks in a row after 30. The header has all of them."""
    ranks = [n * n for n in range(40)]
    cut = f"[{', '.join(map(str, ranks[:30]))}, ...]"
    info = {"backend": "nccl", "world_size": 1600, "pg_config": [{"pg_name": "7", "pg_desc": "squares", "ranks": ranks}]}
    paths = []
    for rank in ranks:
        rows = nccl(1, 10, 50, name="broadcast", ranks=ranks, number=1, **{
            "Process Group Name": "7", "Process Group Ranks": cut, "Process Group Description": "squares", "Rank": 35})
        paths.append(write(tmp_path, rank, rows, host_name="node"))
        trace = {**json.loads(paths[-1].read_text()), "distributedInfo": {**info, "rank": rank}}
        paths[-1].write_text(json.dumps(dict(sorted(trace.items(), key=lambda member: member[0] == "traceEvents"))))
    found = collectives(*paths)
    assert found["groups"] == [{"description": "squares", "ranks": ranks, "size": 40, "is_timed": True}]
    assert (found["matched"], found["not_recorded"]) == (1, 0)
