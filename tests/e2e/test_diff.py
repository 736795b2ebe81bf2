"""Tests `syncline diff` on made traces with exact numbers, on real traces, and on bad input."""
import gzip
import json
import re
import subprocess

import pytest

import harness
from edges_tool import launch, stream_sync, write
from real_traces import REAL, TRACES, real
from test_report import breaches, cpu_op, nccl, rank_trace, step
from test_tool import TOOL, one_line, run

STEP = 1000  # us


def diff(*arguments, status=0):
    return json.loads(run("diff", "--json", *arguments, status=status)[0])


def table(found: dict, name: str) -> list[dict]:
    columns = [column["name"] for column in found["tables"][name]["columns"]]
    return [dict(zip(columns, values)) for values in found["tables"][name]["rows"]]


def changed(found: dict, name: str) -> list[tuple]:
    """Returns (verdict, name in A, name in B, change in us) of the rows that are not the same, in their order."""
    return [(r["verdict"], r["a_name"], r["b_name"], round(r["change_ns"] / 1000, 3)) for r in table(found, name)
            if r["verdict"] != "same"]


def part(found: dict, name: str, rank=None) -> dict:
    (row,) = [r for r in table(found, "parts") if r["part"] == name and r["rank"] == rank]
    return row


def kernel(n: int, at: float, length: float, name: str, operator: str = "", thread=42):
    """Returns a launch of 2 us at `at` in an operator of 4 us, and the kernel, which begins 5 us later."""
    rows = launch(n, at, at + 5, at + 5 + length, thread=thread)
    rows[1]["name"] = name
    return [*rows, *([cpu_op(operator, at - 1, 4)] if operator else [])]


def job(steps: int, *make, period=STEP):
    """Returns a trace of steps of 1000 us (or `period`). Each of `make` gives the rows of step i that begins at `at`,
    with correlation ids from n on."""
    rows = []
    for i in range(steps):
        rows.append(step(1 + i, i * period, period))
        for k, each in enumerate(make):
            rows += each(i, i * period, 1 + (i * len(make) + k) * 10)
    return rows


def mm(length, name="gemm", at=100, operator="aten::mm"):
    def make(i, begin, n):
        return kernel(n, begin + at, length(i) if callable(length) else length, name, operator)
    return make


def last(at=900):
    """Ends each step at the same time, so that its length is known: 1000 us from step 2 on."""
    return mm(10, "last", at, "aten::add")


def test_an_operator_that_is_slower(tmp_path):
    """40 us become 60 us in steps of 1000 us. The gap before `last` is shorter by the same, so a step is not
    longer: only its parts change."""
    a = write(tmp_path / "a.json", job(20, mm(40), last()))
    b = write(tmp_path / "b.json", job(30, mm(60), last()))
    found = diff(a, b)
    assert breaches(found, json.loads((harness.REPO / "docs" / "diff.schema.json").read_text())) == []
    (steps,) = table(found, "steps")
    assert (steps["a_steps"], steps["b_steps"], steps["a_ns"], steps["b_ns"], steps["verdict"]) == (
        19, 29, 1000000, 1000000, "same")
    compute = part(found, "compute")
    assert (compute["a_ns"], compute["b_ns"], compute["change_ns"], compute["change_ratio"], compute["verdict"]) == (
        50000, 70000, 20000, 0.4, "more")
    assert changed(found, "kernels") == [("more", "gemm", "gemm", 20)]
    (row,) = [r for r in table(found, "kernels") if r["verdict"] == "more"]
    assert (row["place"], row["a_count"], row["b_count"], row["a_spread_ns"]) == ("aten::mm", 1, 1, 0)
    assert changed(found, "operators") == [("more", "aten::mm", "aten::mm", 20)]
    assert changed(found, "launches") == [] and table(found, "waits") == []


def longer(by, at=900):
    return lambda i, begin, n: kernel(n, begin + at, 10 + i * by, "last", "aten::add")


