"""Tests `syncline report --hta` against HolisticTraceAnalysis (pinned), column by column: integers are equal, and
other numbers to 1e-9."""
import collections
import json
import random
import shutil
import subprocess

import harness
import pytest

from edges_tool import launch, write
from real_traces import TRACES, real
from test_report import breaches, report, step, table
from test_tool import one_line, run

# Limits at which the traces have rows.
SETTINGS = {"time_spent_blocked_on_full_queue.max_queue_length": 4,
            "frequent_cuda_kernel_sequences.operator_name": "aten::"}
# No setting has its default.
OTHERS = {"idle_time_breakdown.consecutive_kernel_delay": 5, "idle_time_breakdown.streams": [7, 23],
          "gpu_kernel_breakdown_kernels.num_kernels": 4, "gpu_kernel_breakdown_kernels.duration_ratio": 0.6,
          "gpu_kernel_breakdown_kernels.include_memory_kernels": False,
          "gpu_user_annotation_breakdown.use_gpu_annotation": False, "gpu_user_annotation_breakdown.num_kernels": 2,
          "gpu_user_annotation_breakdown.duration_ratio": 0.9,
          "time_spent_blocked_on_full_queue.max_queue_length": 2,
          "cuda_kernel_launch_stats.include_memory_events": False, "potential_stragglers.num_candidates": 1,
          "profiler_steps.include_last_profiler_step": True,
          "frequent_cuda_kernel_sequences.operator_name": "aten::addmm",
          "frequent_cuda_kernel_sequences.min_pattern_len": 1}
REAL = {
    "event_sync": (["cuda_event_sync.json.gz"], SETTINGS),
    "simple_add": (["simple_add.json.gz"], SETTINGS),
    "nccl_3steps": (["nccl_3steps.json.gz"], SETTINGS),
    "two_ranks": (["two_ranks.rank-0.json.gz", "two_ranks.rank-1.json.gz"],
                  {**SETTINGS, "frequent_cuda_kernel_sequences.operator_name": "autograd::engine"}),
    "two_ranks_set": (["two_ranks.rank-0.json.gz", "two_ranks.rank-1.json.gz"], OTHERS),
}
OWN = ["recorded", "recorded_training"]
RANDOM = [f"random_{seed}" for seed in range(4)]


