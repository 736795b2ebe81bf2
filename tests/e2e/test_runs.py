"""The runs of a job: the files of one run have the same id on all ranks, and another run has another id."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

import chakra
import harness
import pytest


def ids(folder: pathlib.Path) -> dict[str, set]:
    """Returns the pairs of run id and start that the files of each kind have."""
    found = {}
    for path in folder.rglob("*.zst"):
        header = chakra.Et(path).header if ".et." in path.name else harness.Trace(path).object
        found.setdefault(path.name, set()).add((header["run_id"], header["run_start_ns"]))
    return found


def launch(folder: pathlib.Path, ranks: int, steps: str = "context kernel sync", attempts: int = 1,
           **options: str) -> None:
    """Records a job of some ranks, which one shell launches, as torchrun on one machine does. The shell
    restarts the ranks for each further attempt."""
    env = {"SYNCLINE_OUTPUT": str(folder / "out"), "SYNCLINE_JOB": "job", "WORLD_SIZE": str(ranks),
           "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
           "CUDA_INJECTION64_PATH": str(harness.LIBRARY), **options}
    command = shlex.join(map(str, (harness.SIMGPU, "--build", harness.BUILD, harness.SCENARIO, *steps.split())))
    script = "".join("".join(f"TORCHELASTIC_RESTART_COUNT={attempt} RANK={rank} {command} & "
                             for rank in range(ranks)) + "wait; " for attempt in range(attempts))
    subprocess.run(["sh", "-c", script], env=harness.environment(env), cwd=folder, check=True, timeout=60)


def test_ranks_of_one_run_have_one_id(tmp_path):
    launch(tmp_path, 2)
    found = ids(tmp_path)
    assert sorted(found) == ["1.0.et.zst", "1.1.et.zst", "1.pt.trace.json.zst"]
    assert len({run for runs in found.values() for run, _ in runs}) == 1, found


def test_the_next_run_of_the_job_has_another_id(tmp_path):
    for _ in range(2):
        launch(tmp_path, 1)
    for runs in ids(tmp_path).values():
        assert len({run for run, _ in runs}) == 2
        assert len({start for _, start in runs}) == 2


def test_our_own_id(tmp_path):
    launch(tmp_path, 1, SYNCLINE_RUN="first try")
    launch(tmp_path, 1, SYNCLINE_RUN="first try", MASTER_PORT="29501")
    assert {run for runs in ids(tmp_path).values() for run, _ in runs} == {"first_try"}


# ---- the command's choice among the runs in a folder ----

# Two children of mp.spawn, without PyTorch. Each says its rank as syncline's package does, after the
# first CUDA call.
SPAWNED = """
import ctypes, json, multiprocessing, os, pathlib, sys, time

def child(rank, killed):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
    assert cuda.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(64)) == 0
    if killed:  # the header is on the disk before the rank is told
        while not list(pathlib.Path(os.environ["SYNCLINE_OUTPUT"]).glob(f"*/*-{os.getpid()}/*.json.zst.part")):
            time.sleep(0.01)
    info = {"backend": "gloo", "rank": rank, "world_size": 2, "pg_count": 1, "pg_config": [],
            "nccl_version": "unknown"}
    assert ctypes.CDLL(sys.argv[1]).sl_hook_groups(json.dumps(info).encode()) == 0
    while True:
        assert cuda.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(64)) == 0
        if not killed:
            break
        time.sleep(0.01)
    assert cuda.cuCtxSynchronize() == 0

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=child, args=(rank, sys.argv[2] == "killed")) for rank in range(2)]
    for one in children:
        one.start()
    if sys.argv[2] == "killed":
        sys.stdin.read()
        for one in children:
            one.kill()
    for one in children:
        one.join()
