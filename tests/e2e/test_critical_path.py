"""Tests `syncline critical-path` on made traces with exact numbers, against HolisticTraceAnalysis, on real traces and
on bad input."""
import gzip
import json
import random
import re
import subprocess

import pytest

import harness
from edges_tool import launch, row, stream_sync, write
from real_traces import REAL, TRACES, real
from test_report import BAD, breaches, cpu_op, step
from test_tool import TOOL, check, one_line, run

NSYS = sorted((TRACES / "nsys").glob("*.sqlite"))


def path(*arguments, status=0):
    found = json.loads(run("critical-path", "--json", *arguments, status=status)[0])
    assert found["total_ns"] == sum(found["parts"].values())
    if found["weights"] == "syncline":
        assert found["total_ns"] == max(found["chosen"]["end_ns"], found["last_gpu_ns"] or 0) - found["chosen"]["begin_ns"]
    return found


def parts(found: dict) -> dict:
    """Returns the parts of the path that have time, in us."""
    return {name.removesuffix("_ns"): ns / 1000 for name, ns in found["parts"].items() if ns}


def causes(found: dict) -> list:
    return [(piece["cause"], piece["name"], piece["time_ns"] / 1000) for piece in found["path"]]


def one_step():
    """An operator launches k1 and k2, which waits for k1, and then the CPU waits for k2."""
    return [step(7, 0, 1000), cpu_op("aten::mm", 90, 50), *launch(1, 100, 110, 200), *launch(2, 120, 203, 300),
            *stream_sync(3, 150, 158)]


def test_each_moment_of_the_path_has_its_cause(tmp_path):
    found = path(write(tmp_path / "t.json", one_step()))
    assert breaches(found, json.loads((harness.REPO / "docs" / "critical-path.schema.json").read_text())) == []
    assert (found["chosen"]["what"], found["chosen"]["number"], found["total_ns"]) == ("step", 7, 1000000)
    assert causes(found) == [("cpu", "aten::mm", 100), ("launch", "k1", 10), ("gpu", "k2", 190),
                             ("sync", "cudaStreamSynchronize", 8), ("cpu", None, 692)]
    assert parts(found) == {"operator": 10, "outside": 90 + 692, "launch": 10, "kernel": 187, "queue": 3, "sync": 8}
    assert found["path"][2]["stream"] == 7 and found["path"][2]["pieces"] == 3
    assert found["names"][0] == {"kind": "kernel", "time_ns": 97000, "pieces": 1, "name": "k2"}


@pytest.mark.parametrize("scales, total", [
    (["k2=0.5"], 1000 - 48.5), (["k2=2"], 1000 + 97), (["k*=1"], 1000), (["nothing=0"], 1000),
    # k2 alone is short: the path goes over the call of 2 us and the fastest launch, which took 10 us
    (["k1=0"], 1000 - 90 + 0), (["k1=0.5", "k2=0.5"], 1000 - 45 - 48.5),
    (["aten::mm=0"], 1000 - 10), (["aten::mm=2"], 1000 + 10)])
def test_what_would_be(tmp_path, scales, total):
    found = path(write(tmp_path / "t.json", one_step()), *(f"--scale={scale}" for scale in scales))
    assert found["total_ns"] == 1000000
    if scales == ["k1=0"]:  # k1, its launch and the delay of the launch are gone; k2 begins after its own launch
        total = 1000 - (300 - 203 + 203) + (120 - 2 + 10 + 97)
    assert found["scaled"]["total_ns"] == total * 1000
    assert sum(found["scaled"]["parts"].values()) == found["scaled"]["total_ns"]


def test_a_stream_that_waits_for_another(tmp_path):
    wait = [row("cuda_runtime", "cudaEventRecord", 2, 30, 1, 42, cbid=135),
            row("cuda_runtime", "cudaStreamWaitEvent", 3, 35, 1, 42, cbid=147),
            row("cuda_sync", "Stream Wait Event", 3, 35, 1, 8, device=0, context=1, stream=8,
                wait_on_stream=7, wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=1)]
    found = path("--all", write(tmp_path / "t.json", [*launch(1, 10, 20, 100), *wait, *launch(4, 40, 104, 150, 8)]))
    assert causes(found) == [("launch", "k1", 10), ("gpu", "k1", 80), ("sync", "k4", 4), ("gpu", "k4", 46)]


def test_work_of_an_earlier_step_and_a_gpu_that_is_behind(tmp_path):
    rows = [step(1, 0, 100), *launch(1, 10, 20, 300), step(2, 100, 100), *launch(2, 110, 305, 400)]
    found = path("--step", "2", write(tmp_path / "t.json", rows))
    assert causes(found) == [("earlier", None, 200), ("gpu", "k2", 100)]
    assert parts(found) == {"earlier": 200, "queue": 5, "kernel": 95}
    assert "GPU ends 200 us after the CPU" in run("critical-path", "--step", "2", tmp_path / "t.json")[0]


