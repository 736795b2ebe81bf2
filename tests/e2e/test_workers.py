"""Tests worker processes of pools. Such processes run for long, are started in various ways, and
may run the job's code on threads while their main thread waits."""
import subprocess
import sys

import harness
import pytest

RUN = [str(harness.TOOL), "run"]
# How often a worker makes a GPU operation and waits for it.
TASKS = 5
WORK = f"""\
import ctypes
def work(n):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
    for _ in range({TASKS}):
        assert cuda.cuMemsetD8_v2(memory, n, ctypes.c_size_t(4096)) == 0
        assert cuda.cuCtxSynchronize() == 0
    return n * n
"""
# A worker like Ray's. It renames itself: setproctitle moves the environment, and overwrites the
# memory where arguments and environment were. It runs the job's code on a thread. Its main thread
# waits in C code until the end.
WORKER = WORK + """\
import os, signal, sys, threading, time
def rename(title):
    for name, value in list(os.environ.items()):
        del os.environ[name]
        os.environ[name] = value
    fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
    begin, end = int(fields[45]), int(fields[48])
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, title, len(title))
def serve(n):
    print("result", work(n), open("/proc/self/cmdline").read().strip("\\0"), flush=True)
    while True:  # the main thread may not be in its wait yet
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
number = int(sys.argv[1])
rename(b"ray::worker")
threading.Thread(target=serve, args=(number,), daemon=True).start()
while True:
    ctypes.CDLL(None).pause()
"""
# A parent process that is not Python and gives its workers an environment of its own.
PARENT = """\
kept=$(env | grep -E "^(LD_LIBRARY_PATH|LD_PRELOAD|SIMGPU_|$KEPT)")
for number in 2 3; do
    env -i $kept WORKER=$number "$@" $number &
    workers="$workers $!"
done
for worker in $workers; do wait $worker; echo "status $?"; done
"""


def start(tmp, name, *command, **options):
    folder = tmp / name
    folder.mkdir()
    files = ["--truth", str(folder / "truth-%p.jsonl"), "--log", str(folder / "log-%p.jsonl")]
    return harness.run(folder, *command, sim=files, **options)


def check_traces(run: harness.Run, processes: int) -> None:
    """Checks that each process that used the GPU left a complete file with its GPU work."""
    traces = run.traces()
    assert len(traces) == processes and not run.files("*.part"), (run.files("*"), run.stderr)
    for trace in traces:
        assert len(trace.of("gpu_memset")) == TASKS
        assert sum(row["name"] == "cuCtxSynchronize" for row in trace.of("cuda_driver")) == TASKS
        assert subprocess.run([harness.TOOL, "check", trace.path], capture_output=True,
                              check=False).returncode == 0


@pytest.mark.parametrize("prefix", [[], RUN], ids=["variable", "run"])
@pytest.mark.parametrize("kept", ["SYNCLINE_|CUDA_INJECTION", "SYNCLINE_"])
def test_workers_of_a_pool_like_rays(tmp_path, prefix, kept):
    """Workers like Ray's are recorded if CUDA_INJECTION64_PATH is passed on to them, even if all
    other variables are lost. Without that variable, the worker is not recorded."""
    command = ["sh", "-c", PARENT, "parent", sys.executable, "-c", WORKER]
    bare = start(tmp_path, "bare", *command, inject=False, KEPT=kept)
    run = start(tmp_path, "run", *prefix, *command, inject=not prefix, KEPT=kept, log="warn")
    wanted = ["result 4 ray::worker", "result 9 ray::worker", "status 3", "status 3"]
    assert sorted(bare.stdout.splitlines()) == wanted, bare.stderr
    assert sorted(run.stdout.splitlines()) == wanted and run.stderr == bare.stderr
    check_traces(run, 2 if "CUDA" in kept else 0)


@pytest.mark.parametrize("prefix", [[], RUN], ids=["variable", "run"])
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing(tmp_path, prefix, method):
    """Child processes that use the GPU are recorded. The parent and the helper processes are not."""
    (tmp_path / "tasks.py").write_text(WORK)
    script = tmp_path / "job.py"
    script.write_text("import multiprocessing as mp\nfrom tasks import work\n"
                      "if __name__ == '__main__':\n"
                      f"    context = mp.get_context({method!r})\n"
                      "    with context.Pool(2, maxtasksperchild=1) as pool:\n"
                      "        print(pool.map(work, (2, 3, 4), chunksize=1))\n"
                      "        pool.close()\n"
                      "        pool.join()\n")
    bare = start(tmp_path, "bare", sys.executable, script, inject=False)
    run = start(tmp_path, "run", *prefix, sys.executable, script, inject=not prefix, log="warn")
    assert (bare.status, bare.stdout, bare.stderr) == (0, "[4, 9, 16]\n", "")
    assert (run.status, run.stdout, run.stderr) == (0, "[4, 9, 16]\n", "")
    check_traces(run, 3)


def test_workers_that_their_pool_terminates(tmp_path):
    """A pool terminates its workers by a signal, as at the end of `with Pool() as pool`. `convert`
    can complete the workers' files."""
    (tmp_path / "tasks.py").write_text(WORK + """\
import pathlib, sys, time
RESULT = pathlib.Path(__file__).with_name("result")
def work_and_wait(n):
    result = work(n)
    def has_written():
        package = sys.modules.get("syncline")
        return package and package.status()["events_written"] >= 2 * TASKS
    until = time.monotonic() + 60
    while not has_written() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)  # a frame is on the disk a second later
    RESULT.write_text(str(result))
    time.sleep(60)  # a worker without a task may see the pool's last word, and end by itself
""".replace("TASKS", str(TASKS)))
    script = tmp_path / "job.py"
    script.write_text("import multiprocessing as mp, time\nfrom tasks import RESULT, work_and_wait\n"
                      "if __name__ == '__main__':\n"
                      "    with mp.get_context('spawn').Pool(2) as pool:\n"
                      "        pool.apply_async(work_and_wait, (2,))\n"
                      "        while not (RESULT.exists() and RESULT.read_text()):\n"
                      "            time.sleep(0.05)\n"
                      "    print(RESULT.read_text())\n")
    run = start(tmp_path, "run", sys.executable, script, log="warn")
    assert (run.status, run.stdout, run.stderr) == (0, "4\n", "")
    (part,) = run.files("*.pt.trace.json*.part")
    whole = tmp_path / "whole.json"
    done = subprocess.run([harness.TOOL, "convert", part, "--to", "kineto", "-o", whole],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr, "that it was cut is said"
    assert len(harness.Trace(whole).of("gpu_memset")) == TASKS