def run_hta(folder, jobs: dict) -> dict:
    """Returns HTA's tables of each job, which is a list of files and a map of settings."""
    made = subprocess.run([harness.REPO / "tests" / "venv.sh", "hta"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    request, result = folder / "request.json", folder / "result.json"
    request.write_text(json.dumps([{"files": dict(enumerate(map(str, files))), "settings": settings}
                                   for files, settings in jobs.values()]))
    done = subprocess.run([made.stdout.strip(), harness.REPO / "tests" / "e2e" / "hta_tables.py", request, result],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(jobs, json.loads(result.read_text())))


def text_of(value) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(int(value) if value is True or value is False
                                                                         else value)


def ours(files: list, settings: dict) -> dict:
    return report("--hta", *(f"--set={name}={text_of(value)}" for name, value in settings.items()), *files)["metrics"]


def differences(name: str, expected: dict, found: dict) -> list[str]:
    """Returns the first differences of two tables. A table of ours may have fewer columns."""
    columns = [column["name"] for column in found["columns"]]
    wrong = []
    if expected["rows"] and set(columns) - set(expected["columns"]):
        return [f"{name}: columns {columns}, HTA {expected['columns']}"]
    if len(found["rows"]) != len(expected["rows"]):
        return [f"{name}: {len(found['rows'])} rows, HTA {len(expected['rows'])}"]
    for number, (mine, theirs) in enumerate(zip(found["rows"], expected["rows"])):
        theirs = dict(zip(expected["columns"], theirs))
        for column, value in zip(columns, mine):
            other = theirs[column] if theirs[column] != "" else None
            if isinstance(value, float) or isinstance(other, float):
                same = value == pytest.approx(other, rel=1e-9, abs=1e-9) if None not in (value, other) else \
                    value == other
            else:
                same = value == other
            if not same:
                wrong.append(f"{name} row {number} {column}: {value!r}, HTA {other!r}")
    return wrong[:5]


class RandomTrace:
    """A trace of one rank with what HTA treats in its own way: rows at the same time, operations shorter than 1 us,
    calls that share a correlation id, graphs, operations without a launch, synchronization with a stream."""

    LAUNCHES = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync",
                "cudaMemsetAsync"]
    KERNELS = ["void gemm<float, 4>(int, long)", "add_kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
               "void SyncBatchNorm<c10::Half>(int)", "hipMemcpyKernel", "foo_dma_bar", "op->kernel(void)"]
    COPIES = ["Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)", "Memcpy DtoD (Device -> Device)"]

    def __init__(self, seed, whole_us, odd):
        self.random = random.Random(seed)
        self.whole, self.odd = whole_us, odd
        self.rows, self.correlation, self.free = [], 1, {}

    def us(self, least, most):
        """Returns a time. Times are multiples of 1 us or 1/8 us, so that many are equal."""
        ticks = self.random.randint(int(least * 8), int(most * 8))
        return ticks // 8 if self.whole else ticks / 8

    def add(self, cat, name, ts, dur, pid, tid, **args):
        self.rows.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                          "args": args})

    def work(self, correlation, after, name=None):
        stream = 20 if name else self.random.choice([7, 7, 7, 20])
        start = max(self.free.get(stream, 0), after + self.us(0, 12))
        dur = self.us(20, 60) if name else self.us(1 if self.whole else 0.125, 30)
        self.free[stream] = start + dur + self.random.choice([0, 0, 1, 40])
        kind = self.random.random()
        if name or kind < 0.7:
            cat, name, args = "kernel", name or self.random.choice(self.KERNELS), {}
        elif kind < 0.9:
            cat, name = "gpu_memcpy", self.random.choice(self.COPIES)
            args = {"bytes": 4096, "memory bandwidth (GB/s)": self.random.choice([0.125, 1.1, 7.3, 11.09515])}
        else:
            cat, name, args = "gpu_memset", "Memset (Device)", {"bytes": 64, "memory bandwidth (GB/s)": 2.7}
        self.add(cat, name, start, dur, 0, stream, device=0, context=1, stream=stream, correlation=correlation, **args)
        return start, start + dur, stream

    def call(self, name, ts, dur, thread, category="cuda_runtime", correlation=None):
        if correlation is None:
            self.correlation += 1
        self.add(category, name, ts, dur, 100, thread, cbid=211, correlation=correlation or self.correlation)
        return correlation or self.correlation

    def launch(self, ts, thread):
        """Adds a call with its operations, and returns the end of the call."""
        dur, kind = self.us(1, 6), self.random.random()
        name = self.random.choice(self.LAUNCHES if kind < 0.85 else ["cudaGraphLaunch", "cudaLaunchKernel"])
        correlation = self.call(name, ts, dur, thread)
        if self.odd and kind > 0.9:
            self.call("cudaFuncGetAttributes", ts + dur, 0, thread, "cuda_driver", correlation)
        for _ in range(3 if name == "cudaGraphLaunch" else 1):
            self.work(correlation, ts)
        if kind < 0.1:
            end = ts + dur + self.us(0, 20)
            correlation = self.call("cudaStreamSynchronize", ts + dur, end - ts - dur, thread)
            self.add("cuda_sync", self.random.choice(["Stream Sync", "Stream Wait Event"]), ts + dur, end - ts - dur, 0, 7,
                     stream=7, correlation=correlation)
            return end
        return ts + dur

    def operator(self, ts, thread, depth=0):
        """Adds an operator with operators and launches inside, and returns its end."""
        at, place = ts + self.us(0, 3), len(self.rows)
        for _ in range(self.random.randint(1, 3)):
            inner = depth < 2 and self.random.random() < 0.5
            at = self.operator(at, thread, depth + 1) if inner else self.launch(at, thread)
            at += self.random.choice([0, 0, 1])
        end = at + self.us(0, 2)
        name = self.random.choice(["aten::mm", "aten::addmm", "autograd::engine::run", "MyOp"])
        self.rows.insert(place, {"ph": "X", "cat": "cpu_op", "name": name, "pid": 100, "tid": thread, "ts": ts,
                                 "dur": end - ts, "args": {"External id": place}})
        return end

    def write(self, path, rank, steps, base):
        ts = base
        for number in range(5, 5 + steps):
            begin, first = ts, len(self.rows)
            for _ in range(5):
                ts = self.operator(ts, 100 if self.random.random() < 0.8 else 101) + self.us(0, 40)
            for _ in range(2):
                self.work(self.call("cudaLaunchKernelExC", ts, 2, 100), ts, self.KERNELS[2])
                ts += 3
            if self.odd:
                self.work(self.correlation, ts, self.KERNELS[2])  # two operations of one call
            self.add("user_annotation", f"ProfilerStep#{number}", begin, ts - begin, 100, 100)
            gpu = [r for r in self.rows[first:] if "stream" in r["args"] and r["cat"] != "cuda_sync"]
            for name, part in (("ranges (outer)", gpu), ("inner", gpu[::5]), ("inner", gpu[1::7])):
                lane = [r for r in part if r["tid"] == 7]
                if lane:
                    start = min(r["ts"] for r in lane)
                    self.add("gpu_user_annotation", name, start, max(r["ts"] + r["dur"] for r in lane) - start, 0, 7)
            ts += self.us(1, 30)
        if self.random.random() < 0.5:
            self.work(10**6, ts - 200)  # the launch is not in the file
        path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank,
                                                                            "world_size": 2},
                                    "traceEvents": self.rows}))
        return path