def test_nodes_of_a_graph(tmp_path):
    """Two branches of a replay on two streams: the path goes over the longer one."""
    def node(stream, start, end, name):
        return {**row("kernel", name, 1, start, end - start, stream, device=0, context=1, stream=stream),
                "args": {"correlation": 1, "device": 0, "context": 1, "stream": stream, "graph id": 5,
                         "graph node id": 5000 + start}}
    rows = [row("cuda_runtime", "cudaGraphLaunch", 1, 0, 9, 42, cbid=311), node(7, 20, 30, "first"),
            node(7, 31, 40, "short"), node(8, 31, 90, "long"), node(7, 92, 99, "last")]
    found = path("--all", write(tmp_path / "t.json", rows))
    assert [(piece["name"], piece["time_ns"] / 1000) for piece in found["path"]] == [
        ("first", 20), ("first", 10), ("long", 60), ("last", 9)]


def test_a_backward_pass_on_a_thread_of_its_own(tmp_path):
    rows = [step(1, 0, 100), cpu_op("forward", 0, 40), cpu_op("backward", 45, 30, thread=50), cpu_op("optimizer", 80, 20)]
    found = path(write(tmp_path / "t.json", rows), status=1)
    assert [(name["name"], name["time_ns"] / 1000) for name in found["names"]] == [
        ("forward", 40), ("backward", 30), ("optimizer", 20)]
    assert parts(found) == {"operator": 90, "outside": 10}


def test_the_chosen_time(tmp_path):
    rows = [each for i, length in enumerate([90, 20, 50, 30, 95])
            for each in (step(10 + i, 100 * i, length), *launch(1 + i, 100 * i + 2, 100 * i + 5, 100 * i + 9))]
    rows += [{**step(0, 100 * i + 1, 10 + i), "name": f"my range {i}"} for i in range(3)]
    trace = write(tmp_path / "t.json", rows)
    assert path(trace)["chosen"] == {"what": "step", "number": 13, "name": None, "is_median": True, "candidates": 3,
                                     "begin_ns": 300000, "end_ns": 330000}
    assert "step 13 (median length of 3 full steps" in re.sub(", rank.*? ", " ", run("critical-path", trace)[0])
    assert path("--step=14", trace)["chosen"]["begin_ns"] == 400000
    assert path("--range=my range 2", trace)["chosen"]["end_ns"] == 213000
    middle = path("--range=my*", trace)["chosen"]
    assert (middle["name"], middle["number"], middle["candidates"]) == ("my range 1", 1, 3)
    assert path("--all", trace)["chosen"]["what"] == "all"
    for wrong, words in ((["--step=9"], "has no step 9: it has 10 to 14"), (["--step=x"], "give a number"),
                         (["--range=my"], "* stands for any text"), (["--step=10", "--all"], "give one of"),
                         (["--scale=k"], "NAME=FACTOR"), (["--scale=k=-1"], "NAME=FACTOR"),
                         (["--scale=k=nan"], "NAME=FACTOR"), (["--hta", "--scale=k=1"], "leave out --hta"),
                         (["--memory=x"], "such as 500M"), (["--rank=3"], "rank 3")):
        assert words in one_line(run("critical-path", *wrong, trace, status=2)[1]), wrong


# ---- HTA ----

