"""`syncline recover`: what killed jobs left becomes valid."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest
import zstandard

import chakra
import harness

# a job that does not end by itself before it is killed
WORK = ("context", "stream", *["kernel:20", "sync", "sleep:5"] * 4000)


def tool(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([harness.TOOL, *arguments], capture_output=True, text=True, timeout=60, check=False)


def start(folder: pathlib.Path, *steps: str) -> subprocess.Popen:
    """A job with the library in it, whose traces go to folder/out."""
    env = harness.environment({"SYNCLINE_OUTPUT": str(folder / "out"), "SYNCLINE_JOB": "job",
                               "CUDA_INJECTION64_PATH": str(harness.LIBRARY)})
    # The simulator's command replaces itself by the program, so a signal hits the program.
    return subprocess.Popen([harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, *steps], env=env,
                            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def kill_and_recover(folder: pathlib.Path, after_s: float) -> None:
    """Kills a job and recovers its folder. Every file must be valid then, and recovering again does nothing."""
    folder.mkdir()
    job = start(folder, *WORK)
    time.sleep(after_s)
    job.send_signal(signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    out = folder / "out"
    if not out.exists():
        return  # before the first CUDA call
    done = tool("recover", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [name for name in names(out) if name.endswith(".part")], names(out)
    assert tool("recover", out).stdout.startswith("nothing to complete")
    for path in out.rglob("*"):
        if not path.is_file():
            continue
        checked = tool("check", path)
        assert checked.returncode == 0 or "were lost" in checked.stdout, checked.stdout
        if ".et" in path.name:
            assert not chakra.broken(chakra.Et(path))
        else:
            assert harness.Trace(path).of("kernel", "cuda_driver")


def kills(tmp_path, count: int) -> None:
    random.seed(count)
    for i in range(count):
        kill_and_recover(tmp_path / str(i), random.uniform(0.05, 2.5))


def test_killed_at_any_moment(tmp_path):
    kills(tmp_path, 8)


@pytest.mark.full(seconds=400)
def test_killed_at_200_moments(tmp_path):
    kills(tmp_path, 200)


def test_a_job_that_still_runs_is_left_alone(tmp_path):
    """`recover` says so, changes nothing, and the job completes its files."""
    job = start(tmp_path, "context", "kernel:20", "sync", "sleep:4000", "kernel", "sync")
    deadline = time.time() + 60
    while not any(path.stat().st_size for path in (tmp_path / "out").rglob("*.part")):
        assert time.time() < deadline
        time.sleep(0.05)
    done = tool("recover", tmp_path / "out")
    assert done.returncode == 1 and "still being written" in done.stderr
    assert job.wait() == 0
    assert names(tmp_path / "out") == ["1.0.et.zst", "1.pt.trace.json.zst"]
    assert tool("recover", tmp_path / "out").returncode == 0


def test_an_interrupted_copy_is_completed_in_place(tmp_path):
    """A whole file stays as it is, byte by byte."""
    job = start(tmp_path, "context", "kernel:3000", "sync")
    assert job.wait() == 0
    (path,) = (tmp_path / "out").rglob("*.pt.trace.json.zst")
    whole = path.read_bytes()
    assert "was complete already" in tool("recover", path).stdout and path.read_bytes() == whole
    text = zstandard.ZstdDecompressor().decompressobj().decompress(whole)
    assert text
    path.write_bytes(whole[:len(whole) * 2 // 3])
    done = tool("recover", path)
    assert done.returncode == 0 and "is truncated or damaged" in done.stderr, done.stderr
    assert tool("check", path).returncode == 0
    assert names(path.parent) == ["1.0.et.zst", "1.pt.trace.json.zst"]


def test_nothing_is_replaced(tmp_path):
    """NAME exists beside NAME.part: both stay. Files of others and empty parts: left, and removed."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "1.pt.trace.json").write_text("{}")
    (folder / "1.pt.trace.json.part").write_text('{"traceEvents": [\n')
    (folder / "2.pt.trace.json.zst.part").write_bytes(b"")
    (folder / "notes.part").write_text("mine")
    for path in folder.iterdir():
        os.utime(path, (1, 1))  # long ago: nobody writes them
    done = tool("recover", folder)
    assert done.returncode == 1 and "exists already" in done.stderr
    assert names(folder) == ["1.pt.trace.json", "1.pt.trace.json.part", "notes.part"]
    assert tool("recover", tmp_path / "none").returncode == 2
    assert tool("recover").returncode == 2


def test_a_cut_is_one_note(tmp_path):
    """The call of an operation was still held when the process was killed. `check` tells this as a part of
    the note that the file was recovered, not as a problem of its own."""
    path = harness.scenario(tmp_path, "context kernel:20 sync", compression="none").trace().path
    lines = path.read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if '"traceEvents"' in line)
    call = [i for i, line in enumerate(lines) if '"cat":"cuda_driver"' in line and "cuLaunchKernel" in line][-1]
    end = next(i for i, line in enumerate(lines) if "Record Window End" in line)
    assert first < call < end
    path.write_text("".join(lines[:call] + lines[call + 1:end]))
    assert "is truncated or damaged" in tool("recover", path).stderr
    checked = json.loads(tool("check", "--json", path).stdout)
    assert [problem["id"] for problem in checked["problems"]] == ["recovered"], checked["problems"]
    assert "1 gpu_without_call" in checked["problems"][0]["first"]