def test_the_step_becomes_longer(tmp_path):
    """In A, `last` takes 10 us. In B it takes 10 us more in each step, so that a step is 1010 us long."""
    a = write(tmp_path / "a.json", job(20, mm(40), last()))
    b = write(tmp_path / "b.json", job(12, mm(40), longer(10)))
    assert "B is slower than A by 10.0 us a step (+1.0 %)" in " ".join(run("diff", a, b)[0].split())
    assert "last (in aten::add), +60.0 us" in " ".join(run("diff", a, b)[0].split())
    assert "B is faster than A by 10.0 us a step" in run("diff", b, a)[0]
    for limit, status in [("0.5%", 3), ("2%", 0), ("9us", 3), ("0.02ms", 0), ("0%", 3)]:
        found = diff("--fail-above", limit, a, b, status=status)
        assert found["is_above"] == (status == 3) and found["verdict"] == "more"
    assert diff("--fail-above=0%", b, a)["verdict"] == "less"
    for wrong in ["5", "x%", "%", "-1%", "1.2.3%", "5 %", "5min", ""]:
        assert "--fail-above" in one_line(run("diff", f"--fail-above={wrong}", a, b, status=2)[1])


def test_noise_is_no_change(tmp_path):
    """The lengths of A are 40 +- 20 us, those of B 50 +- 20 us: less than the quartiles are apart."""
    a = write(tmp_path / "a.json", job(21, mm(lambda i: 40 + i % 3 * 20 - 20), last()))
    b = write(tmp_path / "b.json", job(21, mm(lambda i: 50 + i % 3 * 20 - 20), last()))
    found = diff(a, b)
    assert changed(found, "kernels") == [("noise", "gemm", "gemm", 10)]
    assert (part(found, "compute")["verdict"], part(found, "compute")["a_spread_ns"]) == ("noise", 40000)
    assert "largest changes" not in run("diff", a, b)[0]
    # One slow step of many is neither a change nor a spread.
    c = write(tmp_path / "c.json", job(21, mm(lambda i: 500 if i == 7 else 40), last()))
    d = write(tmp_path / "d.json", job(21, mm(45), last()))
    assert changed(diff(c, d), "kernels") == [("more", "gemm", "gemm", 5)]
    # Of few steps, the shortest and the longest count.
    few = diff("--steps", "5..9", c, d)
    assert changed(few, "kernels") == [("noise", "gemm", "gemm", 5)]
    assert [(s["a_steps"], s["b_steps"]) for s in table(few, "steps")] == [(5, 5)]


def test_a_step_that_is_noise_does_not_fail(tmp_path):
    """The steps of A are 1040 and 960 us long by turns, those of B 1060, 960, 1060 and 1020 us."""
    a = write(tmp_path / "a.json", job(5, mm(lambda i: 10 + [0, 40, 0, 40, 0][i], "last", 900)))
    b = write(tmp_path / "b.json", job(5, mm(lambda i: 10 + [0, 60, 20, 80, 100][i], "last", 900)))
    out, error = run("diff", "--fail-above", "1%", a, b)
    assert "B is neither slower nor faster than A: 1.04 ms a step instead of 1.00 ms" in " ".join(out.split())
    assert "counts as noise" in one_line(error)


def test_what_happens_in_some_steps(tmp_path):
    """A copy in every fifth step: its median is 0, so the mean is compared."""
    def some(length):
        return lambda i, begin, n: kernel(n, begin + 500, length, "checkpoint") if i % 5 == 0 else []

    found = diff(write(tmp_path / "a.json", job(21, mm(40), some(100), last())),
                 write(tmp_path / "b.json", job(21, mm(40), some(150), last())))
    assert changed(found, "kernels") == [("noise", "checkpoint", "checkpoint", 10)]
    (row,) = [r for r in table(found, "kernels") if r["a_name"] == "checkpoint"]
    assert (row["a_median_ns"], row["a_ns"], row["b_ns"], row["a_count"]) == (0, 20000, 30000, 0.2)


