"""Jobs run with little memory. Each job ends like without syncline. syncline uses a small part of the
remaining memory, or none."""
import json
import pathlib
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
    (path,) = out.rglob("*.zst")
    trace = harness.Trace(path)
    assert len(trace.of("kernel")) == 100 and trace.edges()
