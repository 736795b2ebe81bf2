"""A hostile host process (programs/host.c) runs without and with syncline. Each mode of the program does what
real programs do around a profiler. Nothing that the program prints, writes or ends with may differ, except
syncline's lines on stderr, its descriptors from 512 on, its threads, and the documented environment.

The program prints its own view of descriptors, signals, limits, children and environment (host_view.c)."""
import dataclasses
import difflib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import harness
from tiers import full_but

HOST = harness.BUILD / "tests" / "e2e" / "host"
DEADLINE_S = 120  # only a hang takes so long

# Mode -> N, and the signals that the test sends once the program works.
MODES = {
    "view": (0,), "work": (100,), "for": (100,), "pause": (100,), "idle": (100,), "flood": (100,),
    "hang": (100,), "timewindows": (200,), "threads": (5,), "manythreads": (50,), "dlclose": (3,),
    "fork": (6,), "forkkeep": (0,), "spawn": (2,), "exec": (2,), "daemon": (100,), "daemon2": (0,),
    "exithandler": (0,), "abort": (50,), "segv": (50,), "term": (0, signal.SIGTERM),
    "termexit": (0, signal.SIGTERM), "state": (100,), "closefds": (300,), "setuid": (200,),
    "chroot": (200,), "chdir": (200,),
    # The same modes under other signals.
    "term by SIGINT": (0, signal.SIGINT), "for until SIGKILL": (100000, signal.SIGKILL),
    "for until SIGTERM": (100000, signal.SIGTERM), "for, stopped": (500, signal.SIGSTOP, signal.SIGCONT)}
NEED_ROOT = ("setuid", "chroot")
NO_CUDA = ("view",)  # The library is not loaded.

SETTINGS = {
    "run": {},
    "windows by time": {"SYNCLINE_WINDOW": "time:20ms/40ms", "SYNCLINE_LEAD_IN": "0"},
    "demand": {"SYNCLINE_WINDOW": "demand"},
    "all details": {"SYNCLINE_DETAIL": "full", "SYNCLINE_CHAKRA": "raw", "SYNCLINE_COMPRESSION": "none",
                    "SYNCLINE_LOG": "debug"}}

# Parts of the printed lines that may differ between the two runs.
OUR_VARIABLE = re.compile(r".*: environment (CUDA|NVTX)_INJECTION64_PATH=" + re.escape(str(harness.LIBRARY)))
MEASURED = re.compile(r"measured .*")


@dataclasses.dataclass
class Result:
    """What is seen of a program from outside."""
    status: int
    stdout: list[str]
    others: str  # stderr without syncline's lines
    files: dict[str, bytes]  # the program's files
    said: list[str]  # syncline's lines
    out: pathlib.Path

    def seen(self) -> list[str]:
        """Returns all that must not differ, as lines."""
        return [f"status {self.status}", *self.others.splitlines(), *self.stdout,
                *(f"file {name} {content!r}" for name, content in sorted(self.files.items()))]


def neutral(line: str, folder: pathlib.Path) -> str:
    return re.sub(r"pipe:\[\d+\]", "pipe", line.replace(str(folder), "@"))


def wait_until(is_true, what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not is_true():
        assert time.monotonic() < until, what
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    try:
        return ") Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def play(folder: pathlib.Path, mode: str, inject: bool, prefix: list[str], env: dict[str, str]) -> Result:
    """Runs a mode in folder/work until all its processes have ended. `prefix` is a command that runs the
    program."""
    work, out = folder / "work", folder / "out"
    (work / "empty").mkdir(parents=True, exist_ok=True)
    n, *signals = MODES.get(mode, (2,))
    variables = {"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job", **env}
    if inject:
        variables["CUDA_INJECTION64_PATH"] = str(harness.LIBRARY)
    command = [*prefix, harness.SIMGPU, "--build", harness.BUILD, HOST, re.match(r"\w+", mode)[0], str(n)]
    with open(folder / "stdout", "w+") as stdout:
        # stderr is at its end when all processes have ended; daemons close it earlier.
        process = subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=stdout,
                                   stderr=subprocess.PIPE, text=True, env=harness.environment(variables))
        try:
            if signals:
                wait_until(lambda: "works\n" in (folder / "stdout").read_text(), "it does not start")
            for number in signals:
                time.sleep(0.1)  # among kernels and waits
                process.send_signal(number)
            _, stderr = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
    pid = work / "daemon.pid"
    if pid.exists():
        wait_until(lambda: not is_running(int(pid.read_text())), "the daemon hangs")
        pid.unlink()
    printed = (folder / "stdout").read_text()
    files = {str(path.relative_to(work)): path.read_bytes() for path in work.rglob("*") if path.is_file()}
    if "daemon.txt" in files:
        printed += files.pop("daemon.txt").decode()
    return Result(process.returncode, [neutral(line, folder) for line in printed.splitlines()],
                  neutral(harness.SAID.sub("", stderr), folder), files, harness.SAID.findall(stderr), out)


def without_ours(lines: list[str]) -> list[str]:
    return [line for line in lines if not OUR_VARIABLE.fullmatch(line)]