def random_jobs(folder, seeds) -> dict:
    jobs = {}
    for seed in seeds:
        choice = random.Random(seed)
        ranks, steps, base = choice.randint(1, 3), choice.choice([1, 2, 4]), choice.choice([1, 10**15])
        paths = [RandomTrace(seed * 10 + rank, seed % 3 < 2, seed % 4 == 3).write(
            folder / f"{seed}-{rank}.json", rank, steps, base + rank) for rank in range(ranks)]
        jobs[f"random_{seed}"] = (paths, {**SETTINGS, "frequent_cuda_kernel_sequences.operator_name":
                                          choice.choice(["aten::", "mm", "MyOp"])})
    return jobs


def recorded(folder, run_: harness.Run) -> tuple:
    assert run_.status == 0, run_.stderr
    folder.mkdir()
    shutil.copy(run_.trace().path, folder / "rank0.json.gz")
    return [folder / "rank0.json.gz"], SETTINGS


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> dict:
    """The files and settings of each job, and HTA's tables of it. HTA is started once."""
    folder = tmp_path_factory.mktemp("hta")
    every = random_jobs(folder, range(len(RANDOM)))
    every["recorded"] = recorded(folder / "a", harness.scenario(
        tmp_path_factory.mktemp("scenario"), "context stream step kernel:20 copy memset event step kernel:10 "
        "graph:3 blocking copy sync step kernel:5 push:range kernel:9 pop step memset syncall", compression="gzip", RANK="0"))
    every["recorded_training"] = recorded(folder / "b", harness.run(
        tmp_path_factory.mktemp("training"), harness.BUILD / "samples" / "train_like", "--steps", "10",
        compression="gzip", RANK="0"))
    if (TRACES / "nccl_3steps.json.gz").exists():
        every |= {name: ([TRACES / file for file in files], settings) for name, (files, settings) in REAL.items()}
    hta = run_hta(folder, every)
    return {name: (*job, hta[name]) for name, job in every.items()}