def of_hta(jobs: list) -> list:
    """Returns length and parts of HTA's path of each (trace, annotation, instance). HTA is started once."""
    made = subprocess.run([harness.REPO / "tests" / "venv.sh", "hta"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([made.stdout.strip(), harness.REPO / "tests" / "e2e" / "hta_critical_path.py"],
                          input=json.dumps([[str(trace), *more] for trace, *more in jobs]), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [(found["total_ns"], found["parts"]) for found in json.loads(done.stdout)]


def ours(*arguments) -> tuple:
    found = path("--hta", *arguments)
    p = found["parts"]
    named = {"cpu_bound": p["operator_ns"] + p["call_ns"] + p["wait_ns"], "gpu_compute_bound": p["kernel_ns"] + p["copy_ns"],
             "gpu_communication_bound": p["communication_ns"], "gpu_kernel_kernel_overhead": p["queue_ns"],
             "gpu_kernel_launch_overhead": p["launch_ns"]}
    return found["total_ns"], {name: ns for name, ns in named.items() if ns}


def in_whole_us(source, target, factor=1):
    """HTA rounds times to whole microseconds, each in its own way, so the test rounds them before."""
    with gzip.open(source) as file:
        trace = json.load(file)
    slices = [r for r in trace["traceEvents"] if r.get("ph") == "X"]
    origin = min(r["ts"] for r in slices) if factor > 1 else 0
    for r in slices:
        start = round((r["ts"] - origin) * 1000) * factor // 1000
        r["dur"] = round((r["ts"] + r["dur"] - origin) * 1000) * factor // 1000 - start
        r["ts"] = start
    with gzip.open(target, "wt", compresslevel=1) as file:
        json.dump(trace, file)
    return target


FORWARD = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"


def own_recording(folder):
    """One stream: of waits between streams, HTA misses most. It knows calls of the runtime alone. Nanoseconds are
    taken as microseconds, because HTA's order of what begins in the same microsecond differs between processors."""
    job = harness.scenario(folder, "context stream kernel:20 copy memset sync kernel:10 copy sync kernel:5 sync "
                           "kernel:9 syncall memset syncall", compression="gzip", RANK="0")
    assert job.status == 0, job.stderr
    trace = in_whole_us(job.trace().path, folder / "own.json.gz", 1000)
    with gzip.open(trace, "rt") as file:
        text = file.read()
    with gzip.open(trace, "wt") as file:
        file.write(text.replace("cuStreamSynchronize", "cudaStreamSynchronize")
                   .replace("cuCtxSynchronize", "cudaDeviceSynchronize"))
    return trace


def compare(jobs: list) -> None:
    """Each job is (trace, HTA's annotation and instance, our options)."""
    for (trace, _, _, options), theirs in zip(jobs, of_hta([job[:3] for job in jobs])):
        assert ours(*options, trace) == theirs, trace


def test_length_and_parts_equal_htas(tmp_path):
    jobs = [(own_recording(tmp_path), "", 0, ["--all"])]
    for trace in sorted((harness.REPO / "tests" / "e2e" / "profiler_traces").glob("*.gz")):
        jobs.append((in_whole_us(trace, tmp_path / trace.name), "", 0, ["--all"]))
    compare(jobs)
    found = ours("--all", jobs[0][0])
    assert found[1]["gpu_compute_bound"] and found[1]["gpu_kernel_launch_overhead"]


@real
def test_length_and_parts_of_real_traces_equal_htas(tmp_path):
    compare([(TRACES / "cuda_event_sync.json.gz", "ProfilerStep", 0, []),
             (TRACES / "simple_add.json.gz", FORWARD, 1, [f"--range={FORWARD}"])])


@real
@pytest.mark.full(seconds=12)
def test_length_and_parts_of_large_traces_equal_htas(tmp_path):
    compare([(in_whole_us(TRACES / "nccl_3steps.json.gz", tmp_path / "t.json.gz"), "ProfilerStep", 1, ["--step=5"]),
             (TRACES / "two_ranks.rank-0.json.gz", "ProfilerStep", 0, ["--step=551"])])


# ---- files ----

def test_the_path_of_every_real_trace_is_as_long_as_its_time(tmp_path):
    for trace in [*REAL, *NSYS, *sorted((harness.REPO / "tests" / "e2e" / "profiler_traces").glob("*.gz"))]:
        for choice in ([], ["--all"]):
            found = path(*choice, trace)
            assert path(*choice, "--scale=*=1", trace)["scaled"]["total_ns"] == found["total_ns"]
            assert path(*choice, "--scale=*=0", trace)["scaled"]["total_ns"] <= found["total_ns"]


def test_a_recording_of_ours_that_is_read_twice(tmp_path):
    """Another program may put the header behind the events."""
    job = harness.scenario(tmp_path, "context stream push:range kernel:20 sync pop push:range kernel:9 sync pop",
                           compression="none")
    assert job.status == 0, job.stderr
    trace = json.loads(job.trace().path.read_text())
    events = trace.pop("traceEvents")
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events, **trace}))
    found, other = path("--range=range", job.trace().path), path("--range=range", tmp_path / "t.json")
    assert found["chosen"]["candidates"] == 2
    del found["input"], other["input"]
    assert found == other


@pytest.mark.skipif(not NSYS, reason="no recordings of nsys: set SL_TEST_TRACES")
def test_nsys_and_kineto_of_the_same_rows_have_one_path(tmp_path):
    for trace in NSYS:
        run("convert", "--to", "kineto", "-o", tmp_path / f"{trace.stem}.json", trace)
        found, other = path("--all", trace), path("--all", tmp_path / f"{trace.stem}.json")
        del found["input"], other["input"]
        assert found == other


