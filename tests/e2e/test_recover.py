"""`syncline recover`: what killed jobs left becomes valid."""
import dataclasses
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest
import zstandard

import chakra
import harness
from tiers import SEED

def tool(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([harness.TOOL, *arguments], capture_output=True, text=True, timeout=60, check=False)


def start(folder: pathlib.Path, *steps: str, program: pathlib.Path = harness.SCENARIO,
          prefix: list[str] | None = None) -> subprocess.Popen:
    """Starts a job with the library in it, whose traces go to folder/out. `prefix` is a command that runs it."""
    env = harness.environment({"SYNCLINE_OUTPUT": str(folder / "out"), "SYNCLINE_JOB": "job",
                               "CUDA_INJECTION64_PATH": str(harness.LIBRARY)})
    # The simulator's command replaces itself by the program, so a signal hits the program.
    command = [*(prefix or []), harness.SIMGPU, "--build", harness.BUILD, program, *steps]
    return subprocess.Popen(command, env=env, cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# ---- killed jobs ----

MS = 1000000  # ns
STARVED_NS = 20 * MS  # a probe that ended later than this had to wait for a processor
STAMPS = struct.Struct("=3q200q")  # struct stamps in programs/host_stamps.c


@dataclasses.dataclass
class Killed:
    """A killed job. Times are in ns."""
    age: int | None  # from the return of the first wait to that of the last wait; None: no wait returned
    lost: list[int]  # for each file: from the last operation in the file to the return of the last wait
    starved: int  # how long a thread of the job waited for a processor in the last two seconds

    def is_in_bound(self) -> bool:
        """At most a second is lost. Threads that flush and write records cannot work while they wait for a
        processor, so that time does not count."""
        lost = self.lost or ([self.age] if self.age is not None else [])
        return all(ns <= 1000 * MS + self.starved for ns in lost)


def read_stamps(path: pathlib.Path) -> tuple[int, int, int]:
    """Returns the times of the first and of the last wait, and how long the probing thread waited for a
    processor; (0, 0, 0) if the job was killed before any wait returned."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) != STAMPS.size:
        return 0, 0, 0
    first, last, probed, *late = STAMPS.unpack(data)
    since_probe = last - probed if last and probed else 0
    return first, last, sum(ns for ns in [*late, since_probe] if ns > STARVED_NS)


def last_operation(path: pathlib.Path) -> int:
    """Returns the end of the last operation of the GPU in a trace of either format; 0 if there is none."""
    if ".et" in path.name:
        et = chakra.Et(path)
        assert not chakra.broken(et)
        return max((et.header["clock_base_ns"] + node.end for node in et.gpu), default=0)
    return max((row["end"] for row in harness.Trace(path).of("kernel")), default=0)


def kill_and_recover(folder: pathlib.Path, after_s: float) -> Killed:
    """Kills a job and recovers its folder. Then every file must be valid, and recovering again does
    nothing."""
    folder.mkdir()
    job = start(folder, "stamps", "600000", program=harness.BUILD / "tests/e2e/host")
    time.sleep(after_s)
    job.send_signal(signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    first, last, starved = read_stamps(folder / "stamps")
    killed = Killed(last - first if last else None, [], starved)
    out = folder / "out"
    if not out.exists():
        return killed  # the job is too young to have a file
    done = tool("recover", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [name for name in names(out) if name.endswith(".part")], names(out)
    assert tool("recover", out).stdout.startswith("nothing to complete")
    for path in out.rglob("*"):
        if path.is_file():
            checked = tool("check", path)
            assert checked.returncode == 0 or "were lost" in checked.stdout, checked.stdout
            killed.lost.append(last - max(last_operation(path), first))
    return killed


def kills(tmp_path, count: int) -> list[Killed]:
    random.seed(SEED + count)
    jobs = []
    for i in range(count):
        jobs.append(kill_and_recover(tmp_path / str(i), random.uniform(0.05, 2.5)))
        shutil.rmtree(tmp_path / str(i))
    return jobs


def print_table(jobs: list[Killed]) -> None:
    """Prints how much was lost, by the age of the job when it was killed."""
    print("age of the job    jobs  without file   lost at most: half of jobs   9 of 10   all")
    for least, most in ((0, 100), (100, 500), (500, 1000), (1000, 2500)):
        ages = [job for job in jobs if job.age is not None and least * MS <= job.age < most * MS]
        lost = sorted(max(job.lost or [job.age]) // MS for job in ages)
        if lost:
            print(f"{least:5}-{most:<4} ms {len(ages):9} {sum(not job.lost for job in ages):13}"
                  f" {lost[len(lost) // 2]:24} ms {lost[len(lost) * 9 // 10]:6} ms {lost[-1]:4} ms")


def test_killed_at_any_moment(tmp_path):
    kills(tmp_path, 8)


@pytest.mark.full(seconds=40)
def test_killed_at_200_moments(tmp_path):
    """Also limits the loss to a second."""
    jobs = kills(tmp_path, 200)
    print_table(jobs)
    assert not [job for job in jobs if not job.is_in_bound()]


# ---- what recover does with files ----

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
    rows = harness.Trace(path).of("kernel", "cuda_runtime", "cuda_driver", "cuda_sync", "overhead")
    kept = (max(row["end"] for row in rows) - min(row["start"] for row in rows)) / 1e9
    assert f"whole events, up to {kept:.3f} s after the first" in done.stderr
    assert tool("check", path).returncode == 0
    assert names(path.parent) == ["1.0.et.zst", "1.pt.trace.json.zst"]


def test_two_recover_one_folder(tmp_path):
    """Both commands end well, and no line speaks of a problem but that a file is truncated, or that the other
    command completes it."""
    job = start(tmp_path, "context", "kernel:3000", "sync")
    assert job.wait() == 0
    (path,) = (tmp_path / "out").rglob("*.pt.trace.json.zst")
    folder = tmp_path / "killed"
    folder.mkdir()
    for i in range(20):
        (folder / f"{i}.pt.trace.json.zst.part").write_bytes(path.read_bytes()[:-100])
    with open(folder / "0.pt.trace.json.zst.part", "rb") as part:
        fcntl.flock(part, fcntl.LOCK_EX)  # as `recover` does
        done = tool("recover", folder / "0.pt.trace.json.zst.part")
        assert done.returncode == 1 and "another `syncline recover` completes it" in done.stderr
    both = [subprocess.Popen([harness.TOOL, "recover", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for _ in range(2)]
    for one in both:
        _, said = one.communicate(timeout=60)
        assert one.returncode in (0, 1)
        assert all("is truncated or damaged" in line or "another `syncline recover`" in line
                   for line in said.splitlines()), said
    assert names(folder) == sorted(f"{i}.pt.trace.json.zst" for i in range(20))
    assert tool("check", *folder.iterdir()).returncode == 0


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


def test_a_job_in_another_pid_namespace_is_left_alone(tmp_path):
    """The lock on the file shows the job, although its pid means another process here. Its file keeps everything."""
    container = ["unshare", "--pid", "--fork"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a pid namespace needs root (and a container that allows it)")
    job = start(tmp_path, "context", "kernel:20", "sync", "sleep:3000", "kernel", "sync", prefix=container)
    deadline = time.time() + 60
    while not any(path.stat().st_size for path in (tmp_path / "out").rglob("*.part")):
        assert time.time() < deadline
        time.sleep(0.05)
    for path in (tmp_path / "out").rglob("*.part"):
        os.utime(path, (1, 1))  # a job without GPU work writes nothing
    done = tool("recover", tmp_path / "out")
    assert done.returncode == 1 and "still being written" in done.stderr
    assert job.wait() == 0 and names(tmp_path / "out") == ["1.0.et.zst", "1.pt.trace.json.zst"]


def test_files_of_others_and_remains(tmp_path):
    """Files whose names only look alike stay. The file of an interrupted `recover` is removed. A completed file
    has the mode of its .part file."""
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("download.json.part", "my.etching.part"):
        (folder / name).write_bytes(b"")
    (folder / "1.pt.trace.json.29105.part").write_text('{"traceEvents": [')
    part = folder / "2.pt.trace.json.part"
    part.write_text('{\n"schemaVersion": 1,\n"traceEvents":[\n')
    part.chmod(0o644)
    done = tool("recover", folder)
    assert "left by an interrupted command and is removed" in done.stdout, done.stdout + done.stderr
    assert names(folder) == ["2.pt.trace.json", "download.json.part", "my.etching.part"]
    assert (folder / "2.pt.trace.json").stat().st_mode & 0o777 == 0o644


def test_check_names_the_file_of_a_killed_job(tmp_path):
    """An execution trace that ends between two nodes shows no cut, so the name says that it is not complete."""
    run = harness.scenario(tmp_path, "context kernel:20 sync")
    (path,) = run.files("*.et.zst")
    part = path.rename(path.with_name(path.name + ".part"))
    done = tool("check", part)
    assert done.returncode == 1 and "killed or still runs" in done.stdout and "syncline recover" in done.stdout
    assert tool("recover", part).returncode == 0 and tool("check", path).returncode == 0


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
