"""Runs the tool on small files in trace_cases/. Each shows what some program writes, or what a user gave
instead of a trace. The test of a file has the right result."""
import json
import pathlib

import pytest

import chakra
from edges_tool import edges, launch, row, stream_sync, write
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


def unnamed_sync(correlation, ts, dur, event=4, name="cudaEventSynchronize"):
    """Returns the rows of a wait for an event. The rows do not say which call recorded the event."""
    return [row("cuda_runtime", name, correlation, ts, dur, 42, cbid=137 if "Sync" in name else 136),
            row("cuda_sync", "Event Sync", correlation, ts, dur, -1, device=0, context=1, stream=-1,
                wait_on_stream=-1, wait_on_cuda_event_record_corr_id=-1, wait_on_cuda_event_id=event)]


def test_a_wait_for_an_event_of_the_only_stream(tmp_path):
    """One thread uses one stream, so the wait is for the last cudaEventRecord before it. A long time passes
    until the thread wakes up."""
    rows = [*launch(11, 10, 15, 400), record(12, 16), *launch(13, 20, 401, 450), *unnamed_sync(14, 23, 441)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["basis"]) for e in found] == [
        (11, 14, 377000, "inferred")]
    assert not lost["no_record"]
    rows += launch(15, 500, 505, 510, 21)  # on a second stream
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert not found and lost["no_record"] == 1


def test_a_wait_that_is_not_for_the_last_event(tmp_path):
    """The work before the last cudaEventRecord ended after the wait, which was for an earlier event."""
    rows = [*launch(11, 10, 15, 400), record(12, 16), *launch(13, 20, 401, 950), record(14, 22),
            *unnamed_sync(15, 24, 380), *stream_sync(16, 500, 460)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert [(e["src_correlation"], e["dst_correlation"]) for e in found] == [(13, 16)]
    assert lost["no_record"] == 1


@pytest.mark.parametrize("has_all", [True, False])
def test_an_event_that_was_never_recorded(tmp_path, has_all):
    """A query of an event that was never recorded finds nothing pending. This is certain if the file has the
    first call of the process."""
    rows = [row("cuda_driver", "cuInit", 1 if has_all else 2, 1, 2, 42, cbid=1), *launch(11, 10, 15, 40),
            *unnamed_sync(12, 50, 1, name="cudaEventQuery"), record(13, 60)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert not found and lost["no_record"] == (0 if has_all else 1)


def test_rows_of_event_records(tmp_path):
    """PyTorch's CUPTI monitor writes a row for each cudaEventRecord. A wait names only the event."""
    def event_row(correlation, ts, stream, event):
        return row("cuda_event", "cudaEvent", correlation, ts, 0, stream, device=0, context=1, stream=stream,
                   event_id=event)

    rows = [*launch(11, 10, 15, 400, 13), record(12, 16), event_row(12, 401, 13, 4),
            *launch(13, 20, 25, 500, 14), record(14, 26), event_row(14, 501, 14, 5),
            *unnamed_sync(15, 30, 375), *unnamed_sync(16, 410, 95, 5)]
    found, lost = edges(write(tmp_path / "t.json", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["basis"]) for e in found] == [
        (11, 15, 370000, "exact"), (13, 16, 90000, "exact")]
    assert not lost["no_record"]
    run("check", tmp_path / "t.json")


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


def moved(rows, us):
    """Returns the rows with all GPU times moved by a number of microseconds."""
    return [{**each, "ts": each["ts"] + us} if each["cat"] in ("kernel", "gpu_memcpy") else each for each in rows]


def said(*command, status=1):
    """Returns what the command says on stderr, for a file whose clocks of CPU and GPU differ."""
    return run(*command, status=status)[1]


def assert_each_wait_depends_on_a_kernel(path, count):
    et = chakra.Et(path)
    waits = [node for node in et.nodes if node.name == "cudaDeviceSynchronize.wait"]
    kernels = {node.id for node in et.gpu}
    assert len(waits) == count and all(kernels & set(node.deps) for node in waits)


def test_gpu_times_that_are_too_early(tmp_path):
    """Each kernel of 2 ms ends before its launch began. The tool adds what is missing, and says so."""
    path = CASES / "gpu_clock_early_3ms.json"
    found, _ = found_in(path.name, status=1)
    assert [(*edge[:4], edge[5]) for edge in found] == [("device_sync", 1, 2, 1980.0, "inferred"),
                                                        ("device_sync", 11, 12, 1980.0, "inferred")]
    text = "GPU times are too early: 2 of 2 GPU operations begin before their call, by up to 2.990 ms. 2.990 ms were added"
    assert text in said("edges", "--summary", path)
    assert text in said("convert", path, "--to", "chakra", "-o", tmp_path / "x.0.et")
    out, _ = run("check", path, status=1)
    assert "clocks" in out and "2 of 2 GPU operations begin before their call, by up to 2.990 ms" in out


def test_gpu_times_that_are_too_late(tmp_path):
    """The kernels end 4 ms after the calls that waited for them."""
    rows = json.loads((CASES / "gpu_clock_early_3ms.json").read_text())["traceEvents"]
    path = write(tmp_path / "t.json", moved(rows, 7000))
    found, lost = edges(path, status=1)
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["wake_ns"], e["basis"]) for e in found] == [
        (1, 2, 2000000, 0, "inferred"), (11, 12, 2000000, 0, "inferred")]
    assert not lost["cycle"]
    text = "2 of 2 GPU operations end after the call that waited for them, by up to 3.990 ms"
    assert f"too late: {text}. 3.990 ms were subtracted from" in said("edges", path)
    assert text in run("check", path, status=1)[0]
    run("convert", path, "--to", "chakra", "-o", tmp_path / "x.0.et", status=1)
    assert_each_wait_depends_on_a_kernel(tmp_path / "x.0.et", 2)