def without_measured(result: Result) -> Result:
    lines = [line for line in result.stdout if not MEASURED.fullmatch(line)]
    return dataclasses.replace(result, stdout=lines)


def compare(folder: pathlib.Path, mode: str, prefix: list[str] | None = None, **env: str) -> Result:
    """Runs a mode without and with the library, and fails if anything else than the documented differs.
    Returns the run with the library. A file of syncline has a low descriptor for some microseconds, until it
    gets its own (base/own_file.h). If the host opens a file in this time, its number differs. So the mode
    that prints such numbers is tried again."""
    if mode in NEED_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    for attempt in range(3 if mode == "closefds" else 1):
        bare = without_measured(play(folder / f"bare{attempt}", mode, False, prefix or [], env))
        mine = without_measured(play(folder / f"mine{attempt}", mode, True, prefix or [], env))
        assert bare.said == [] and not bare.out.exists()
        ours_removed = dataclasses.replace(mine, stdout=without_ours(mine.stdout))
        different = list(difflib.unified_diff(bare.seen(), ours_removed.seen(), "bare", "with syncline",
                                              lineterm="", n=1))
        if not different:
            break
    assert not different, "\n".join(line[:500] for line in different)
    return mine


def check_files(result: Result) -> None:
    """Every file that is complete is valid. (A busy machine may have lost records, and a window of a pause is
    empty.)"""
    for path in result.out.rglob("*"):
        if path.is_file() and path.suffix != ".part":
            checked = subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True,
                                     check=False)
            assert (checked.returncode == 0 or "were lost" in checked.stdout
                    or "files without nodes" in checked.stdout), checked.stdout


def cells(columns, kept) -> list:
    """Returns the modes with each column. Without --full, only those run for which kept(mode, column)."""
    rows = [(mode, column) for column in columns for mode in MODES]
    return full_but([row for row in rows if kept(*row)], rows, 0.4)


@pytest.mark.parametrize("mode, setting", cells(SETTINGS, lambda mode, setting: setting == "run"))
def test_host_sees_no_difference(tmp_path, mode, setting):
    result = compare(tmp_path, mode, **SETTINGS[setting])
    is_loaded = any("NVTX_INJECTION64_PATH" in line for line in result.stdout)
    assert is_loaded == (mode not in NO_CUDA)
    check_files(result)


@pytest.mark.parametrize("mode, megabytes", cells((60, 100, 150, 300), lambda mode, _: mode == "flood"))
def test_host_with_little_memory(memory_limit, tmp_path, mode, megabytes):
    compare(tmp_path, mode, memory_limit(megabytes * 1000000).command)


@pytest.mark.parametrize("mode, setting", cells(
    ("run", "windows by time"), lambda mode, _: mode in ("flood", "timewindows")))
def test_host_on_a_full_disk(small_disk, tmp_path, mode, setting):
    """The disk for the traces is full from the start on. Nothing of a trace stays there."""
    (small_disk / "filler").write_bytes(b"x" * 256 * 1024)
    result = compare(tmp_path, mode, **SETTINGS[setting], SYNCLINE_OUTPUT=str(small_disk / "out"))
    assert not [path for path in small_disk.rglob("*") if path.is_file() and path.name != "filler"]
    programs = 3 if mode == "exec" else 1
    # Each says where it records and why nothing can be written. setuid and chroot give a second
    # reason. On a busy machine a window may be missed, which is said too.
    said = [line for line in result.said if " missed: " not in line]
    assert len(said) <= 2 * programs + (mode in ("setuid", "chroot")), result.said


# ---- folders ----

def folders(out: pathlib.Path) -> list[str]:
    return sorted(path.name for path in (out / "job").iterdir())


def test_each_program_of_a_process_has_its_folder(tmp_path):
    """The program replaces itself twice by exec, each time once it has a trace file. The process keeps its
    pid."""
    result = play(tmp_path, "execfile", True, [], {})
    assert result.status == 0 and result.stdout == ["host ok"]
    first, *others = folders(result.out)
    assert others == [f"{first}-2", f"{first}-3"]
    assert len(list(result.out.rglob("*.pt.trace.json*"))) == 3


def test_each_first_process_of_a_container_has_its_folder(tmp_path):
    """Containers that share an output folder, and in which the job has the pid 1."""
    container = ["unshare", "--pid", "--fork"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a pid namespace needs root (and a container that allows it)")
    out = str(tmp_path / "out")
    for number in ("1", "2", "3"):
        compare(tmp_path / number, "work", container, SYNCLINE_OUTPUT=out)
    first, *others = folders(tmp_path / "out")
    assert first.endswith("-0-1") and others == [f"{first}-2", f"{first}-3"]


@pytest.mark.parametrize("setting", ["run", "windows by time"])
def test_nothing_is_written_in_a_new_root(tmp_path, setting):
    """The new root has a folder with the path of the output folder."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    copy = tmp_path / "mine" / "work" / "empty" / str(tmp_path / "mine" / "out")[1:]
    copy.mkdir(parents=True)
    result = play(tmp_path / "mine", "chroot", True, [], SETTINGS[setting])
    assert result.status == 0 and "host ok" in result.stdout
    assert not list(copy.rglob("*"))
