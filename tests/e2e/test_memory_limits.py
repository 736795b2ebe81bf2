"""Jobs run with little memory. Each job ends like without syncline. syncline uses a small part of the
remaining memory, or none."""
import json
import pathlib
import re
import subprocess

import pytest

import harness

STEPS = ("context", "stream", "flood:300", "sync")


@pytest.fixture
def limited(memory_limit, tmp_path):
    """limited(BYTES, steps) runs a scenario in a memory cgroup with this limit. It returns the result and the
    peak memory use in bytes."""
    def run(limit_bytes: int, steps: tuple[str, ...], **env: str):
        memory = memory_limit(limit_bytes)
        result = subprocess.run(
            [*memory.command, harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, *steps],
            capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False,
            env=harness.environment(env))
        return result, memory.peak()

    return run


def injected(out: pathlib.Path, **more: str) -> dict[str, str]:
    return {"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job", "SYNCLINE_LOG": "info",
            "CUDA_INJECTION64_PATH": str(harness.LIBRARY), **more}


@pytest.mark.parametrize("megabytes", [60, 100, 150, 300])
def test_container_with_little_memory(limited, tmp_path, megabytes):
    """The job launches very many kernels under a memory limit, and ends like without syncline. If syncline's
    smallest buffers do not fit in an eighth of the remaining memory, nothing is recorded, and one line states
    the sizes."""
    out = tmp_path / "out"
    result, peak = limited(megabytes * 1000000, STEPS, **injected(out))
    said = harness.SAID.findall(result.stderr)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    assert f"is {megabytes}.0 MB, and " in said[0]
    files = list(out.rglob("*.zst"))
    if megabytes < 200:
        assert "nothing is recorded, the job is not affected" in said[0] and len(said) == 1
        assert not files
    else:
        assert "syncline takes at most" in said[0]
        (path,) = files
        checked = json.loads(subprocess.run([harness.TOOL, "check", "--json", path],
                                            capture_output=True, check=False).stdout)
        assert checked["categories"]["kernel"]["events"] > 1000
        assert peak < megabytes * 1000000 // 2


def test_the_ranks_of_a_machine_share_its_memory(limited, tmp_path):
    """syncline in one rank may use an eighth of 300 MB, which is enough. With two ranks, each may use a
    sixteenth, which is not enough."""
    out = tmp_path / "out"
    result, _ = limited(300000000, ("context", "kernel", "sync"),
                        **injected(out, RANK="1", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2"))
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "nothing is recorded" in result.stderr and not list(out.rglob("*.zst"))


@pytest.mark.parametrize("megabytes", [320, 520])
def test_limited_address_space(tmp_path, megabytes):
    """`ulimit -v` limits the address space. A job with enough remaining memory is recorded with smaller
    buffers."""
    out = tmp_path / "out"
    # The limit is set by a shell, because Python itself starts the simulator.
    result = subprocess.run(
        [harness.SIMGPU, "--build", harness.BUILD, "sh", "-c",
         f'ulimit -v {megabytes * 1000} && exec "$@"', "sh", harness.SCENARIO, "context", "stream",
         "kernel:100", "sync"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False,
        env=harness.environment(injected(out)))
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    assert "ulimit -v" in harness.SAID.findall(result.stderr)[0]
    assert "raise the host's memory limit" in result.stderr  # there is no execution trace
    (path,) = out.rglob("*.zst")
    trace = harness.Trace(path)
    # A slow run is seen when its threads have taken most of the address space. Then recording pauses.
    if "recording pauses" not in result.stderr:
        assert len(trace.of("kernel")) == 100 and trace.edges()


LEAST = {"SYNCLINE_MEMORY": "16MiB", "SYNCLINE_CUPTI_MEMORY": "4MiB", "SYNCLINE_NVTX_MEMORY": "1MiB",
         "SYNCLINE_OPS_MEMORY": "4MiB"}


@pytest.mark.full(seconds=1.0)  # the job itself may need more than the limit leaves, on a busy machine
def test_a_limit_that_is_lowered_while_the_job_runs(tmp_path):
    """While the limit leaves too little, nothing is recorded. When it is raised again, recording goes on. One
    line with the figures reports each change."""
    out = tmp_path / "out"
    # The shell's parent is the job, which keeps 60 MB.
    lower = ("sh:size=$(sed -n 's/VmSize:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$PPID/status) && "
             "prlimit --pid $PPID --as=$(((size + 60000) * 1024)):")
    result = subprocess.run(
        [harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, "context", "stream", "recording",
         "mark:first_mark", "kernel", "sync", lower, "armed", "mark:meanwhile_mark", "kernel", "sync",
         "sh:prlimit --pid $PPID --as=unlimited:", "recording", "mark:last_mark", "kernel", "sync"],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
        env=harness.environment(injected(out, SYNCLINE_LEAD_IN="100ms", SYNCLINE_CHAKRA="off", **LEAST)))
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "done"), result.stderr
    paused, resumed = [line for line in harness.SAID.findall(result.stderr) if "recording pauses" in line
                       or "recording goes on" in line]
    assert re.search(r"ulimit -v\) is [\d.]+ MB, and [\d.]+ MB are in use without syncline, which may take "
                     r"[\d.]+ MB and needs [\d.]+: recording pauses", paused), paused
    files = sorted(path.name for path in out.rglob("*.zst*"))
    assert files == ["1.pt.trace.json.zst", "2.pt.trace.json.zst"]
    texts = [harness.Trace(path).text for path in sorted(out.rglob("*.zst"))]
    assert [[name in text for name in (b"first_mark", b"meanwhile_mark", b"last_mark")] for text in texts] == [
        [True, False, False], [False, False, True]]
