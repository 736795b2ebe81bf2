"""Tests `syncline report`: the parts of a step and the causes of idle time on traces worked out by hand,
against an independent count on real traces, and on bad input."""
import bisect
import collections
import csv
import decimal
import gzip
import json
import random

import harness
import pytest

from edges_tool import launch, operation, row, stream_sync, write
from real_traces import REAL, TRACES, real
from test_tool import one_line, run

BUSY = ["compute", "transfer", "waiting", "copy"]
IDLE = ["sync", "cpu", "loader", "launch", "queued", "unknown"]


def report(*arguments, status=0):
    return json.loads(run("report", "--json", *arguments, status=status)[0])


def table(found: dict, name: str) -> list[dict]:
    columns = [column["name"] for column in found["metrics"][name]["columns"]]
    return [dict(zip(columns, values)) for values in found["metrics"][name]["rows"]]


def parts_of(row_: dict) -> dict:
    """Returns the parts of a step in us, without those that are 0."""
    return {part: row_[f"{part}_ns"] / 1000 for part in BUSY + IDLE if row_[f"{part}_ns"]}


def step(number, ts, dur, thread=42):
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 42, "tid": thread,
            "ts": ts, "dur": dur}


def cpu_op(name, ts, dur, thread=42):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 42, "tid": thread, "ts": ts, "dur": dur,
            "args": {"External id": 1}}


def nccl(correlation, ts, start, end, **args):
    rows = launch(correlation, ts, start, end, stream=20, **args)
    rows[1]["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    return rows


def two_steps():
    return [
        step(1, 0, 100), step(2, 100, 100),
        *launch(1, 5, 10, 30),
        *launch(2, 20, 40, 50),   # launched before kernel 1 ended: the 10 us are the latency of the launch
        cpu_op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 50, 10),
        cpu_op("aten::late", 70, 10),
        *launch(3, 75, 80, 90),   # 10 us of loading, 15 us of other work, 5 us of launching
        *stream_sync(9, 78, 17),  # until 95
        row("cuda_runtime", "cudaMemcpyAsync", 10, 96, 2, 42, cbid=41),
        operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 99, 109),
        *launch(11, 120, 160, 170),
        *nccl(12, 130, 165, 185),
        *launch(13, 140, 250, 260),
        operation("kernel", "from_before", 99, 300, 310),
    ]


def test_the_parts_of_a_step_and_the_causes_of_idle_time(tmp_path):
    found = report(write(tmp_path / "t.json", two_steps()))
    parts = table(found, "parts")
    assert [(p["step"], p["begin_ns"] / 1000, p["step_ns"] / 1000) for p in parts] == [
        (1, 10, 99), (2, 109, 151), (None, 260, 50)]
    assert parts_of(parts[0]) == {"compute": 40, "copy": 10, "sync": 5, "cpu": 16, "loader": 10, "launch": 18}
    assert (parts[0]["after_sync_ns"], parts[0]["between_ns"]) == (1000, 10000)
    assert parts_of(parts[1]) == {"compute": 20, "transfer": 15, "cpu": 11, "launch": 40, "queued": 65}
    assert parts_of(parts[2]) == {"compute": 10, "unknown": 40}
    assert found["steps"] == [1, 2]
    idle = {(i["cause"], i["place"], i["call"]): i["idle_ns"] / 1000 for i in table(found, "idle")}
    assert idle["sync", "aten::late", "cudaStreamSynchronize"] == 5
    assert idle["cpu", "aten::late", "cudaLaunchKernel"] == 15
    assert idle["loader", "aten::late", "cudaLaunchKernel"] == 10
    (wait,) = table(found, "waits")
    assert (wait["call"], wait["source"], wait["calls"], wait["waited_ns"]) == (
        "cudaStreamSynchronize", "k3", 1, 12000)
    assert [f["part"] for f in found["findings"]] == ["queued", "launch", "cpu", "transfer", "copy", "loader",
                                                      "launch", "sync"]
    assert found["findings"][2]["where"]["op"] == "aten::late"