def test_a_difference_that_grows_is_not_corrected(tmp_path):
    """The second kernel is 3 ms early, and the first is not."""
    rows = json.loads((CASES / "gpu_clock_early_3ms.json").read_text())["traceEvents"]
    path = write(tmp_path / "t.json", [*moved(rows[:4], 3000), *rows[4:]])
    found, _ = edges(path, status=1)
    assert [(e["dst_correlation"], e["wait_ns"], e["basis"]) for e in found] == [
        (2, 1990000, "inferred"), (12, 0, "inferred")]
    assert "not constant" in said("edges", path)


def test_one_wait_of_many_ends_a_little_early(tmp_path):
    """Of 200 waits, one returns 8 us before its kernel ends. Clocks have such noise, so its edge is kept."""
    rows = []
    for i in range(200):
        late = 13 if i == 100 else 0
        rows += [*launch(2 * i + 11, 1000 * i, 1000 * i + 5, 1000 * i + 400 + late),
                 device_sync(2 * i + 12, 1000 * i + 10, 395)]
    path = write(tmp_path / "t.json", rows)
    found, lost = edges(path)
    assert not lost["cycle"]
    assert [(e["wait_ns"], e["wake_ns"], e["released"]) for e in found if e["basis"] != "exact"] == [(395000, 0, True)]
    out, _ = run("check", path)
    assert "gpu_after_wait" in out and "by up to 8.000 us" in out
    run("convert", path, "--to", "chakra", "-o", tmp_path / "x.0.et")
    assert_each_wait_depends_on_a_kernel(tmp_path / "x.0.et", 200)


def test_an_accelerator_that_is_not_cuda():
    _, error = run("edges", CASES / "mtia.json", status=1)
    assert "no CUDA call and no GPU operation" in error and "mtia" in error
    assert "mtia_runtime, mtia_ccp_events: not CUDA's" in run("check", CASES / "mtia.json")[0]


@pytest.mark.parametrize("content, what", [
    (b"PK\x03\x04" + bytes(30), "zip"), (b"\xfd7zXZ\0", "xz"), (b"BZh91AY", "bzip2"),
    (bytes(257) + b"ustar\0" + bytes(50), "tar"), (b"<!DOCTYPE html><html>", "HTML"),
    ("{}".encode("utf-16"), "UTF-16"), (b"\x0a\x10\x08\x00" + bytes(20), "Perfetto")])
