"""Runs `syncline convert` on traces whose kernels begin before their calls (because the clocks of
CPU and GPU differ), or before the preceding kernel on their stream has ended."""
import subprocess

import pytest

import chakra
import chakra_replay
import harness
from test_chakra_convert import convert, slice_, write


def early_rows(early, count, sync):
    """Returns launches on an idle stream. The GPU's clock is behind by `early` us, so by its times
    each kernel begins before its call. With `sync`, the thread waits after each launch."""
    rows = []
    for i in range(count):
        t, corr = 200 + i * 300, 2 * i + 1
        rows += [slice_("cuda_runtime", "cudaLaunchKernel", 10, t, 5, cbid=211, correlation=corr),
                 slice_("kernel", f"k{i}", 7, t - early, 50, device=0, context=1, stream=7, correlation=corr)]
        if sync:
            rows += [slice_("cuda_runtime", "cudaStreamSynchronize", 10, t + 6, 60, cbid=131, correlation=corr + 1),
                     slice_("cuda_sync", "Stream Sync", 7, t + 7, 59, device=0, context=1, stream=7,
                            correlation=corr + 1, cuda_sync_kind="Stream Sync")]
    return rows


@pytest.mark.sanitize
@pytest.mark.parametrize("early, sync", [(0.5, False), (2, False), (2, True), (12, True)])
def test_kernels_that_begin_before_their_call(tmp_path, early, sync):
    """Kernels begin up to 12 us before their calls (pytorch/kineto issue 1380). Each node still depends on
    its call, and a replay reproduces the times."""
    et = convert(write(tmp_path / "t.json", early_rows(early, 100, sync)), tmp_path,
                 status=1 if early > 5 else 0)  # a larger difference of the clocks is reported and corrected
    assert not chakra.broken(et)
    call = {n.correlation: n.id for n in et.cpu if n.name == "cudaLaunchKernel"}
    assert len(et.gpu) == 100
    assert all(call[n.correlation] in n.deps and "no_launch" not in n.attr and n.duration == 50000
               for n in et.gpu)
    ends = chakra_replay.replay(et)
    assert all(abs(ends[n.id] - n.end) <= 20000 + 0.01 * n.end for n in et.nodes)
    told = subprocess.run([harness.TOOL, "check", et.path], check=True, capture_output=True, text=True,
                          timeout=60).stdout
    assert "no_launch" not in told


def test_kernels_that_begin_far_before_their_call(tmp_path):
    """A kernel begins before its call by more than clocks can differ, and the others do not. The converter
    treats it as an operation without a launch."""
    rows = early_rows(0, 199, False)
    rows += early_rows(101, 200, False)[-2:]
    et = convert(write(tmp_path / "t.json", rows), tmp_path)
    assert not chakra.broken(et)
    assert ["no_launch" in n.attr for n in et.gpu] == 199 * [False] + [True]


@pytest.mark.sanitize
def test_kernels_that_begin_before_the_one_before_them_has_ended(tmp_path):
    """Programmatic dependent launch: each of 200 kernels of 10 us starts 5 us after the previous kernel. In a
    replay, the wait for the kernels ends at its recorded time."""
    rows = []
    for i in range(200):
        rows += [slice_("cuda_runtime", "cudaLaunchKernel", 10, 10 + i * 2, 1, cbid=211, correlation=i + 1),
                 slice_("kernel", f"k{i}", 13, 15 + i * 5, 10, device=0, context=1, stream=13,
                        correlation=i + 1)]
    rows += [slice_("cuda_runtime", "cudaStreamSynchronize", 10, 420, 606, cbid=131, correlation=201),
             slice_("cuda_sync", "Stream Sync", 13, 421, 604, device=0, context=1, stream=13,
                    correlation=201, cuda_sync_kind="Stream Sync")]
    path = write(tmp_path / "t.json", rows)
    et = convert(path, tmp_path)
    assert not chakra.broken(et)
    assert sum("overlap_ns" in n.attr for n in et.gpu) == 199
    ends = chakra_replay.replay(et)
    assert all(abs(ends[n.id] - n.end) <= 1000 for n in et.gpu)
    assert abs(max(ends.values()) - max(n.end for n in et.nodes)) <= 1000
    told = subprocess.run([harness.TOOL, "convert", path, "--to", "chakra", "-f", "-o", tmp_path / "u.0.et"],
                          check=True, capture_output=True, text=True, timeout=60).stdout
    assert "199 GPU operations began before the previous one on their stream had ended, 995 us" in told