def check(files: list, settings: dict, expected: dict) -> None:
    """Compares the tables with which HTA did not fail."""
    found = ours(files, settings)
    assert set(found) == set(expected)
    assert [text for name, theirs in expected.items() if isinstance(theirs, dict)
            for text in differences(name, theirs, found[name])] == []


@pytest.mark.parametrize("job", [*(pytest.param(name, marks=real) for name in REAL), *OWN, *RANDOM])
def test_tables_equal_htas(jobs, job):
    check(*jobs[job])


def test_every_table_was_compared(jobs):
    rows = collections.Counter()
    for _, _, expected in jobs.values():
        rows.update({name: len(theirs["rows"]) for name, theirs in expected.items() if isinstance(theirs, dict)})
    assert [name for name in expected if not rows[name]] == []


@pytest.mark.full(seconds=25)
def test_random_traces(tmp_path):
    every = random_jobs(tmp_path, range(len(RANDOM), 40))
    for name, expected in run_hta(tmp_path, every).items():
        check(*every[name], expected)


def test_where_hta_fails(jobs, tmp_path):
    """HTA's stragglers know only old names of NCCL's kernels. With today's names the ranks are the same. An
    operation that rounding made shorter than nothing has its range."""
    (name, (files, settings, expected)), = [
        each for each in jobs.items() if each[0] in RANDOM and len(each[1][0]) > 1
        and isinstance(each[1][2]["potential_stragglers"], dict)][:1]
    today = [tmp_path / file.name for file in files]
    for file, copy in zip(files, today):
        copy.write_text(file.read_text().replace("ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_AllReduce"))
    assert ours(today, settings)["potential_stragglers"]["rows"] == expected["potential_stragglers"]["rows"], name
    rows = [*launch(1, 5, 10.25, 10.75), *launch(2, 6, 20.5, 30.5)]
    for number, (ts, dur) in enumerate([(9, 30), (10, 15), (20, 15)]):
        rows.append({"ph": "X", "cat": "gpu_user_annotation", "name": f"range {number}", "pid": rows[1]["pid"],
                     "tid": rows[1]["tid"], "ts": ts, "dur": dur, "args": {}})
    found = report("--hta", write(tmp_path / "t.json", rows))
    assert [(row["ts"], row["dur"], row["s_user_annotation"]) for row in
            table(found, "gpu_kernels_with_user_annotations")] == [(6, -1, "range 0"), (16, 9, "range 2")]


def steps_trace(path, first, **header):
    """Three steps with a kernel each, on a rank."""
    rows = [each for n in range(3) for each in (step(first + n, 100 * n, 90), *launch(n + 1, 100 * n + 5, 100 * n + 10,
                                                                                    100 * n + 30))]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows, **header}))
    return path


def test_forms_of_output(tmp_path):
    trace = steps_trace(tmp_path / "t.json", 1)
    found = report("--hta", trace)
    assert breaches(found, json.loads((harness.REPO / "docs" / "report.schema.json").read_text())) == []
    assert table(found, "temporal_breakdown") == [{
        "rank": 0, "idle_time(us)": 80, "compute_time(us)": 40, "non_compute_time(us)": 0, "kernel_time(us)": 120,
        "idle_time_pctg": 66.67, "compute_time_pctg": 33.33, "non_compute_time_pctg": 0}]
    assert found["metrics"]["profiler_steps"]["rows"] == [[1], [2]]
    text = run("report", "--hta", trace)[0]
    assert [name for name in found["metrics"] if f"{name}: " not in text] == []
    only = run("report", "--hta", "--only", "profiler_steps,temporal_breakdown", "--csv", tmp_path / "csv", trace)[0]
    assert only.split("\n\n")[0] == "profiler_steps: the steps that count\nprofiler_step\n            1\n            2"
    assert (tmp_path / "csv" / "profiler_steps.csv").read_text() == "profiler_step\n1\n2\n"
    kept = report("--hta", "--set=profiler_steps.include_last_profiler_step=1", trace)
    assert kept["metrics"]["profiler_steps"]["rows"] == [[1], [2], [3]]