@pytest.mark.sanitize
def test_a_kernel_that_is_renamed(tmp_path):
    a = write(tmp_path / "a.json", job(12, mm(40, "gemm_v1"), mm(7, "same", 300), last()))
    b = write(tmp_path / "b.json", job(12, mm(55, "gemm_v2"), mm(7, "same", 300), last()))
    found = diff(a, b)
    assert changed(found, "kernels") == [("replaced", "gemm_v1", "gemm_v2", 15)]
    screen = run("diff", a, b)[0]
    assert re.search(r"replaced +kernel +gemm_v1 +40.0 us +55.0 us +\+15.0 us\n +by gemm_v2\n +in aten::mm\n",
                     screen)
    # Two kernels of an operator become one.
    c = write(tmp_path / "c.json", job(12, mm(40, "fused"), last()))
    d = write(tmp_path / "d.json", job(12, mm(25, "mul"), mm(30, "add", 300), last()))
    (row,) = [r for r in table(diff(d, c), "kernels") if r["verdict"] == "replaced"]
    assert (row["a_name"], row["a_names"], row["b_name"], row["b_names"], row["change_ns"]) == (
        "add", 2, "fused", 1, -15000)
    # Without operators, nothing says that a kernel replaces another, unless there is one on each side.
    plain = [write(tmp_path / f"plain-{n}.json", job(12, *[mm(40, name, 100 + 100 * k, "")
                                                           for k, name in enumerate(names)]))
             for n, names in enumerate((["x", "y"], ["z", "y"], ["z", "w"]))]
    assert changed(diff(plain[0], plain[1]), "kernels") == [("replaced", "x", "z", 0)]
    assert sorted(v for v, *_ in changed(diff(plain[0], plain[2]), "kernels")) == [
        "added", "added", "removed", "removed"]


def test_the_innermost_operator_that_both_sides_have(tmp_path):
    """A runs two kernels in operators of its own inside of `linear`, B one in another: they are in `linear`."""
    def linear(*inner):
        def make(i, begin, n):
            rows = [cpu_op("linear", begin + 50, 400)]
            for k, (operator, name, length) in enumerate(inner):
                rows += kernel(n + k, begin + 100 + 100 * k, length, name, operator)
            return rows
        return make

    found = diff(write(tmp_path / "a.json", job(12, linear(("mm", "gemm", 40), ("bias", "add", 20)), last())),
                 write(tmp_path / "b.json", job(12, linear(("fused", "gemm_bias", 50)), last())))
    (row,) = [r for r in table(found, "kernels") if r["verdict"] != "same"]
    assert (row["verdict"], row["place"], row["a_name"], row["b_name"], row["a_names"], row["change_ns"]) == (
        "replaced", "linear", "gemm", "gemm_bias", 2, -10000)
    assert changed(found, "operators") == [
        ("added", None, "fused", 50), ("removed", "mm", None, -40), ("removed", "bias", None, -20)]


def waiting(line, at=95, dur=100):
    """A wait from 105 us on for the kernel of mm(60), which runs until 165 us."""
    def make(i, begin, n):
        rows = stream_sync(n + 5, begin + at + 10, dur)
        rows[0]["args"]["wait_at"] = line
        return rows
    return make


def test_a_wait_that_is_added_and_one_that_moves(tmp_path):
    a = write(tmp_path / "a.json", job(12, mm(60), last()))
    b = write(tmp_path / "b.json", job(12, mm(60), waiting("train.py:31 step"), last()))
    found = diff(a, b)
    (row,) = table(found, "waits")
    assert (row["verdict"], row["b_name"], row["a_line"], row["b_line"], row["b_count"]) == (
        "added", "cudaStreamSynchronize", None, "train.py:31 step", 1)
    assert row["change_ns"] == row["b_ns"] == 60000
    assert table(diff(b, a), "waits")[0]["verdict"] == "removed"
    screen = run("diff", a, b)[0]
    assert re.search(r"added +wait +cudaStreamSynchronize +- +60.0 us +\+60.0 us\n +train.py:31 step\n", screen)
    moved = write(tmp_path / "m.json", job(12, mm(60), waiting("train.py:40 step"), last()))
    (row,) = table(diff(b, moved), "waits")
    assert (row["verdict"], row["a_line"], row["b_line"], row["change_ns"]) == (
        "replaced", "train.py:31 step", "train.py:40 step", 0)
    other = write(tmp_path / "o.json", job(12, mm(60), waiting("eval.py:40 step"), last()))
    assert sorted(r["verdict"] for r in table(diff(b, other), "waits")) == ["added", "removed"]