"""


def spawn(folder: pathlib.Path, how: str, **options: str) -> subprocess.Popen:
    (folder / "job.py").write_text(SPAWNED)
    env = {"SYNCLINE_OUTPUT": str(folder / "out"), "SYNCLINE_JOB": "job", "SYNCLINE_PYTHON": "0",
           "CUDA_INJECTION64_PATH": str(harness.LIBRARY), **options}
    return subprocess.Popen([harness.SIMGPU, "--build", harness.BUILD, sys.executable, folder / "job.py",
                             harness.LIBRARY, how], env=harness.environment(env), cwd=folder,
                            stdin=subprocess.PIPE)


@pytest.mark.parametrize("options", [{}, {"RANK": "0", "WORLD_SIZE": "1"}],
                         ids=["no launcher", "launched parent"])
def test_ranks_of_spawned_children(tmp_path, options):
    """The launcher told no rank, or that of the parent: files have the rank that PyTorch has."""
    assert spawn(tmp_path, "ends", **options).wait(60) == 0
    found, _ = checked(tmp_path)
    assert sorted(file["rank"] for file in found if "rank" in file) == [0, 1]
    assert {file["world_size"] for file in found if "rank" in file} == {2}
    assert len({file["run"] for file in found}) == 1
    for path in (tmp_path / "out").rglob("*.json.zst"):
        trace = harness.Trace(path)
        ranks = [line for line in trace.text.decode().splitlines() if re.search(r'"rank":\s+(\d+)', line)]
        assert len(ranks) == 1 and f'"rank": {trace.object["distributedInfo"]["rank"]},' in ranks[0]
        tool("convert", path, "--to", "chakra", "-o", path.with_name("made.et"))
        assert chakra.Et(path.with_name("made.et")).header["rank"] == trace.object["distributedInfo"]["rank"]


def test_ranks_of_killed_children(tmp_path):
    """`recover` gives the file the last rank that was told."""
    job = spawn(tmp_path, "killed")
    deadline = time.time() + 60
    while sorted((file["rank"], file["world_size"]) for file in told(tmp_path)) != [(0, 2), (1, 2)]:
        assert time.time() < deadline, told(tmp_path)
        time.sleep(0.1)
    job.communicate()
    tool("recover", tmp_path)
    found, _ = checked(tmp_path)
    assert sorted(file["rank"] for file in found if "rank" in file) == [0, 1]
    for path in (tmp_path / "out").rglob("*.json.zst"):
        assert harness.Trace(path).object["distributedInfo"]["world_size"] == 2


def told(folder: pathlib.Path) -> list[dict]:
    """Returns what `syncline check` says of the unfinished Kineto traces, at this moment."""
    done = subprocess.run([harness.TOOL, "check", "--json", *folder.rglob("*.json.zst.part")],
                          capture_output=True, text=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def tool(*arguments, status: int = 0) -> tuple[str, str]:
    done = subprocess.run([harness.TOOL, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def checked(*arguments, status: int = 0) -> tuple[list[dict], str]:
    """Returns what `syncline check --json` says of each file, and its standard error."""
    out, error = tool("check", "--json", *arguments, status=status)
    return [json.loads(line) for line in out.splitlines()], error


def restarted(folder: pathlib.Path, runs: int, steps: str = "context kernel sync", **options: str) -> list[str]:
    """Runs a job of two ranks several times in one folder. Returns the run ids, the oldest first."""
    seen: list[str] = []
    folder.mkdir(exist_ok=True)
    for _ in range(runs):
        launch(folder, 2, steps, **options)
        found = {run for pairs in ids(folder).values() for run, _ in pairs}
        seen += found - set(seen)
    assert len(seen) == runs
    return seen


@pytest.mark.sanitize
def test_the_newest_run_is_read(tmp_path):
    """A restarted job: the files of the last run alone, all its ranks, and one line about the others."""
    first, second, third = restarted(tmp_path, 3)
    found, error = checked(tmp_path / "out")
    assert {file["run"] for file in found} == {third} and len(found) == 4
    assert {file["rank"] for file in found if "rank" in file} == {0, 1}
    (line,) = error.splitlines()
    assert f"newest, {third} (4 files, started 20" in line and first in line and second in line, line
    assert "--run ID" in line
    assert checked(tmp_path / "out" / "job")[0] == found


def test_a_restart_by_the_launcher_is_a_newer_run(tmp_path):
    launch(tmp_path, 2, attempts=3)
    found, error = checked(tmp_path)
    assert sorted(file["rank"] for file in found if "rank" in file) == [0, 1] and len(found) == 4
    assert len({file["run"] for file in found}) == 1 and "left out" in error
    newest = max((tmp_path / "out").rglob("*.json.zst"), key=lambda path: harness.Trace(path).object["syncline"]["opened_ns"])
    assert str(newest) in {file["file"] for file in found}


@pytest.mark.sanitize
def test_another_run_is_chosen(tmp_path):
    first, second = restarted(tmp_path, 2)
    out = tmp_path / "out"
    for choice in (first, first[:8]):
        found, error = checked("--run", choice, out)
        assert {file["run"] for file in found} == {first} and error == ""
    found, error = checked("--run=all", out)
    assert {file["run"] for file in found} == {first, second} and len(found) == 8 and error == ""
    for wrong in ("", "x", "none"):
        found, error = checked("--run", wrong, out, status=2)
        assert found == [] and first in error and second in error and len(error.splitlines()) == 1
    path = next(out.rglob("*.pt.trace.json.zst"))
    assert len(checked(path)[0]) == 1  # a file that is named is read, of whichever run
    assert "name a folder" in checked("--run", first, path, status=2)[1]


def test_files_without_a_run_id(tmp_path):
    """Files of older versions and of other programs are named like a run, and read if there is no other."""
    folder = tmp_path / "out"
    folder.mkdir()
    old = {"schemaVersion": 1, "generator": "syncline 0.0.1", "job": "job",
           "distributedInfo": {"rank": 0}, "traceEvents": []}
    (folder / "1.pt.trace.json").write_text(json.dumps(old))
    (folder / "foreign.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": []}))
    (folder / "config.json").write_text("{}")
    found, error = checked(folder)
    assert len(found) == 2 and error == ""
    (run,) = restarted(tmp_path, 1)
    found, error = checked(folder)
    assert [file["run"] for file in found].count(run) == 4
    assert [pathlib.Path(file["file"]).name for file in found if not file["run"]] == ["foreign.pt.trace.json"]
    assert "left out: none (1 file)" in error and len(error.splitlines()) == 1
    assert len(checked("--run", "none", folder)[0]) == 2


def test_an_empty_file_belongs_to_the_run_of_its_folder(tmp_path):
    """A young process that was killed leaves an empty .part file, which must not spoil later runs."""
    first, _ = restarted(tmp_path, 2)
    old = next(path for path in (tmp_path / "out").rglob("*.json.zst")
               if harness.Trace(path).object["run_id"] == first)
    (old.parent / "2.pt.trace.json.zst.part").write_bytes(b"")
    assert len(checked(tmp_path)[0]) == 4
    assert "is empty" in checked("--run", first, tmp_path, status=2)[1]


def test_each_job_has_its_newest_run(tmp_path):
    newest = {restarted(tmp_path / job, 2, SYNCLINE_JOB=job)[-1] for job in "ab"}
    found, error = checked(tmp_path)
    assert {file["run"] for file in found} == newest and len(found) == 8
    assert len(error.splitlines()) == 2


def test_edges_of_a_folder(tmp_path):
    """The Kineto traces of the newest run, each with its name."""
    _, newest = restarted(tmp_path, 2, "context kernel:3000 sync")
    expected = [file["file"] for file in checked(tmp_path)[0] if "rank" in file]
    assert len(expected) == 2
    out, error = tool("edges", tmp_path)
    assert [line[:-1] for line in out.splitlines() if line.endswith(".zst:")] == expected
    assert newest in error and len(error.splitlines()) == 1
    edges = [json.loads(line) for line in tool("edges", "--json", tmp_path)[0].splitlines()]
    assert {edge["file"] for edge in edges} == set(expected)
    summary = [json.loads(line) for line in tool("edges", "--json", "--summary", tmp_path)[0].splitlines()]
    assert [one["file"] for one in summary] == [*expected, None]  # the last one is the sum
    alone = json.loads(tool("edges", "--json", expected[0])[0].splitlines()[0])
    assert "file" not in alone


def test_recover_takes_all_runs(tmp_path):
    restarted(tmp_path, 2)
    paths = sorted((tmp_path / "out").rglob("*.json.zst"))
    for path in paths:
        path.rename(str(path) + ".part")
    tool("recover", tmp_path / "out")
    assert sorted((tmp_path / "out").rglob("*.json.zst")) == paths


def test_a_folder_without_traces(tmp_path):
    assert "no trace in" in checked(tmp_path, status=2)[1]
