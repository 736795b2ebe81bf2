"""Runs the tool on small files in trace_cases/. Each shows what some program writes, or what a user gave
instead of a trace. The test of a file has the right result."""
import json
import pathlib

import pytest

import chakra
from edges_tool import edges, launch, row, write
from test_edges_rows import device_sync, record
from test_tool import run

CASES = pathlib.Path(__file__).parent / "trace_cases"


def found_in(name, *options, status=0):
    """Returns the edges as tuples (kind, source, destination, wait in us, released, basis), and the counts of
    edges left out. `name` is a file in trace_cases/."""
    found, lost = edges(CASES / name, *options, status=status)
    return [(e["kind"], e["src_correlation"], e["dst_correlation"], e["wait_ns"] / 1000, e["released"],
             e["basis"]) for e in found], lost


def test_one_stream_of_several_was_not_seen():
    """Stream 14 waits for kernel 10 on stream 13, and for stream 21, whose work was not recorded. Kernel 20
    follows on stream 14. Kernel 10 came before kernel 20, whatever stream 21 held. But stream 21 may have
    released kernel 20."""
    found, lost = found_in("unseen_stream_in_set.json")
    assert ("stream_wait", 10, 20, 171.0, False, "exact") in found
    assert lost == {"before_window": 2}


def test_a_file_with_the_first_call_of_its_process(tmp_path):
    """The file holds correlation id 1, so no stream holds work from before the recording."""
    rows = json.loads((CASES / "unseen_stream_in_set.json").read_text())["traceEvents"]
    for each in rows:  # correlation id 1 is the first kernel's
        if each["args"].get("correlation") == 1:
            each["args"]["correlation"] = 2
    rows.append({**rows[0], "name": "cuInit", "cat": "cuda_driver", "ts": 10,
                 "args": {"correlation": 1, "cbid": 1}})
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert {(e["src_correlation"], e["dst_correlation"], e["released"]) for e in found} >= {(10, 20, True)}
    assert not lost["before_window"]


def test_an_operation_without_times():
    """Kernel k2 has ts 0 and dur 0, because CUPTI had no times. The wait is for k2, so it is not known what
    released it."""
    found, lost = found_in("kernel_ts_zero.json", status=1)
    assert found == [("stream_sync", 1, 3, 480.0, False, "inferred")]
    assert lost["no_record"] == 1
    out, _ = run("check", CASES / "kernel_ts_zero.json")
    assert "row_unusable" in out and "ts and dur are 0" in out


def test_a_synchronize_without_a_row_after_a_copy():
    """PyTorch copies, and then synchronizes the stream of the copy. A kernel of another stream ended by chance
    just before the synchronize returned."""
    found, _ = found_in("sync_without_row_chance.json")
    assert found == [("stream_sync", 2, 3, 26.0, True, "inferred")]


def test_an_asynchronous_copy_from_pageable_memory_waits(tmp_path):
    """The call waited until kernel 1 had ended, and then copied."""
    found, _ = found_in("pageable_async_htod.json")
    assert ("copy", 1, 2, 89990.0, True, "inferred") in found
    run("convert", CASES / "pageable_async_htod.json", "--to", "chakra", "-o", tmp_path / "x.0.et")
    names = [node.name for node in chakra.Et(tmp_path / "x.0.et").nodes]
    assert [name for name in names if name.startswith("cudaMemcpyAsync")] == [
        "cudaMemcpyAsync", "cudaMemcpyAsync.wait", "cudaMemcpyAsync"]


def test_a_small_asynchronous_copy_from_pageable_memory_does_not_wait(tmp_path):
    """The call returned before its copy began, so it waited for nothing."""
    rows = json.loads((CASES / "pageable_async_htod.json").read_text())["traceEvents"]
    call = next(row for row in rows if row["name"] == "cudaMemcpyAsync")
    call["dur"] = 10
    found, _ = edges(write(tmp_path / "t.json", rows))
    assert not any(edge["kind"] == "copy" for edge in found)


def launches(trace, folder):
    """Returns the names of the nodes that `convert --to chakra` makes of launches, and how many kernels depend
    on a wait of their own launch."""
    run("convert", trace, "--to", "chakra", "-o", folder / "x.0.et")
    nodes = {node.id: node for node in chakra.Et(folder / "x.0.et").nodes}
    names = [node.name for node in nodes.values() if node.name.startswith("cudaLaunchKernel")]
    behind = [node for node in nodes.values() for dep in node.deps
              if nodes[dep].name == "cudaLaunchKernel.wait" and "stream" in node.attr
              and node.attr["correlation"] == nodes[dep].attr["correlation"]]
    return names, len(behind)