@pytest.mark.parametrize("command", ["edges", "check"])
def test_what_is_no_trace_is_named(tmp_path, command, content, what):
    (tmp_path / "x.json").write_bytes(content)
    assert what in run(command, tmp_path / "x.json", status=2)[1]


def test_dependencies_on_missing_ids_are_counted_by_kind():
    """Nodes 10 and 11 have control dependencies on node 2, which is not in the file. Chakra's own feeder reads
    data dependencies alone."""
    out, _ = run("check", CASES / "ctrl_deps_missing.et", status=1)
    assert "5 dependencies (3 ctrl_deps, 2 data_deps)" in out
    assert "error: 2 ctrl_deps on ids that are not in the file" in out and "(first: id 2, 1 id in all)" in out
    assert "data_deps on ids" not in out
    assert "1 nodes that depend on themselves (first: node 12, in its ctrl_deps" in out


def test_a_name_with_quotes_that_are_not_escaped(tmp_path):
    out = tmp_path / "o.json"
    error = said("convert", CASES / "row_unescaped_quote.json", "--to", "kineto", "-o", out)
    assert '1 events or fields that are not valid JSON: {"a": "b"}(12): run (byte 330)' in error
    assert [each["name"] for each in json.loads(out.read_text())["traceEvents"]] == [
        "cudaLaunchKernel", "k1", "cudaDeviceSynchronize"]
    run("check", out)
    report, _ = run("check", CASES / "row_unescaped_quote.json", status=1)
    assert 'event 0, {"a": "b"}(12): run: a comma, bracket or quote is missing' in report


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [b'5" disk', b'the "b" op', b'C:\\', b'C:\\x', b'{"a', b'x"}, y', b'a\nb', b'a\xffb', b'a\x01'])
def test_convert_leaves_out_a_broken_event(tmp_path, place, name):
    """An event is broken, in each place of the file. The others are kept, and the file opens again."""
    events = [b'{"ph": "X", "cat": "cpu_op", "name": "op%d", "pid": 1, "tid": 1, "ts": %d, "dur": 1}' % (i, i)
              for i in range(3)]
    events.insert(place, events[0].replace(b"op0", name))
    path, out = tmp_path / "t.json", tmp_path / "o.json"
    path.write_bytes(b'{"schemaVersion": 1,\n"traceEvents": [\n' + b",\n  ".join(events) + b'\n],\n"traceName": "t"}\n')
    error = said("convert", path, "--to", "kineto", "-o", out)
    assert "left out: 1 events or fields that are not valid JSON" in error
    told = json.loads(out.read_text())
    assert [each["name"] for each in told["traceEvents"] if "ts" in each] == ["op0", "op1", "op2"]
    assert told["traceName"] == "t"


def test_two_broken_events_far_apart(tmp_path):
    """The quotes of two events are wrong. Between them are 5 MiB of events, more than the parser takes at once."""
    event = b'{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    count = (5 << 20) // len(event)
    events = [event % b"op", event % b'5" a', *[event % b"op"] * count, event % b'6" b', event % b"op"]
    path, out = tmp_path / "t.json", tmp_path / "o.json"
    path.write_bytes(b'{"schemaVersion": 1, "traceEvents": [' + b",\n".join(events) + b"]}")
    assert 'left out: 2 events or fields that are not valid JSON: 5" a' in said(
        "convert", path, "--to", "kineto", "-o", out)
    assert len(json.loads(out.read_bytes())["traceEvents"]) == count + 2


def test_a_trace_without_record_function_ids(tmp_path):
    error = said("convert", CASES / "et_trace_without_rf_id.json", "--to", "chakra", "--et",
                 CASES / "et_trace_without_rf_id.et.json", "-o", tmp_path / "x.0.et")
    assert "has a `Record function id` (PyTorch before 2.2 or so writes none): nothing can be joined" in error
    assert "same run" not in error


def test_a_git_lfs_pointer_is_named():
    assert "git lfs pull" in run("edges", CASES / "lfs_pointer.json.gz", status=2)[1]