def test_refusals(tmp_path):
    trace = steps_trace(tmp_path / "t.json", 1)
    for option in ("--html=x.html", "--steps=2", "--stream=7", "--augment=x", "--memory=1G"):
        assert option.split("=")[0] in one_line(run("report", "--hta", option, trace, status=2)[1])
    assert "did you mean temporal_breakdown" in one_line(
        run("report", "--hta", "--only", "temporal_breakdwn", trace, status=2)[1])
    assert "no table" in one_line(run("report", "--hta", "--only", "parts", trace, status=2)[1])
    assert "no file is of rank 3" in one_line(run("report", "--hta", "--rank=3", trace, status=2)[1])


def test_files_of_ranks(tmp_path):
    """Of two files of a rank the later one counts, whatever their order, and a line says so."""
    ranks = [steps_trace(tmp_path / f"{name}.json", first, baseTimeNanoseconds=base,
                         distributedInfo={"rank": rank, "world_size": 2})
             for name, rank, first, base in (("a", 1, 10, 500), ("b", 0, 20, 100), ("c", 0, 30, 900))]
    for files in (ranks, ranks[::-1]):
        out, err = run("report", "--hta", "--json", *files)
        assert f"left out: 1 file, such as {ranks[1]}" in one_line(err)
        found = json.loads(out)
        assert [each["rank"] for each in found["inputs"]] == [0, 1]
        assert [row[0] for row in found["metrics"]["temporal_breakdown"]["rows"]] == [0, 1]
        assert found["metrics"]["profiler_steps"]["rows"] == [[10], [11], [30], [31]]
    assert len(report("--hta", "--rank=1", *ranks[::2])["metrics"]["temporal_breakdown"]["rows"]) == 1


def test_ids_that_many_calls_share(tmp_path):
    """HTA pairs each call with each operation of a correlation id. This is left out if the pairs are too many."""
    shared = [each for n in range(100) for each in launch(1, 10 * n, 10 * n + 5, 10 * n + 9)]
    out, err = run("report", "--hta", "--json", write(tmp_path / "t.json", shared + launch(2, 2000, 2010, 2020)), status=1)
    assert "200 events" in one_line(err)
    assert json.loads(out)["metrics"]["cuda_kernel_launch_stats"]["rows"] == [[0, 2, 2, 10, 8]]


def test_bad_input(tmp_path):
    text = steps_trace(tmp_path / "t.json", 1).read_text()
    cut = tmp_path / "cut.json"
    cut.write_text(text[:len(text) // 2])
    out, err = run("report", "--hta", "--json", cut, status=1)
    assert "truncated" in one_line(err) and json.loads(out)["metrics"]["temporal_breakdown"]["rows"]
    assert "no_such" in one_line(run("report", "--hta", tmp_path / "no_such.json", status=2)[1])
    other = tmp_path / "other.json"
    other.write_text("[1, 2]")
    assert "is not a Kineto trace" in one_line(run("report", "--hta", other, status=2)[1])
    name, far = '</script>\\"\n,' + "x" * 70000, 2**62 // 1000
    odd = [*launch(1, 5, 10, 30), *launch(2, far, far, far), *launch(3, 7, 9, 4),
           {"ph": "X", "cat": "kernel", "name": name, "pid": "p", "tid": None, "ts": 1, "dur": 2,
            "args": {"stream": -5, "correlation": -7, "memory bandwidth (GB/s)": "N/A"}},
           {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 50, "dur": 0,
            "args": {"stream": 7, "correlation": 2, "memory bandwidth (GB/s)": "N/A"}}, step(7, 0, -5)]
    for rows in ([], odd[:1], odd, [step(1, 0, 5)]):
        found = report("--hta", "--set=frequent_cuda_kernel_sequences.operator_name=k", write(tmp_path / "odd.json", rows))
        assert "NaN" not in json.dumps(found)
