"""Tests the folder of a process's traces: what the host may do to it, which processes share it, and that other
users cannot lead syncline elsewhere."""
import os
import pathlib
import re
import subprocess

import pytest

import harness

WORK = "context stream kernel:5 sync "
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534


def below(folder: pathlib.Path) -> list[str]:
    """Returns the paths of all files below a folder, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def windows(run: harness.Run) -> dict[str, list[str]]:
    """Returns the names of all files by the name of their folder."""
    found: dict[str, list[str]] = {}
    for path in below(run.out / "job"):
        folder, name = path.split("/")
        found.setdefault(folder, []).append(name)
    return found


def of_window(name: str, rank: int = 0) -> list[str]:
    """Returns the names of a window's files. `name` is the part of their names that they share."""
    return [f"{name}.{rank}.et.zst", f"{name}.pt.trace.json.zst"]


def mode_of(path: pathlib.Path) -> int:
    return path.stat().st_mode & 0o7777


def on_demand(number: int) -> list[str]:
    """Returns the steps of a window on demand, which is the window with this number."""
    return ["start", "recording", "kernel", "sync", "stop", f"windows:{number}"]


# Waits until the open window has a Kineto file.
HAS_FILE = "sh:until ls $SYNCLINE_OUTPUT/*/*/*.json.zst.part >/dev/null 2>&1; do sleep 0.02; done"


@pytest.fixture
def steps(tmp_path):
    """Returns a function like `go`, but each step is an argument, so that a step may have spaces."""
    def start(*steps: str, **options) -> harness.Run:
        return harness.run(tmp_path, harness.SCENARIO, "context", *steps,
                           **{"lead_in": "0", "log": "warn", **options})
    return start


# ---- what the host does to the folder ----

def test_host_that_changes_its_working_directory(steps, tmp_path):
    """The output folder is relative to the working directory at the first CUDA call. The program leaves that
    directory."""
    (tmp_path / "else").mkdir()
    run = steps(f"chdir:{tmp_path / 'else'}", *on_demand(1), output="below/here", window="demand")
    assert (run.status, run.said()) == (0, []) and not below(tmp_path / "else")
    assert list(windows(run).values()) == [of_window("1")], run.stderr


@AS_ROOT
@pytest.mark.parametrize("window", ["run", "demand", "time:20ms/60ms"])
def test_host_that_changes_its_root(steps, tmp_path, window):
    """The program calls chroot() while a window is open (by time: at any moment). syncline writes nothing inside
    the new root. The window is completed in the old place, recording ends, and one line reports this."""
    root = tmp_path / "root"
    root.mkdir()
    start = ["start"] if window == "demand" else []
    begun = "windows:1" if window.startswith("time") else HAS_FILE
    run = steps(*start, "recording", "kernel:5", "sync", begun, f"chroot:{root}", "kernel", "sync", "passive",
                "status", "start", window=window)
    assert run.status == 0 and not list(root.rglob("*")), list(root.rglob("*"))
    (files,) = windows(run).values()
    assert not [name for name in files if name.endswith(".part")], files
    first = sorted(files)[0].split(".pt")[0].removesuffix(".0.et.zst")
    assert first.endswith("Z") if window.startswith("time") else first == "1"
    assert set(of_window(first)) <= set(files)
    (said,) = run.said()
    assert "chroot" in said and "recording ends" in said
    assert "reason the program changed its root folder" in run.stdout
    assert run.stdout.endswith("start -19\ndone\n")  # -ENODEV


def test_a_folder_that_is_removed_during_a_timed_window(steps):
    """The window is lost, which is no reason to wait for a minute: the next window makes the folder again."""
    work = ["kernel", "sync", "sleep:10"] * 20
    run = steps(*work, "sh:rm -rf $SYNCLINE_OUTPUT/job", *work, *work, window="time:100ms/200ms")
    assert run.status == 0 and list(windows(run).values())[-1], run.stderr
    assert "in a minute" not in run.stderr, run.stderr