def test_launches_copies_and_overlap(tmp_path):
    rows = two_steps()
    rows += [row("cuda_runtime", "cudaMemcpyAsync", 30, 131, 60, 42, cbid=41),
             {**operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 30, 168, 172, 21),
              "args": {"correlation": 30, "device": 0, "context": 1, "stream": 21, "bytes": 8000}}]
    found = report("--steps", "2", write(tmp_path / "t.json", rows))
    (overlap,) = table(found, "overlap")
    assert {key: value / 1000 for key, value in overlap.items() if key.endswith("_ns") and value} == {
        "length_ns": 151, "compute_ns": 5 + 10, "compute_communication_ns": 3, "all_ns": 2,
        "communication_ns": 13, "communication_copy_ns": 2, "idle_ns": 116}
    assert overlap["overlap_ratio"] == 5 / 20
    launches = {each["call"]: each for each in table(found, "launch")}
    kernels = launches["cudaLaunchKernel"]  # at 120, 130 and 140, for kernels at 160, 165 and 250
    assert (kernels["launches"], kernels["call_mean_ns"], kernels["delay_mean_ns"], kernels["delay_max_ns"]) == (
        3, 2000, (38 + 33 + 108) * 1000 / 3, 108000)
    assert (kernels["short_kernels"], kernels["slow_calls"], kernels["late_kernels"]) == (0, 0, 1)
    copy = launches["cudaMemcpyAsync"]
    assert (copy["call_max_ns"], copy["delay_max_ns"], copy["short_kernels"], copy["slow_calls"]) == (
        60000, 0, 0, 1)
    assert [(c["copies"], c["sum_bytes"], c["sum_ns"], c["mean_gb_per_s"]) for c in table(found, "copies")] == [
        (1, 8000, 4000, 2.0)]


def test_settings(tmp_path):
    """The limits of `launch` are 50 us and 100 us. The delays of its four kernels are 0, 38, 33 and 108 us."""
    path = write(tmp_path / "t.json", two_steps())

    def late(*arguments):
        (launches,) = [each for each in table(report("--steps", "2", *arguments, path), "launch")]
        return launches["slow_calls"], launches["late_kernels"]

    assert late() == (0, 1)
    assert late("--set", "launch.launch_delay_cutoff=33") == (0, 2)
    assert late("--set=launch.launch_delay_cutoff=500", "--set", "launch.runtime_cutoff=1.5",
                "--set", "launch.launch_delay_cutoff=32.9") == (3, 3)
    for wrong, expected in [
            ("launch", "METRIC.NAME=VALUE"), ("launch.runtime_cutoff", "METRIC.NAME=VALUE"),
            ("lunch.runtime_cutoff=1", "did you mean launch?"),
            ("parts.runtime_cutoff=1", "no table with settings 'parts'"),
            ("launch.runtime_cutof=1", "did you mean runtime_cutoff?: launch has runtime_cutoff, launch_delay_cutoff"),
            *((f"launch.runtime_cutoff={value}", "give a number from 0 to 1000000000, in us")
              for value in ["", "x", "-1", "1e10", "nan", "0x10", "1 "])]:
        assert expected in one_line(run("report", "--set", wrong, path, status=2)[1])
    assert "launch.runtime_cutoff\n" in run("report", "--set", "help")[0]


def test_an_operation_without_launch_between_others(tmp_path):
    """The launches before and after it stay those of their own operations."""
    rows = [*launch(1, 0, 10, 20), operation("kernel", "unknown", 2, 20, 30), *launch(3, 25, 40, 50)]
    (launches,) = table(report(write(tmp_path / "t.json", rows)), "launch")
    assert (launches["launches"], launches["delay_mean_ns"]) == (2, (8000 + 13000) / 2)


def test_chosen_steps(tmp_path):
    path = write(tmp_path / "t.json", two_steps())
    found = report("--steps", "2", path)
    assert found["steps"] == [2]
    assert {k["name"] for k in table(found, "kernels")} == {"k11", "k13", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}
    assert report("--steps", "7..9", path)["findings"] == []
    assert "nothing to report" in run("report", "--steps", "7..9", path)[0]
    for wrong in ["x", "3..", "3..2", "-1"]:
        assert "--steps" in one_line(run("report", f"--steps={wrong}", path, status=2)[1])