def test_random_times_never_break_the_path(tmp_path):
    """Rows of a thread that are not nested, calls and operations at equal times or in the wrong order."""
    for seed in range(60):
        choice = random.Random(seed)
        rows = []
        for n in range(1, 40):
            at = choice.randint(5, 300)
            kind = choice.random()
            thread = choice.choice([42, 43])
            if kind < 0.5:
                start = at + choice.randint(-5, 30)
                rows += launch(n, at, start, start + choice.randint(0, 20), choice.choice([7, 8]), thread)
            elif kind < 0.7:
                rows += stream_sync(n, at, choice.randint(1, 60), thread=thread)
            else:
                rows.append(cpu_op(f"op{n}", at, choice.randint(0, 90), thread))
        write(tmp_path / "t.json", rows)
        for how in ([], ["--hta"]):
            done = subprocess.run([TOOL, "critical-path", "--json", "--all", *how, tmp_path / "t.json"],
                                  capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            found = json.loads(done.stdout)
            assert found["total_ns"] == sum(found["parts"].values()) == sum(p["time_ns"] for p in found["path"])
            if not how and "do not fit" not in done.stderr:
                assert found["total_ns"] == max(found["chosen"]["end_ns"], found["last_gpu_ns"]) - \
                    found["chosen"]["begin_ns"]


@pytest.mark.parametrize("kind", BAD)
def test_bad_input(tmp_path, kind):
    trace = tmp_path / "t.json"
    trace.write_text(BAD[kind])
    done = subprocess.run([TOOL, "critical-path", "--json", trace], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done
    if done.returncode == 2:
        one_line(done.stderr.splitlines(keepends=True)[-1])
    else:
        json.loads(done.stdout, parse_constant=lambda word: pytest.fail(word))


def test_what_the_screen_shows(tmp_path):
    evil = "k<\x1b[31m\"</script>\u202e" + "int, " * 60
    rows = one_step()
    for r in rows:
        r["name"] = r["name"].replace("k2", evil)
    trace = write(tmp_path / "t.json", rows)
    out, _ = run("critical-path", "--scale", "k1=0.5", trace)
    assert "\x1b" not in out and "\u202e" not in out and max(map(len, out.splitlines())) <= 100
    assert "With --scale: 955.000 us instead of 1.000 ms (-45.0 us, -4.5 %)" in out
    run("critical-path", "--overlay", tmp_path / "o.json", trace)
    assert evil in [r["name"] for r in json.loads((tmp_path / "o.json").read_text())["traceEvents"]]


def test_overlay(tmp_path):
    trace = write(tmp_path / "t.json", one_step())
    run("critical-path", "--overlay", tmp_path / "o.json.gz", trace)
    with gzip.open(tmp_path / "o.json.gz") as file:
        rows = json.load(file)["traceEvents"]
    first = len(one_step())
    assert rows[:first] == json.loads(trace.read_text())["traceEvents"]
    assert rows[first]["args"] == {"name": "critical path"}
    slices = [(r["name"], r["args"]["part"], r["ts"], r["dur"]) for r in rows[first:] if r["ph"] == "X"]
    assert slices[2:7] == [("launch delay: k1", "launch", 100, 10), ("k1", "kernel", 110, 90),
                           ("queue gaps: k2", "queue", 200, 3), ("k2", "kernel", 203, 97),
                           ("cudaStreamSynchronize", "sync", 300, 8)]
    assert all(a[2] + a[3] == b[2] for a, b in zip(slices, slices[1:]))  # the row has no holes
    check(tmp_path / "o.json.gz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.json.gz", "t.json"]
    assert "is an input" in one_line(run("critical-path", "--overlay", trace, trace, status=2)[1])
    assert "there is no folder" in one_line(run("critical-path", "--overlay", tmp_path / "no" / "x", trace, status=2)[1])
    assert not (tmp_path / "no").exists()
    assert "o.json.gz/x" in one_line(run("critical-path", "--overlay", tmp_path / "o.json.gz" / "x", trace, status=2)[1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.json.gz", "t.json"]


def test_a_folder_of_two_ranks(tmp_path):
    for rank in (0, 1):
        (tmp_path / f"r{rank}.pt.trace.json").write_text(json.dumps({
            "schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": one_step()}))
    out, error = run("critical-path", "--json", tmp_path)
    assert json.loads(out)["input"]["rank"] == 0 and "of 2 traces" in one_line(error)
    assert path("--rank=1", tmp_path)["input"]["rank"] == 1


def test_the_commands_of_the_docs(tmp_path):
    """Runs the commands of docs/critical-path.md as a user does."""
    text = (harness.REPO / "docs" / "critical-path.md").read_text()
    rows = one_step()
    for r in rows:
        r["name"] = r["name"].replace("k2", "my_gemm_kernel")
    with gzip.open(tmp_path / "trace.json.gz", "wt") as file:
        json.dump({"schemaVersion": 1, "traceEvents": rows}, file)
    commands = re.findall(r"^ +syncline (critical-path .*)$", text, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        done = subprocess.run(["bash", "-c", f"{TOOL} {command}"], cwd=tmp_path, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, (command, done.stderr)
    shown = re.search(r"With --scale: .*", text)[0]
    assert shown in run("critical-path", "--scale", "*gemm*=0.5", tmp_path / "trace.json.gz")[0]