@AS_ROOT
def test_host_that_changes_its_root_between_windows(steps, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    run = steps(*on_demand(1), f"chroot:{root}", "passive", "start", window="demand")
    assert run.status == 0 and not list(root.rglob("*"))
    assert list(windows(run).values()) == [of_window("1")]
    (said,) = run.said()
    assert "chroot" in said and "recording ends" in said


@AS_ROOT
def test_host_that_changes_its_root_and_ends(steps, tmp_path):
    """The program ends right after chroot(). The open window is completed in the old place."""
    root = tmp_path / "root"
    root.mkdir()
    run = steps("kernel:5", "sync", HAS_FILE, f"chroot:{root}", "exit:3")
    assert run.status == 3 and not list(root.rglob("*"))
    assert list(windows(run).values()) == [of_window("1")]


def test_folder_that_was_removed(steps):
    """The user removes the output folder while the job runs. The next window makes the folder again."""
    run = steps(*on_demand(1), "sh:rm -rf $SYNCLINE_OUTPUT", *on_demand(2), window="demand")
    assert (run.status, run.said()) == (0, [])
    ((folder, files),) = windows(run).items()
    assert files == of_window("2") and re.fullmatch(r".*-0-\d+", folder)


@pytest.mark.sanitize
def test_folder_that_was_moved(steps, tmp_path):
    """The user moves the output folder while a window is open. The window's files move with the folder. The
    next window makes a new folder."""
    # All files of the window are open half a second after the first.
    move = f"sh:sleep 0.5; mv {tmp_path / 'out'} {tmp_path / 'moved'}"
    run = steps("start", "recording", "kernel", "sync", HAS_FILE, move, "stop", "windows:1", *on_demand(2),
                window="demand")
    assert (run.status, run.said()) == (0, []), run.stderr
    assert [path.split("/")[-1] for path in below(tmp_path / "moved")] == of_window("1")
    assert list(windows(run).values()) == [of_window("2")]


@pytest.mark.sanitize
def test_host_that_closes_our_descriptors(steps):
    """The program closes the descriptor of the folder between two windows. The next window is written to the
    same folder."""
    run = steps(*on_demand(1), "closefrom:512", *on_demand(2), window="demand")
    assert (run.status, run.said()) == (0, []), run.stderr
    assert list(windows(run).values()) == [of_window("1") + of_window("2")]


# ---- other processes ----

@pytest.mark.sanitize
def test_exec(steps):
    """The program replaces itself twice. The first and the third program record, and have a folder each."""
    run = steps("kernel", "sync", HAS_FILE, "exec", "init", "exec", "context", "kernel", "sync", log="info")
    assert run.status == 0
    first, second = sorted(windows(run).items())
    assert second == (first[0] + "-2", of_window("1")), windows(run)
    assert all(name.startswith("1.") and name.endswith(".part") for name in first[1])
    assert f"{first[0]} exists already" in run.stderr
    assert f"wrote 1 window: `syncline edges --summary {run.out}/job` shows" in run.stderr


def test_recover_after_exec(steps):
    """`syncline recover` runs after an exec. It completes the files of the program before the exec, and leaves
    those of the program that is still running, whose folder ends in -2."""
    running = HAS_FILE.replace("*/*/*.json", "*/*-2/*.json")
    run = steps("kernel", "sync", HAS_FILE, "exec", "context", "kernel", "sync", running,
                f"sh:{harness.TOOL} recover $SYNCLINE_OUTPUT; true")
    assert run.status == 0
    first, second = sorted(windows(run).items())
    assert not [name for name in first[1] if name.endswith(".part")]
    assert second == (first[0] + "-2", of_window("1"))
    assert f"{second[0]}/1.pt.trace.json.zst.part is still being written" in run.stderr


@AS_ROOT
def test_containers_with_the_same_ids(tmp_path):
    """Four processes in containers start at once. All have the same host name, rank and pid, and share the
    output folder. Each process has a folder of its own."""
    out = tmp_path / "out"
    env = harness.environment({"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job",
                               "CUDA_INJECTION64_PATH": str(harness.LIBRARY)})
    command = ["unshare", "--pid", "--fork", harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO,
               *WORK.split()]
    ranks = [subprocess.Popen(command, env=env, cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) for _ in range(4)]
    texts = [rank.communicate(timeout=60)[1] for rank in ranks]
    if "unshare" in texts[0]:
        pytest.skip("a new pid namespace needs a container that allows it")
    assert not any(rank.returncode for rank in ranks), texts
    found = windows(harness.Run(0, "", "", out, [], []))
    name = f"{os.uname().nodename}-0-1"
    assert found == {name + suffix: of_window("1") for suffix in ("", "-2", "-3", "-4")}


def test_a_name_that_is_taken(steps):
    """Somebody puts files with the names of the next windows into the folder. These files stay, and the windows
    get names with -2 and -3."""
    names = "2.pt.trace.json.zst 3.0.et.zst.part 3-2.0.et.zst"
    run = steps(*on_demand(1), f"sh:cd $SYNCLINE_OUTPUT/job/* && touch {names}", *on_demand(2), *on_demand(3),
                window="demand")
    assert (run.status, run.said()) == (0, []), run.stderr
    (files,) = windows(run).values()
    assert sorted(files) == sorted([*of_window("1"), *names.split(), "2-2.pt.trace.json.zst", "2.0.et.zst",
                                    "3.pt.trace.json.zst", "3-3.0.et.zst"])


@pytest.mark.parametrize("end", ["kill", "_exit"])
def test_young_processes_leave_no_empty_file(go, end):
    """A process ends as soon as its window is open. Files are made with their headers. (A process may still end
    between the two system calls, in one of many runs.)"""
    empty = [path.name for _ in range(5) for path in go(f"context recording {end}").out.rglob("*")
             if path.is_file() and not path.stat().st_size]
    assert len(empty) <= 1


# ---- trust ----

def test_output_may_be_a_link(go, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    run = go(WORK, output=str(tmp_path / "link"), log="warn")
    assert (run.status, run.said()) == (0, [])
    assert [path.split("/")[-1] for path in below(tmp_path / "disk")] == of_window("1")


def test_planted_link_as_job_folder(go, tmp_path):
    """The job's folder is a link to somewhere else. Nothing is written there, and one line names the link."""
    (tmp_path / "out").mkdir()
    (tmp_path / "aim").mkdir()
    (tmp_path / "out" / "job").symlink_to(tmp_path / "aim")
    run = go(WORK, output=str(tmp_path / "out"), log="warn")
    assert run.status == 0 and not list((tmp_path / "aim").iterdir())
    (said,) = run.said()
    assert f"{tmp_path}/out/job" in said and "the job's folder is a symbolic link" in said
    assert (tmp_path / "out" / "job").is_symlink()


@AS_ROOT
@pytest.mark.parametrize("aim", ["folder", "nothing"])
def test_planted_link_as_process_folder(tmp_path, aim):
    """The process's folder, whose name is known in a container, is a link. syncline does not follow it."""
    link = tmp_path / "out" / "job" / f"{os.uname().nodename}-0-1"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "aim")
    if aim == "folder":
        (tmp_path / "aim").mkdir()
    run = harness.run(tmp_path, "unshare", "--pid", "--fork", harness.SCENARIO, *WORK.split())
    if "unshare" in run.stderr:
        pytest.skip("a new pid namespace needs a container that allows it")
    assert run.status == 0 and link.is_symlink() and not below(tmp_path / "aim")
    link.unlink()
    assert windows(run) == {link.name + "-2": of_window("1")}


@AS_ROOT
@pytest.mark.parametrize("owners, folder", [
    ((0, NOBODY), "job-0"), ((NOBODY, NOBODY), "job"), ((NOBODY, 0), "job"), ((1, NOBODY), "job-0")])
def test_job_folder_of_another_user(go, tmp_path, owners, folder):
    """Root runs the job. A job folder that belongs to another user is not shared, unless the output folder
    belongs to the same user."""
    out = tmp_path / "out"
    (out / "job").mkdir(parents=True)
    os.chown(out, owners[0], -1)
    os.chown(out / "job", owners[1], -1)
    (out / "job").chmod(0o777)
    run = go(WORK, output=str(out), log="warn")
    assert run.status == 0
    assert [path.split("/")[0] for path in below(out)] == [folder] * 2
    assert len(run.said()) == (folder != "job") and all("another user" in said for said in run.said())
    assert folder == "job" or not list((out / "job").iterdir())


@AS_ROOT
def test_no_job_folder_that_can_be_trusted(go, tmp_path):
    """The job's folder and the one with the user's id belong to another user. Nothing is written there."""
    out = tmp_path / "out"
    for name in "job", "job-0":
        (out / name).mkdir(parents=True)
        os.chown(out / name, NOBODY, -1)
    run = go(WORK, output=str(out), log="warn")
    assert run.status == 0 and not below(out)
    (said,) = run.said()
    assert f"cannot write {out}/job-0/" in said and "belongs to another user" in said


# ---- modes ----

@pytest.mark.parametrize("value, umask, file, folder", [
    (None, "000", 0o600, 0o700), ("0644", "077", 0o644, 0o755), ("640", "027", 0o640, 0o750),
    ("0660", "022", 0o660, 0o770), (None, "377", 0o600, 0o700)])
def test_mode_of_files(tmp_path, value, umask, file, folder):
    """SYNCLINE_MODE is the mode of files, whatever the umask is. Folders also have x where files have r. The
    program's own umask stays."""
    options = {} if value is None else {"mode": value}
    script = f'umask {umask}; "$@"; umask'
    run = harness.run(tmp_path, "sh", "-c", script, "sh", harness.SCENARIO, *WORK.split(),
                      "sh:test $(umask) = 0" + umask, output=str(tmp_path / "a" / "b"), log="warn", **options)
    assert (run.status, run.stdout, run.said()) == (0, f"done\n0{umask}\n", []), run.stderr
    paths = list((tmp_path / "a").rglob("*"))
    assert {mode_of(path) for path in paths if path.is_file()} == {file}
    assert {mode_of(path) for path in paths if path.is_dir()} | {mode_of(tmp_path / "a")} == {folder}


@pytest.mark.parametrize("value", ["0755", "04644", "2644", "rw-r--r--", "0444", "0", "0o644", "0648", "-0644"])
def test_mode_that_is_not_valid(go, value):
    """Modes with x or set-id bits, without the owner's bits, or of another form are refused. Files then have
    mode 0600, and one line names the value."""
    run = go(WORK, mode=value, log="warn")
    assert run.status == 0
    assert {mode_of(path) for path in run.out.rglob("*")} == {0o600, 0o700}
    (said,) = run.said()
    assert f"SYNCLINE_MODE={value} is" in said and "0600 is used" in said