@pytest.mark.parametrize("without", [(), ("overhead",), ("overhead", "cuda_driver")])
def test_a_launch_that_loads_its_module(tmp_path, without):
    """From a recording of an RTX 4060 Ti: the first launch of a program took 37 ms. Two copies were pending.
    CUPTI's record says that the launch loaded its module. Without this record, the time of the process's first
    launch says so, if the file has the process's first call (cuModuleGetLoadingMode)."""
    rows = json.loads((CASES / "module_load.json").read_text())["traceEvents"]
    trace = write(tmp_path / "t.json", [row for row in rows if row["cat"] not in without])
    found, lost = edges(trace)
    known = [("module_load", 132, 133, 32300931, True, "inferred")] if len(without) < 2 else []
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["released"], e["basis"])
            for e in found] == known
    assert not lost
    assert launches(trace, tmp_path) == (["cudaLaunchKernel", *["cudaLaunchKernel.wait"] * len(known),
                                          "cudaLaunchKernel"], len(known))


def full_queue(depth=1022, more=10):
    """Returns the rows of launches as they were measured on an RTX 2080: a launch takes 2.1 us. With 1,022
    operations pending, it returns 2.6 us after the oldest, a kernel of 41 us, has ended. An event record behind
    them waits in the same way, but the file does not say on which stream."""
    rows, now = [row("cuda_driver", "cuInit", 1, 10, 20, 42, cbid=1)], 1000.0
    for i in range(depth + more):
        end = 5000.0 + 41 * (i + 1)
        took = 2.1 if i < depth else 5000.0 + 41 * (i - depth + 1) + 2.6 - now
        rows += [row("cuda_runtime", "cudaLaunchKernel", i + 11, now, took, 42, cbid=211),
                 row("kernel", "step", i + 11, end - 41, 41, 7, device=0, context=1, stream=7)]
        now = round(now + took + 0.9, 3)
    return rows


def test_launches_into_a_full_queue(tmp_path):
    """Each launch waits for the operation 1,022 before it. This was 31 % of the time of a real program."""
    trace = write(tmp_path / "t.json", full_queue())
    found, _ = edges(trace)
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"], e["basis"], e["released"]) for e in found] == [
        ("queue_full", i + 11, 1022 + i + 11, "inferred", True) for i in range(10)]
    assert [e["wake_ns"] for e in found] == pytest.approx([2600] * 10, abs=2)
    assert [e["wait_ns"] for e in found[1:]] == pytest.approx([37500] * 9, abs=2)
    names, behind = launches(trace, tmp_path)
    assert names.count("cudaLaunchKernel.wait") == behind == 10
    out, _ = run("edges", "--summary", trace)
    assert "queue_full" in out


def test_a_queue_of_another_length(tmp_path):
    """Here 100 operations fill the queue. Only CUPTI's records say so, which in torch.profiler's files name no
    thread. Another thread's launch does not fit."""
    rows = full_queue(100)
    assert not edges(write(tmp_path / "t.json", rows))[0]
    for call in [each for each in rows if each["name"] == "cudaLaunchKernel" and each["dur"] > 3]:
        rows.append({**call, "cat": "overhead", "name": "Command Buffer Full", "pid": -1, "tid": 0, "args": {},
                     "ts": call["ts"] + 1, "dur": call["dur"] - 1.5})
    rows += launch(500, rows[-1]["ts"], 20000, 20010, 13, 43)
    found, _ = edges(write(tmp_path / "t.json", rows))
    assert [(e["src_correlation"], e["dst_correlation"]) for e in found if e["kind"] == "queue_full"] == [
        (i + 11, 100 + i + 11) for i in range(10)]