@pytest.mark.sanitize
def test_collectives_and_ranks(tmp_path):
    """Rank 1 begins its collective later in B. Only ranks 0 and 1 are on both sides."""
    a = [rank_trace(tmp_path, rank, 0, 30) for rank in (0, 1, 2)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for path in a:
        path.rename(tmp_path / "a" / f"{path.stem}.trace.json")
    for rank, start in ((0, 30), (1, 70)):
        path = rank_trace(tmp_path, rank, 0, start)
        path.rename(tmp_path / "b" / f"{path.stem}.trace.json")
    found = diff(tmp_path / "a", tmp_path / "b")
    assert [(s["rank"], s["verdict"]) for s in table(found, "steps")] == [(0, "same"), (1, "same"), (None, "same")]
    assert part(found, "waiting", 0)["change_ns"] == 40000 and part(found, "waiting")["change_ns"] == 20000
    (row,) = table(found, "collectives")
    assert (row["verdict"], row["most_rank"], row["most_change_ns"], row["change_ns"]) == ("less", 1, -40000, -20000)
    assert "1 rank is only in A, and left out." in found["notes"]
    alone = diff("--rank", "1", tmp_path / "a", tmp_path / "b")
    assert [s["rank"] for s in table(alone, "steps")] == [1]
    assert "rank 2 is not on both sides" in one_line(
        run("diff", "--rank", "2", tmp_path / "a", tmp_path / "b", status=2)[1])


def test_the_rank_that_others_wait_for_is_named_first(tmp_path):
    """In B, rank 1 launches its collective later by 400 us, so rank 0 waits. The cause is not on the rank that waits."""
    for side, late in (("a", 0), ("b", 400)):
        for rank, start in ((0, 30), (1, 60 + late)):
            rows = []
            for i in range(5):
                begin = i * (1000 + late)
                args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
                        "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
                rows += [step(1 + i, begin, 1000 + late), *launch(10 * i + 1, begin + 5, begin + 10, begin + 20),
                         *nccl(10 * i + 2, begin + start - 5, begin + start, begin + 900 + late, **args)]
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / f"{rank}.trace.json").write_text(json.dumps({
                "schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": rows,
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}))
    screen = " ".join(run("diff", tmp_path / "a", tmp_path / "b")[0].split())
    assert "most of all because of CPU late on rank 1 (+400 us), which makes others wait (+200 us)" in screen
    assert "most of all because of waiting (-" in " ".join(run("diff", tmp_path / "b", tmp_path / "a")[0].split())


def test_the_rank_that_changed_most_is_named(tmp_path):
    for side, lengths in (("a", (10, 10)), ("b", (20, 60))):
        (tmp_path / side).mkdir()
        for rank, length in enumerate(lengths):
            rows = job(1, mm(length, "last", 900))
            (tmp_path / side / f"{rank}.trace.json").write_text(json.dumps(
                {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": rows}))
    found = diff(tmp_path / "a", tmp_path / "b")
    assert [(s["rank"], s["change_ns"]) for s in table(found, "steps")] == [(0, 10000), (1, 50000), (None, 30000)]
    assert found["most_changed_rank"] == 1
    screen = run("diff", tmp_path / "a", tmp_path / "b")[0]
    assert "Times are the mean of 2 ranks. Rank 1 changed most: +50.0 us (+500.0 %)." in screen
    assert "A has one step" in screen
    # A single rank is compared with whatever single rank the other side has, unless one is chosen.
    single = tmp_path / "a" / "0.trace.json", tmp_path / "b" / "1.trace.json"
    assert "Rank 0 of A is compared with rank 1 of B." in diff(*single)["notes"]
    assert "not on both sides" in one_line(run("diff", "--rank", "0", *single, status=2)[1])


def test_without_steps_without_gpu_work_and_other_devices(tmp_path):
    rows = [*kernel(1, 0, 40, "x"), *kernel(2, 100, 40, "y")]
    a = write(tmp_path / "a.json", rows)
    b = tmp_path / "b.json"
    b.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "H100"}], "traceEvents": job(3, last())}))
    found = diff(a, b)
    assert "A has no steps, so its whole trace counts as one step." in found["notes"]
    assert [(s["a_steps"], s["a_ns"], s["b_steps"]) for s in table(found, "steps")] == [(1, 140000, 2)]
    c = tmp_path / "c.json"
    c.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "A100"}], "traceEvents": job(3, last())}))
    assert "The GPUs differ: A100 in A, H100 in B." in diff(c, b)["notes"]
    empty = write(tmp_path / "empty.json", [step(1, 0, 100)])
    for files, said in [((a, empty), "B has"), ((empty, a), "A has"), ((empty, empty), "A has")]:
        out, error = run("diff", *files, status=1)
        assert "nothing to compare" in out and f"{said} no GPU operation" in error.splitlines()[-1]
        assert diff("--fail-above", "5%", *files, status=1)["comparable"] is False
    for few in [(), (a,), (a, b, c)]:
        assert run("diff", *few, status=2)[1].startswith("syncline diff: ")
    assert "did you mean kernels?" in one_line(run("diff", "--only", "kernel", a, b, status=2)[1])
    assert run("diff", tmp_path / "none.json", b, status=2)[0] == ""
    assert run("diff", "--only", "steps", a, b)[0].startswith("steps: ")


