"""Hosts with little memory: they end as they do without syncline, which takes a small part of what
is left, or nothing."""
import json
import os
import pathlib
import subprocess

import pytest

import harness

STEPS = ("context", "stream", "flood:300", "sync")
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
UNIFIED = pathlib.Path("/sys/fs/cgroup")


@pytest.fixture
def limited(tmp_path):
    """limited(BYTES, command) runs a command in a memory cgroup with this limit, and returns the
    result and the most memory that was used (bytes). Only root can make a cgroup."""
    name = f"syncline-test-{os.getpid()}"
    if (MEMORY / "memory.limit_in_bytes").exists():
        group, limit, peak = MEMORY / name, "memory.limit_in_bytes", "memory.max_usage_in_bytes"
    else:
        group, limit, peak = UNIFIED / name, "memory.max", "memory.peak"
    try:
        group.mkdir()
        (group / limit).read_text()
    except OSError:
        if group.exists():
            group.rmdir()
        pytest.skip("a memory cgroup needs root (and a container that allows it)")

    def run(limit_bytes: int, steps: tuple[str, ...], **env: str):
        (group / limit).write_text(str(limit_bytes))
        # A shell joins the group and becomes the program, so that all of its memory counts.
        join = ["sh", "-c", f'echo $$ > {group / "cgroup.procs"} && exec "$@"', "sh"]
        result = subprocess.run(
            [*join, harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, *steps],
            capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False,
            env=harness.environment(env))
        return result, int((group / peak).read_text())

    yield run
    group.rmdir()


def injected(out: pathlib.Path, **more: str) -> dict[str, str]:
    return {"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job", "SYNCLINE_LOG": "info",
            "CUDA_INJECTION64_PATH": str(harness.LIBRARY), **more}


@pytest.mark.parametrize("megabytes", [60, 100, 150, 300])
def test_container_with_little_memory(limited, tmp_path, megabytes):
    """The host floods the GPU under a memory limit. It ends as without syncline. Where syncline's
    minima do not fit in an eighth of the rest, nothing is recorded, and one line has the figures."""
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
    """Of 300 MB, one rank may take an eighth, which is enough. One of two ranks may take half of
    that, which is not."""
    out = tmp_path / "out"
    result, _ = limited(300000000, ("context", "kernel", "sync"),
                        **injected(out, RANK="1", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2"))
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "nothing is recorded" in result.stderr and not list(out.rglob("*.zst"))


@pytest.mark.parametrize("megabytes", [320, 520])
def test_limited_address_space(tmp_path, megabytes):
    """`ulimit -v`: a host that is left enough is recorded with smaller buffers."""
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
