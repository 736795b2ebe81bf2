"""Runs `syncline edges` on torch.profiler files that lack some rows of waits. Kineto omits the row of a
stream wait if no work has run on that stream, or if it does not know the GPU yet."""
import pytest

from edges_tool import edges, launch, row, stream_sync, write
from test_edges_made import elsewhere, stream_wait


def record(correlation, ts):
    return row("cuda_runtime", "cudaEventRecord", correlation, ts, 2, 42, cbid=135)


def untold_wait(correlation, ts):
    return row("cuda_runtime", "cudaStreamWaitEvent", correlation, ts, 2, 42, cbid=147)


def device_sync(correlation, ts, dur):
    return row("cuda_runtime", "cudaDeviceSynchronize", correlation, ts, dur, 42, cbid=165)


def facts(found):
    return {(e["kind"], e["src_correlation"], e["dst_correlation"], e["basis"]) for e in found}


def test_a_stream_that_may_have_been_made_to_wait(tmp_path):
    """A stream wait has no row, so stream 13 may have waited for stream 20. Kernel 2 certainly ended before
    the next wait, but kernel 1 may have released it."""
    rows = [*launch(1, 100, 105, 200, 20), *launch(2, 103, 106, 150, 13), record(3, 106),
            untold_wait(4, 109), *stream_sync(5, 115, 90, 13), *launch(6, 210, 215, 250, 13),
            *stream_sync(7, 213, 45, 13)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert facts(found) == {("stream_sync", 2, 5, "exact"), ("stream_sync", 6, 7, "exact")}
    assert [e["released"] for e in found] == [False, True] and lost["no_record"] == 2


def test_a_stream_without_work(tmp_path):
    """A stream without work waits for an event, and this wait has no row. An event is then recorded on the
    stream. Waits for the second event get no edges."""
    rows = [*launch(1, 50, 55, 60, 13), record(2, 53), *stream_wait(3, 58, 13, 2, 13),
            *launch(4, 100, 105, 200, 20), record(5, 106), untold_wait(6, 109), record(7, 112),
            *stream_wait(8, 115, 13, 7, 21), *launch(9, 118, 202, 230, 13),
            *stream_sync(10, 121, 114, 21), *stream_sync(11, 236, 2, 13)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert facts(found) == {("stream_sync", 9, 11, "exact")}
    assert lost["no_record"] == 3  # counted for call 6, kernel 9 and call 10


@pytest.mark.parametrize("steps", [1, 10, 2000])
@pytest.mark.parametrize("told_first", [False, True])
def test_device_syncs_without_rows(tmp_path, steps, told_first):
    """Half of the device synchronizations have rows, either the first half or the last half. Each
    synchronization has its edge, with or without a row."""
    rows = []
    for i in range(2 * steps):
        correlation, ts = 2 * i + 11, 100 * (i + 1)
        rows += launch(correlation, ts, ts + 5, ts + 50, 13)
        if (i < steps) == told_first:
            rows += stream_sync(correlation + 1, ts + 10, 45, 13)
        else:
            rows.append(device_sync(correlation + 1, ts + 10, 45))
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"]) for e in found] == [
        (2 * i + 11, 2 * i + 12, 40000) for i in range(2 * steps)]
    assert {e["basis"] for e in found} == {"exact"}
    assert {e["dst_correlation"] for e in found if not e["released"]} == {
        # the first wait for all streams may include work before the recording
        2 * steps + 12 if told_first else 12}
    assert lost["before_window"] <= 2 and not lost["no_record"]


@pytest.mark.parametrize("steps", [1, 2000])
def test_another_context_that_comes_late(tmp_path, steps):
    """A second context has its first operation at the end of the file. A wait without a row may
    have been for this context, so the edges of such waits are not `exact`."""
    rows = []
    for i in range(steps):
        ts = 100 * (i + 1)
        rows += [*launch(2 * i + 1, ts, ts + 5, ts + 50, 13), device_sync(2 * i + 2, ts + 10, 45)]
    last = 2 * steps + 1
    rows += elsewhere(launch(last, 100 * last, 100 * last + 5, 100 * last + 9, 13))
    found, _ = edges(write(tmp_path / "t", rows))
    assert len(found) == steps and {e["basis"] for e in found} == {"inferred"}