def test_syncline_against_another_tool(tmp_path):
    a = write(tmp_path / "a.json", job(3, last()))
    b = tmp_path / "b.json"
    b.write_text(json.dumps({"schemaVersion": 1, "generator": "syncline 0.1.0", "traceEvents": job(3, last())}))
    assert diff(a, a)["notes"] == []
    out, _ = run("diff", "--json", a, b, status=0)
    assert "A was recorded by another tool" in " ".join(json.loads(out)["notes"])


@real
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_a_real_trace_against_itself_is_the_same(path):
    found = diff("--fail-above", "0%", path, path)
    assert found["verdict"] == "same" and table(found, "kernels")
    for each in found["tables"]:
        assert {r["verdict"] for r in table(found, each)} <= {"same"}
        assert all(r["change_ns"] == 0 and r["a_spread_ns"] == r["b_spread_ns"] for r in table(found, each))
    screen = run("diff", path, path)[0].splitlines()
    assert "B is as fast as A" in screen[3] and len(screen) <= 40


@real
def test_a_real_trace_against_a_changed_copy(tmp_path):
    """In the copy each kernel of one name takes half the time, and each of another has a new name."""
    path = TRACES / "nccl_3steps.json.gz"
    with gzip.open(path) as f:
        trace = json.load(f)
    kernels = [r for r in trace["traceEvents"] if r.get("cat") == "kernel"]
    names = sorted({r["name"] for r in kernels if "nccl" not in r["name"]})
    shorter, renamed = names[0], names[-1]
    for each in kernels:
        if each["name"] == shorter:
            each["dur"] *= 0.5
        elif each["name"] == renamed:
            each["name"] = "renamed"
    copy = write(tmp_path / "copy.json", trace["traceEvents"])
    rows = [r for r in table(diff(path, copy), "kernels") if r["verdict"] != "same"]
    assert {(r["a_name"], r["b_name"]) for r in rows} == {(shorter, shorter), (renamed, "renamed")}
    for row in rows:
        if row["a_name"] == shorter:
            assert row["change_ratio"] == pytest.approx(-0.5, abs=0.01)
        else:
            assert row["verdict"] == "replaced" and row["change_ns"] == 0


@real
def test_a_cut_side_and_the_size_of_the_screen(tmp_path):
    with gzip.open(TRACES / "nccl_3steps.json.gz") as f:
        text = f.read()
    cut = tmp_path / "cut.json"
    cut.write_bytes(text[:len(text) * 2 // 3])
    out, error = run("diff", TRACES / "nccl_3steps.json.gz", cut, status=1)
    assert "Only a part of B could be read." in out and str(cut) in error
    for a, b in zip(REAL, REAL[1:] + REAL[:1]):
        lines = run("diff", a, b)[0].splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 100


def test_the_commands_of_the_docs(tmp_path):
    """Runs the commands of docs/diff.md as a user does. The sentence that it shows is the true one."""
    text = (harness.REPO / "docs" / "diff.md").read_text()
    commands = [line.strip() for line in re.findall(r"^ {4,}(syncline .*)$", text, re.MULTILINE)]
    for name, more in (("before", 0), ("after", 20)):
        rows = job(12, mm(40), mm(10 + more, "last", 900, "aten::add"), period=STEP + more)
        with gzip.open(tmp_path / f"{name}.json.gz", "wt") as f:
            json.dump({"traceEvents": rows}, f)
        (tmp_path / f"{name}-job").mkdir()
        write(tmp_path / f"{name}-job" / "1.pt.trace.json", rows)
    assert len(commands) >= 8
    sentence = " ".join(re.findall(r"^ *> (.*)$", text, re.MULTILINE))
    assert sentence in " ".join(run("diff", tmp_path / "before.json.gz", tmp_path / "after.json.gz")[0].split())
    for command in commands:
        command, _, expected = command.partition("   # exit status ")
        done = subprocess.run(["bash", "-c", f'syncline() {{ "{TOOL}" "$@"; }}; set -o pipefail; {command}'],
                              cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == int(expected or 0), command + done.stdout + done.stderr
        assert done.stdout, command