def test_a_copy_into_a_full_queue(tmp_path):
    """The call of an asynchronous copy from pageable memory waited for room in a queue. So it did not wait
    because of the pageable memory."""
    rows = json.loads((CASES / "pageable_async_htod.json").read_text())["traceEvents"]
    call = next(row for row in rows if row["name"] == "cudaMemcpyAsync")
    for each in rows:  # correlation id 1 is the first kernel's
        if each["args"].get("correlation") in (1, 2, 3):
            each["args"]["correlation"] += 10
    rows += [{**call, "cat": "overhead", "name": "Command Buffer Full", "dur": call["dur"] - 1, "args": {}},
             {**call, "cat": "cuda_driver", "name": "cuInit", "ts": 10, "dur": 1, "args": {"correlation": 1}}]
    found, _ = edges(write(tmp_path / "t.json", rows))
    assert ("queue_full", 11, 12) in {(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found}
    assert not any(edge["kind"] == "copy" for edge in found)


def event_sync(correlation, ts, dur, recorded):
    """Returns the rows of a wait for the event that call `recorded` recorded on stream 7."""
    return [row("cuda_runtime", "cudaEventSynchronize", correlation, ts, dur, 42, cbid=137),
            row("cuda_sync", "Event Sync", correlation, ts + 1, dur - 1, -1, device=0, context=1, stream=-1,
                wait_on_stream=7, wait_on_cuda_event_record_corr_id=recorded, wait_on_cuda_event_id=4)]


def test_a_reset_that_repeats_the_id_of_the_call_before(tmp_path):
    """cudaDeviceReset has the correlation id of the synchronize before it. That is no second process."""
    rows = [*launch(1, 10, 15, 40), device_sync(2, 20, 25), {**device_sync(2, 50, 900), "name": "cudaDeviceReset"}]
    rows[-1]["args"]["cbid"] = 164
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["released"]) for e in found] == [(1, 2, False)]


def test_a_context_without_work_makes_nothing_ambiguous(tmp_path):
    """The file ends with a synchronize of context 0, which has neither a stream nor an operation. The awaited
    event was recorded in the only context that has a stream 7."""
    rows = [*launch(11, 10, 15, 400), record(12, 16), *event_sync(13, 20, 385, 12),
            row("cuda_driver", "cuCtxSynchronize", 14, 500, 2, 42, cbid=17),
            row("cuda_sync", "Context Sync", 14, 500, 2, -1, device=0, context=0, stream=-1)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert ("event_sync", 11, 13) in {(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found}
    assert not lost["ambiguous"]


def test_freeing_nothing_is_no_wait(tmp_path):
    """cudaFree(NULL) returns at once. It is not counted as a wait whose sources are unknown."""
    rows = [*launch(11, 10, 15, 400, 13), row("cuda_runtime", "cudaFree", 12, 500, 0.4, 42, cbid=22)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert not found and not lost


def test_graph_nodes_on_lanes_of_their_own():
    """PyTorch's CUPTI monitor draws graph nodes on lanes. `original_stream` is CUDA's stream."""
    found, lost = found_in("graph_lane_moved.json")
    assert [(*edge[:4], edge[5]) for edge in found] == [("stream_sync", 5, 6, 298.0, "exact")]
    assert not lost["graph_inside"] and not lost["no_record"]


def test_categories_of_old_pytorch():
    """PyTorch 1.8 to 1.10 wrote Operator, Runtime, Kernel and Memcpy."""
    found, _ = found_in("old_kineto_categories.json")
    assert [edge[:4] for edge in found] == [("copy", 2, 2, 493.0)]


def test_streams_of_rocm(tmp_path):
    """Streams of ROCm are handles of 64 bits. Each is a stream of its own."""
    run("convert", CASES / "rocm_stream_64bit.json", "--to", "chakra", "-o", tmp_path / "x.0.et")
    gpu = chakra.Et(tmp_path / "x.0.et").gpu
    assert sorted(node.name for node in gpu) == ["add", "gemm"]
    assert len({node.attr["stream"] for node in gpu}) == 2


def test_times_as_text():
    found, _ = found_in("ts_text.json")
    assert [edge[:4] for edge in found] == [("device_sync", 1, 3, 480.0)]


def test_a_byte_order_mark(tmp_path):
    (tmp_path / "t.json").write_bytes(b"\xef\xbb\xbf" + (CASES / "ts_text.json").read_bytes())
    assert len(edges(tmp_path / "t.json")[0]) == 1


def test_an_accelerator_that_is_not_cuda():
    _, error = run("edges", CASES / "mtia.json", status=1)
    assert "no CUDA call and no GPU operation" in error and "mtia" in error


@pytest.mark.parametrize("content, what", [
    (b"PK\x03\x04" + bytes(30), "zip"), (b"\xfd7zXZ\0", "xz"), (b"BZh91AY", "bzip2"),
    (bytes(257) + b"ustar\0" + bytes(50), "tar"), (b"<!DOCTYPE html><html>", "HTML"),
    ("{}".encode("utf-16"), "UTF-16"), (b"\x0a\x10\x08\x00" + bytes(20), "Perfetto")])
@pytest.mark.parametrize("command", ["edges", "check"])
def test_what_is_no_trace_is_named(tmp_path, command, content, what):
    (tmp_path / "x.json").write_bytes(content)
    assert what in run(command, tmp_path / "x.json", status=2)[1]


def test_a_git_lfs_pointer_is_named():
    assert "git lfs pull" in run("edges", CASES / "lfs_pointer.json.gz", status=2)[1]