def rank_trace(tmp_path, rank, base_us, start, **header):
    """A step of one rank, whose all-reduce runs from `start` until 100 us after the base time of rank 0."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
    rows = [step(1, 0, 80), *launch(1, 5, 10, 20), *nccl(2, 15, start - base_us, 100 - base_us, **args)]
    path = tmp_path / f"rank-{rank}.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": 10**18 + base_us * 1000,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, **header, "traceEvents": rows}))
    return path


def test_waiting_for_the_last_rank(tmp_path):
    """Rank 1 begins the all-reduce 40 us after rank 0. The clocks of the files begin at different times."""
    paths = [rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 3, 70)]
    parts = table(report(*paths), "parts")
    assert parts_of(parts[0]) == {"compute": 10, "waiting": 40, "transfer": 30, "launch": 10}
    assert parts_of(parts[1]) == {"compute": 10, "transfer": 30, "queued": 47}
    alone = report(paths[0])
    assert parts_of(table(alone, "parts")[0]) == {"compute": 10, "transfer": 70, "launch": 10}
    assert "needs the traces of all 2 ranks" in " ".join(run("report", paths[0])[0].split())


def union(spans):
    """Returns the merged spans."""
    merged = []
    for begin, end in sorted(spans):
        if begin >= end:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(spans) -> int:
    return sum(end - begin for begin, end in union(spans))


def clipped(spans, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in spans if a < end and b > begin]


def ns(value) -> int:
    return int(value * 1000)


def count_again(trace: dict) -> dict:
    """Returns for each device and step (None: outside) the interval, its parts without causes, and the number
    of operations: an independent count from the rows, by set operations."""
    rows = [r for r in trace["traceEvents"] if r.get("ph") == "X"]
    steps = sorted((ns(r["ts"]), ns(r["ts"]) + ns(r["dur"]), int(r["name"].split("#")[1])) for r in rows
                   if r["name"].startswith("ProfilerStep#") and r["cat"] == "user_annotation")
    calls = {r["args"]["correlation"]: r for r in rows if r.get("cat") in ("cuda_runtime", "cuda_driver")}
    begins = [begin for begin, _, _ in steps]

    def part(at):
        i = bisect.bisect_right(begins, at)
        return 2 * i - 1 if i and at < steps[i - 1][1] else 2 * i

    work = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in rows:
        if r.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        call = calls.get(r["args"]["correlation"])
        kind = "copy" if r["cat"] != "kernel" else "transfer" if r["name"].startswith("nccl") else "compute"
        span = (ns(r["ts"]), ns(r["ts"]) + ns(r.get("dur", 0)))
        work[r["args"]["device"]][part(ns(call["ts"]) if call else span[0])].append((kind, *span))
    found = {}
    for device, by_part in work.items():
        every = {kind: [(a, b) for ops in by_part.values() for k, a, b in ops if k == kind]
                 for kind in ("compute", "transfer", "copy")}
        begin = min(a for ops in by_part.values() for _, a, _ in ops)
        for index in sorted(by_part):
            end = max(begin, max(b for _, _, b in by_part[index]))
            compute, transfer, copy = (clipped(every[kind], begin, end)
                                       for kind in ("compute", "transfer", "copy"))
            sums = [length(compute), length(compute + transfer), length(compute + transfer + copy)]
            found[device, steps[index // 2][2] if index % 2 else None, begin] = {
                "compute": sums[0], "transfer": sums[1] - sums[0], "copy": sums[2] - sums[1],
                "idle": end - begin - sums[2], "ops": len(by_part[index])}
            begin = end
    return found


@real
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_traces_against_an_independent_count(path):
    with gzip.open(path) as f:
        expected = count_again(json.load(f, parse_float=decimal.Decimal))
    found = report(path)
    parts = table(found, "parts")
    assert all(sum(p[f"{part}_ns"] for part in BUSY + IDLE) == p["step_ns"] for p in parts)
    assert {(p["device"], p["step"], p["begin_ns"]): {
        "compute": p["compute_ns"], "transfer": p["transfer_ns"] + p["waiting_ns"], "copy": p["copy_ns"],
        "idle": sum(p[f"{part}_ns"] for part in IDLE), "ops": p["operations"]} for p in parts} == expected


def without_times(found: dict) -> dict:
    for metric in found["metrics"].values():
        for n, column in enumerate(metric["columns"]):
            if column["name"].startswith("begin_"):
                for values in metric["rows"]:
                    values[n] = None
    return {key: found[key] for key in ("steps", "findings", "metrics")}


@real
@pytest.mark.parametrize("name", ["nccl_3steps", "two_ranks.rank-0"])
def test_order_time_and_ids_change_nothing(tmp_path, name):
    """The rows in another order, all times 1 s later, and other correlation ids in the same order."""
    path = TRACES / f"{name}.json.gz"
    with gzip.open(path) as f:
        trace = json.load(f)
    for r in trace["traceEvents"]:
        if "ts" in r and r.get("ph") != "M":
            r["ts"] = float(f"{r['ts'] % 10**9 + 10**6:.3f}")
        if isinstance(r.get("args"), dict) and "correlation" in r["args"]:
            r["args"]["correlation"] += 1000
    straight, mixed = tmp_path / "a.json", tmp_path / "b.json"
    straight.write_text(json.dumps(trace))
    random.Random(1).shuffle(trace["traceEvents"])
    mixed.write_text(json.dumps(trace))
    expected = without_times(report(path))
    assert without_times(report(straight)) == expected
    assert without_times(report(mixed)) == expected


def test_csv_has_the_values_of_json(tmp_path):
    path = write(tmp_path / "t.json", two_steps())
    found = report("--csv", tmp_path / "out", path)
    for name in found["metrics"]:
        with open(tmp_path / "out" / f"{name}.csv", newline="", encoding="utf-8") as f:
            read = list(csv.DictReader(f))
        assert [{key: "" if value is None else str(value) for key, value in r.items()
                 if not isinstance(value, float)} for r in table(found, name)] == [
            {key: r[key] for key, value in expected.items() if not isinstance(value, float)}
            for r, expected in zip(read, table(found, name))]


def test_only_some_tables(tmp_path):
    path = write(tmp_path / "t.json", two_steps())
    out, _ = run("report", "--only", "parts,steps", path)
    assert out.startswith("parts: ") and "\nsteps: " in out and "kernels" not in out
    assert list(report("--only", "idle", path)["metrics"]) == ["idle"]
    assert "did you mean steps" in one_line(run("report", "--only", "stepps", path, status=2)[1])


def test_the_first_screen(tmp_path):
    rows = two_steps()
    for r in rows:
        r["name"] = r["name"].replace("k11", "long_kernel_name<" + "int, " * 40 + "float>(\x1b[31m\"</script>)")
    out, _ = run("report", write(tmp_path / "t.json", rows))
    lines = out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100 and "\x1b" not in out
    assert "steps 1..2, 125 us each" in lines[0]
    assert lines[2] == " Held up by other GPU work: the GPUs compute 24 % of a step; queued 26 %, launch 19 %, CPU late"


def named(name):
    return [{**r, "name": name} for r in launch(1, 5, 10, 20)]


BAD = {
    "empty": "", "no events": '{"traceEvents": []}', "one event": json.dumps({"traceEvents": [step(1, 0, 1)]}),
    "no GPU": json.dumps({"traceEvents": [cpu_op("a", 0, 1), row("cuda_runtime", "cudaFree", 1, 0, 1)]}),
    "no correlation": json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
         "args": {"device": 0, "stream": 7}}]}),
    "negative": json.dumps({"traceEvents": launch(1, 5, 10, 2) + launch(2, 20, 30, 40)}),
    "2^62": json.dumps({"traceEvents": launch(1, 2**62 // 1000, 2**62 // 1000 + 5, 2**62 // 1000 + 9)}),
    "no length": json.dumps({"traceEvents": [r for i in range(1000) for r in launch(i + 2, 5, 10, 10)]}),
    "two devices": json.dumps({"traceEvents": launch(1, 5, 10, 20) + [
        {**r, "args": {**r["args"], "device": 1}} for r in launch(2, 6, 12, 30)]}),
    "overlapping steps": json.dumps({"traceEvents": [step(1, 0, 90), step(2, 50, 90)] + launch(1, 60, 70, 80)}),
    "cut": json.dumps({"traceEvents": launch(1, 5, 10, 20) + launch(2, 6, 30, 40)})[:-60],
    "long name": json.dumps({"traceEvents": named("n" * 10**6)}),
    "too long name": json.dumps({"traceEvents": launch(2, 6, 30, 40) + named("n" * 5 * 10**6)}),
    "strange rank": json.dumps({"distributedInfo": {"rank": "\u0000", "world_size": -1},
                                "traceEvents": named("</script>\"'\\\u0001\u2028\ud800")}),
    "300 devices": json.dumps({"traceEvents": [
        {**r, "args": {**r["args"], "device": i}} for i in range(300) for r in launch(i + 1, 5 * i, 10 * i, 10 * i + 5)]}),
    "same id": json.dumps({"traceEvents": launch(7, 5, 10, 20) + launch(7, 60, 70, 80) + launch(7, 25, 30, 40)}),
    "end before start": json.dumps({"traceEvents": launch(1, 500, 10, 20) + launch(2, 6, 30, 40)}),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input(tmp_path, kind):
    """Gives numbers or one sentence, and JSON that has no NaN."""
    path = tmp_path / "t.json"
    path.write_text(BAD[kind])
    whole = ["no length", "two devices", "overlapping steps", "no GPU", "long name", "strange rank", "300 devices"]
    status = 2 if kind == "empty" else 0 if kind in whole else 1
    out, error = run("report", "--json", path, status=status)
    if status == 2:
        one_line(error)
        return
    found = json.loads(out, parse_constant=lambda word: pytest.fail(word))
    for p in table(found, "parts"):
        assert sum(p[f"{part}_ns"] for part in BUSY + IDLE) == p["step_ns"]
    run("report", "--html", tmp_path / "page.html", path, status=status)


def test_names_come_back_whole(tmp_path):
    """Of one operation, in files that do not name their rank."""
    names = ["n" * 10**6, "</script>\"'\\\u0001\u2028\U0001f600", "NaN", " "]
    paths = [write(tmp_path / f"{i}.json", named(name)) for i, name in enumerate(names)]
    kernels = table(report(*paths), "kernels")
    assert [(k["rank"], k["name"], k["sum_ns"]) for k in kernels] == [(None, name, 10000) for name in names]


def many_launches(count=4000):
    """Returns launches on four streams in no order of time, some at the same time."""
    random_ = random.Random(1)
    times = [random_.randrange(5 * count) for _ in range(count)]
    return [step(i, 5000 * i, 4000) for i in range(count // 1000)] + [
        r for i, ts in enumerate(times) for r in launch(i + 1, ts, ts + 3, ts + 3 + i % 7, stream=7 + i % 4)]


@pytest.mark.sanitize
def test_little_memory_changes_nothing(tmp_path):
    """What does not fit goes to files without a name."""
    path, folder = write(tmp_path / "t.json", many_launches()), tmp_path / "tmp"
    folder.mkdir()
    found = [run("report", "--json", *memory, path, env={"TMPDIR": str(folder)})
             for memory in ([], ["--memory=0"], ["--memory", "100K"])]
    assert found[0] == found[1] == found[2]
    assert sum(p["operations"] for p in table(json.loads(found[0][0]), "parts")) == 4000
    assert list(folder.iterdir()) == []
    assert "--memory" in one_line(run("report", "--memory", "little", path, status=2)[1])


def test_no_room_for_what_does_not_fit(tmp_path, small_disk):
    path = write(tmp_path / "t.json", many_launches(8000))
    error = one_line(run("report", "--memory=0", path, status=2, env={"TMPDIR": str(small_disk)})[1])
    assert "temporary file: No space left on device: free some space" in error


@pytest.mark.full(seconds=12)
def test_many_of_each_thing(tmp_path):
    """Steps, names, threads and streams, 60,000 of each on two ranks: would not end in quadratic time."""
    paths = []
    for rank in range(2):
        rows = [step(i, 10 * i, 10) for i in range(60000)]
        for i in range(60000):
            call, kernel = launch(i + 1, 10 * i + 1, 10 * i + 2, 10 * i + 5, stream=i + 7)
            rows += [{**call, "name": f"call {i}", "tid": i}, {**kernel, "name": f"kernel {i}"}]
        paths.append(tmp_path / f"{rank}.json")
        paths[-1].write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": rows}))
    found = report(*paths)
    assert len(found["steps"]) == 60000 and len(table(found, "parts")) == 2 * 60000
    assert {k["count"] for k in table(found, "kernels")} == {1}


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}


def breaches(value, schema: dict, path: str = "$") -> list[str]:
    """Compares a value with the words of JSON Schema that report.schema.json uses."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return [f"{path}: {value!r} is not {kinds}"]
    found = []
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        found.append(f"{path}: {value!r} is not allowed")
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        found += [f"{path}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            if name not in known and others is False:
                found.append(f"{path}.{name} is not in the schema")
            else:
                found += breaches(member, known.get(name, others or {}), f"{path}.{name}")
    if isinstance(value, list):
        for n, item in enumerate(value):
            found += breaches(item, schema.get("items", {}), f"{path}[{n}]")
    return found


def test_json_has_the_schema_of_the_docs(tmp_path):
    schema = json.loads((harness.REPO / "docs" / "report.schema.json").read_text())
    assert breaches({"schema": 2}, schema)
    found = report(write(tmp_path / "t.json", two_steps()))
    assert breaches(found, schema) == []
    for name, metric in found["metrics"].items():
        for column in metric["columns"]:
            if column["unit"] in ("ns", "bytes", "ratio"):
                assert column["name"].endswith(f"_{column['unit']}"), (name, column)
        assert all(len(values) == len(metric["columns"]) for values in metric["rows"])


@real
def test_a_cut_file_is_reported_up_to_the_cut(tmp_path):
    with gzip.open(TRACES / "nccl_3steps.json.gz") as f:
        text = f.read()
    path = tmp_path / "t.json"
    path.write_bytes(text[:len(text) * 2 // 3])
    out, error = run("report", path, status=1)
    assert "% of a step" in out or "nothing to report" in out
    assert "the results are" in error


def job_traces(folder, job, run_id, start_ns):
    """Makes the traces of two ranks of a job, each with a kernel of 10 us in its step."""
    folder.mkdir(parents=True)
    return [rank_trace(folder, rank, 0, 30, generator="syncline 9.9", job=job, run_id=run_id, run_start_ns=start_ns)
            .rename(folder / f"{rank}.pt.trace.json") for rank in (0, 1)]


def test_a_folder_of_several_jobs(tmp_path):
    """A report is of one job: the newest, whatever its name. --run chooses another."""
    for job, start_ns in [("a", 5), ("b", 7), ("c", 6)]:
        job_traces(tmp_path / job, job, f"run-{job}", start_ns)
    out, error = run("report", "--json", tmp_path)
    found = json.loads(out)
    assert [i["path"] for i in found["inputs"]] == [f"{tmp_path}/b/{rank}.pt.trace.json" for rank in (0, 1)]
    line = one_line(error)
    assert "reading the newest, b, run run-b (2 files" in line
    assert "left out: a, run run-a (2 files" in line and "; c, run run-c (2 files" in line
    assert report(tmp_path)["metrics"] == report(tmp_path / "b")["metrics"]
    assert {i["path"].split("/")[-2] for i in report("--run", "run-a", tmp_path)["inputs"]} == {"a"}
    assert run("report", tmp_path / "b")[1] == ""


def test_copies_of_a_window_are_read_once(tmp_path):
    """A window that `convert` wrote again beside the library's file is no second window, for each command that
    reads folders. Another window, and a file of another run with the same name, stay."""
    first, second = job_traces(tmp_path / "job", "a", "run-a", 5)
    alone = report(first, second)
    for to in (".zst", ".gz"):
        run("convert", first, "-o", f"{first}{to}")
    out, error = run("report", "--json", tmp_path)
    found = json.loads(out)
    assert found["metrics"] == alone["metrics"]
    assert [i["path"] for i in found["inputs"]] == [f"{first}.zst", str(second)]
    assert "left out: 2 copies of other files, such as" in one_line(error)
    for command in ["check", "edges"]:
        out, error = run(command, "--json", *(["--summary"] if command == "edges" else []), tmp_path)
        assert {json.loads(line)["file"] for line in out.splitlines()} - {None} == {f"{first}.zst", str(second)}
        assert "2 copies" in error
    (tmp_path / "job" / f"{second.name}.gz").write_bytes(
        gzip.compress(second.read_bytes().replace(b'"run-a"', b'"run-b"')))
    assert len(report("--run", "all", tmp_path)["inputs"]) == 3


def test_chosen_steps_of_parts(tmp_path):
    """With --steps, the table `parts` has these steps alone; without, also the time between steps."""
    path = write(tmp_path / "t.json", two_steps())
    assert [p["step"] for p in table(report(path), "parts")] == [1, 2, None]
    assert [p["step"] for p in table(report("--steps", "2", path), "parts")] == [2]
    assert run("report", "--steps", "2", "--only", "parts", path)[0].count("\n") == 3
    without_steps = write(tmp_path / "u.json", launch(1, 5, 10, 30))
    assert [p["step"] for p in table(report("--steps", "2", without_steps), "parts")] == [None]


def test_names_and_sizes_that_spoil_a_line(tmp_path):
    """A name keeps its row of a table in one line, and a world has no negative size."""
    rows = launch(1, 5, 10, 30)
    rows[1]["name"] = "a\nb\tc\rd"
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": -3},
                                "traceEvents": rows}))
    out, _ = run("report", "--only", "kernels", path)
    assert out.count("\n") == 3 and "a b c d" in out.splitlines()[2]
    out, _ = run("report", path)
    assert out.startswith("t.json: 1 rank, 1 GPU;") and " a b c d " in out
    assert table(report(path), "kernels")[0]["name"] == "a\nb\tc\rd"
