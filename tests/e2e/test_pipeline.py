"""Tests `syncline pipeline` on traces of schedules whose bubble is known exactly (schedules.py): phases, stages,
iterations, clocks, pictures, and bad input."""
import json
import re
import subprocess
import xml.etree.ElementTree

import pytest

import harness
import schedules
from browser import CHROMIUM, browser
from schedules import Pipeline
from test_nsys import OLD, Database
from test_report import breaches
from test_tool import TOOL, one_line, run

LENGTHS = {"F": 1_000_000, "B": 2_000_000, "W": 1_000_000, "O": 400_000}
EVEN = {**LENGTHS, "B": 1_000_000}
SCHEDULES = {
    "1f1b": lambda: Pipeline(schedules.one_f_one_b(4, 8), LENGTHS),
    "interleaved": lambda: Pipeline(schedules.interleaved(4, 8, 2), LENGTHS, chunks=2),
    "zb-h1": lambda: Pipeline(schedules.zb_h1(4, 8), EVEN),
}
OFFSETS = [0, 10**9, -10**9, 10**9]
CLOCKS = {"offset": [0, 10**9, -10**9, 3 * 3600 * 10**9], "drift": [0, 50e-6, -50e-6, 20e-6]}


def job(tmp_path, pipeline, *, stages=None, clocks=None, hosts=None, **options):
    """Writes the traces of a pipeline, a rank a stage. Returns their folder."""
    folder = tmp_path / "job"
    folder.mkdir(parents=True, exist_ok=True)
    for s in stages if stages is not None else range(pipeline.p):
        clock = {name: values[s] for name, values in (clocks or {}).items()}
        schedules.write(folder / f"rank{s}.pt.trace.json", schedules.rows_of(pipeline, s, **options), rank=s,
                        world=pipeline.p, host=hosts[s] if hosts else "node", **clock)
    return folder


def found(*arguments, status=0):
    out, error = run("pipeline", "--json", *arguments, status=status)
    assert status or not error, error
    report = json.loads(out)
    assert breaches(report, json.loads((harness.REPO / "docs" / "pipeline.schema.json").read_text())) == []
    return report


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("is_apart", [False, True])
def test_the_bubble_of_known_schedules(tmp_path, name, is_apart):
    """The same with clocks that differ by hours and drift: the error of an offset is never above its bound."""
    pipeline = SCHEDULES[name]()
    folder = job(tmp_path, pipeline, **({"clocks": CLOCKS, "hosts": "abcd"} if is_apart else {}))
    only, = found(folder)["pipelines"]
    rates, rate = pipeline.bubble(first=1)
    assert only["micro_batches"] == 8 and only["chunks"] == pipeline.chunks and only["measured"] == 2
    assert [stage["rank"] for stage in only["stages"]] == [0, 1, 2, 3]
    ends = pipeline.ends()
    length = sum(stage["length_ns"] for stage in only["stages"]) / 4
    assert length == pytest.approx(ends[-1] - ends[0], abs=1e5 if is_apart else 10)
    assert only["bubble_by_span"] == pytest.approx(rate, abs=.002 if is_apart else 1e-6)
    for stage in only["stages"]:
        assert stage["bubble_by_span"] == pytest.approx(rates[stage["stage"]], abs=.002 if is_apart else 1e-6)
        assert sum(stage["causes_ns"].values()) == stage["length_ns"] - stage["kernel_ns"]
        clock, rank = stage["clock"], stage["rank"]
        if is_apart and rank:
            # What the clock shows at the middle of the recording, against rank 0's.
            middle = ends[-1] / 2 + 50e6
            assert clock["offset_ns"] == pytest.approx(CLOCKS["offset"][rank] + CLOCKS["drift"][rank] * middle,
                                                       abs=clock["error_ns"] + 2000)
        assert (clock["error_ns"] > 0) == bool(is_apart and rank)
    waiting = only["causes_ns"]["waiting"]
    assert waiting > .5 * (only["length_ns"] - only["kernel_ns"])


@pytest.mark.parametrize("option", ["--svg", "--html"])
def test_an_output_in_a_folder_that_is_not_there(tmp_path, option):
    error = one_line(run("pipeline", option, tmp_path / "no" / "x", job(tmp_path, SCHEDULES["1f1b"]()), status=2)[1])
    assert f"there is no folder {tmp_path}/no" in error and not (tmp_path / "no").exists()


def test_theory_comes_from_the_measured_lengths(tmp_path):
    theory = found(job(tmp_path, SCHEDULES["zb-h1"]()))["pipelines"][0]["theory"]
    assert theory["1F1B"] == {"bubble_ns": 9e6, "rate": pytest.approx(3 / 11, abs=1e-8)}
    assert theory["ZB-H1"] == {"bubble_ns": 3e6, "rate": pytest.approx(3 / 27, abs=1e-8)}
    assert theory["ZB-H2"] == {"bubble_ns": 0, "rate": 0} and theory["interleaved"] is None


def test_the_phases_of_each_stage(tmp_path):
    pipeline = SCHEDULES["interleaved"]()
    only, = found(job(tmp_path, pipeline))["pipelines"]
    for s, stage in enumerate(only["stages"]):
        phases = [(p["iteration"], p["phase"].replace("optimizer", "O"), p["micro_batch"] if p["phase"] in "FB" else -1,
                   max(p["chunk"] or 0, 0), p["begin_ns"] - schedules.BASE, p["begin_ns"] - schedules.BASE + p["span_ns"])
                  for p in stage["phases"] if p["phase"] in ("F", "B", "W", "optimizer")]
        assert phases == pipeline.phases[s]
        assert all(p["kernels"] == 2 and p["kernel_ns"] == p["span_ns"] for p in stage["phases"] if p["phase"] in "FB")
        names = [p["phase"] for p in stage["phases"] if p["phase"] not in ("F", "B", "W", "optimizer")]
        assert len(names) == len(pipeline.messages[s]) and set(names) <= {
            "send_forward", "recv_forward", "send_backward", "recv_backward"}


def test_hosts_that_nothing_connects_are_not_compared(tmp_path):
    """Chunks that follow no order, without messages, connect nothing; each stage has its own iterations."""
    pipeline = SCHEDULES["1f1b"]()
    folder = job(tmp_path, pipeline, clocks=CLOCKS, hosts="abcd", messages=False,
                 name=lambda phase, mb, chunk, i: "optimizer" if phase == "O" else f"{phase}{mb + (phase == 'B') * 100}.0.0")
    report = found(folder, status=0)
    only, = report["pipelines"]
    assert not only["is_comparable"] or [s["clock"]["error_ns"] for s in only["stages"][1:]] > [100_000] * 3
    assert .1 < only["bubble_by_span"] < .4


def test_picture_and_page(tmp_path):
    folder = job(tmp_path, SCHEDULES["1f1b"]())
    svg, page = tmp_path / "out.svg", tmp_path / "out.html"
    out, _ = run("pipeline", "--svg", svg, "--html", page, folder)
    assert "in theory, 1F1B         27.3 %" in out and "4 stages, 8 micro-batches, 2 iterations" in out
    tree = xml.etree.ElementTree.parse(svg)
    texts = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text") if node.text]
    assert [texts.count(str(mb)) for mb in range(8)] == [8] * 8  # F and B of four stages
    assert any("the bubble is" in text for text in texts)
    html = page.read_text()
    assert html.count('class="F"') == 3 * 4 * 8
    assert re.findall("https?://[^\"']+", html.replace("http://www.w3.org/2000/svg", "")) == []


HOSTILE = "F0.0.0<img src=x onerror=alert(1)></svg><script>alert(2)</script>\"'&amp;\u2028\ufffe\x01" + "n" * 100_000


def hostile_job(tmp_path):
    (tmp_path / "patterns").write_text("F (F[0-9.]+).*\n")
    folder = job(tmp_path, SCHEDULES["1f1b"](), hosts=["<script>alert(3)</script>\"&"] * 4,
                 name=lambda phase, mb, chunk, i: "Optimizer" if phase == "O" else HOSTILE[:900] if phase == "F" else f"B{mb}.0.0")
    rows = json.loads((folder / "rank0.pt.trace.json").read_text())
    for row in rows["traceEvents"]:
        row["name"] = row["name"].replace("ncclDevKernel", "ncclDevKernel" + HOSTILE)
    (folder / "rank0.pt.trace.json").write_text(json.dumps(rows))
    return folder


def test_hostile_names(tmp_path):
    folder = hostile_job(tmp_path)
    svg, page = tmp_path / "out.svg", tmp_path / "out.html"
    run("pipeline", "--patterns", tmp_path / "patterns", "--svg", svg, "--html", page, folder)
    tree = xml.etree.ElementTree.parse(svg)
    assert not list(tree.iter("{http://www.w3.org/2000/svg}script")) and svg.stat().st_size < 300_000
    assert page.read_text().count("<script") == 1


@pytest.mark.full(seconds=5)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
def test_the_page_in_a_browser(tmp_path):
    """The page begins with one iteration, zooms with the wheel and the buttons, loads nothing and runs no name."""
    page = tmp_path / "out.html"
    run("pipeline", "--patterns", tmp_path / "patterns", "--html", page, hostile_job(tmp_path))
    seen = """(() => [...document.querySelectorAll("svg.pipeline g.B")].filter(g => g.getAttribute("display") !== "none").length)()"""
    wheel = """document.querySelector("svg.pipeline").dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: 700, bubbles: true}))"""
    with browser(page, tmp_path / "profile") as opened:
        first = opened.run(seen)
        opened.run(wheel)
        zoomed = opened.run(seen)
        opened.run("document.querySelectorAll('button')[1].click()")
        everything = opened.run(seen)
        opened.run("document.querySelectorAll('button')[0].click()")
        assert 0 < zoomed < first < everything == 3 * 4 * 8 and opened.run(seen) == first
        assert (opened.requests, opened.said) == ([], [])
        assert opened.run("document.querySelector('img, main script')") is None


def test_a_page_of_a_long_recording_has_what_fits(tmp_path):
    pipeline = Pipeline(schedules.one_f_one_b(2, 32), LENGTHS, iterations=100)
    run("pipeline", "--html", tmp_path / "out.html", job(tmp_path, pipeline, messages=False))
    html = tmp_path.joinpath("out.html").read_text()
    assert html.count('class="F"') == html.count('class="B"') and html.count("<title>") in range(11000, 12500)
    assert "8 iterations are not drawn" in html and "left out</text>" not in html


def test_patterns_and_names_that_match_none(tmp_path):
    pipeline = SCHEDULES["1f1b"]()
    folder = job(tmp_path, pipeline, name=lambda phase, mb, chunk, i: {"F": f"fwd mb{mb}", "B": f"bwd mb{mb}", "O": "step[x]"}[phase])
    out, _ = run("pipeline", folder)
    suggested = dict(re.findall(r" (fwd mb\d|bwd mb\d|step\[x\]) +(.+)", out))
    assert set(suggested.values()) == {"F fwd mb([0-9]+)", "B bwd mb([0-9]+)", r"? step\[x\]"}
    assert "kernels in no range of a phase: 408" in out
    patterns = tmp_path / "patterns"
    patterns.write_text("# ours\n" + "\n".join(suggested.values()).replace("?", "optimizer") + "\n")
    only, = found("--patterns", patterns, folder)["pipelines"]
    assert only["bubble_by_span"] == pytest.approx(pipeline.bubble()[1], abs=1e-6) and only["micro_batches"] == 8


@pytest.mark.parametrize("line, why", [("F (", "Unmatched"), ("forward x", "PHASE REGEX"), ("F", "PHASE REGEX")])
def test_patterns_that_are_wrong(tmp_path, line, why):
    (tmp_path / "p").write_text("\n" + line + "\n")
    error = one_line(run("pipeline", "--patterns", tmp_path / "p", tmp_path, status=2)[1])
    assert f"{tmp_path / 'p'}:2: " in error and why in error


def test_stages_are_given(tmp_path):
    """Two replicas of two stages, as Megatron numbers them: stage 0 is ranks 0 and 1."""
    pipeline = Pipeline(schedules.one_f_one_b(2, 4), LENGTHS)
    for rank in range(4):
        schedules.write(tmp_path / f"{rank}.pt.trace.json", schedules.rows_of(pipeline, rank // 2), rank=rank, world=4)
    ranks = [[stage["rank"] for stage in p["stages"]] for p in found("--stages", "0,1;2,3", tmp_path)["pipelines"]]
    assert ranks == [[0, 2], [1, 3]]
    ranks = [[stage["rank"] for stage in p["stages"]] for p in found("--stages", "0,2", tmp_path)["pipelines"]]
    assert ranks == [[0, 2]]
    for wrong in ("", "0,,1", "0;x", "0,0", "9", "0,1;2", "0;1,2", "0,1,2;3"):
        one_line(run("pipeline", "--stages", wrong, tmp_path, status=2)[1])


@pytest.mark.parametrize("kept, complete, note", [
    (lambda p: p[0] != 1 or p[1] != "B" or p[2] < 4, [0, 2], "left out"),
    (lambda p: not (p[0] == 0 and p[2] < 5 and p[1] == "F") and not (p[0] == 2 and p[1] != "F"), [1], "left out"),
    (lambda p: p[0] == 0 and not (p[1] == "B" and p[2] > 3) and p[1] != "O", [], "no iteration is complete"),
])
def test_cut_iterations(tmp_path, kept, complete, note):
    """One is cut in the middle; the first and the last are cut; the only one is cut."""
    report = found(job(tmp_path, SCHEDULES["1f1b"](), is_kept=kept))
    only, = report["pipelines"]
    assert [i for i, it in enumerate(only["iterations"]) if it["is_complete"]] == complete
    assert any(note in text for text in report["notes"])
    follow = [i for i in complete if only["iterations"][i]["follows"]]
    assert only["measured"] == len(follow) or only["is_partial"]


def test_trouble(tmp_path):
    """A stage died; there is one micro-batch; a range has no kernel; nothing is there."""
    pipeline = SCHEDULES["1f1b"]()
    folder = job(tmp_path, pipeline)
    rows = schedules.rows_of(pipeline, 2, is_kept=lambda p: p[0] < 1 or (p[0] == 1 and p[1] == "F" and p[2] < 3))
    schedules.write(folder / "rank2.pt.trace.json", rows, rank=2, world=4, host="node")
    report = found(folder)
    assert report["pipelines"][0]["measured"] == 1
    assert "rank 2 (node) has 2 of 3 iterations: it recorded less than the others, or ended early" in report["notes"]
    one = Pipeline(schedules.one_f_one_b(2, 1), LENGTHS, iterations=1)
    only, = found(job(tmp_path / "one", one))["pipelines"]
    assert only["micro_batches"] == 1 and only["theory"]["1F1B"]["rate"] == .5
    rows = [row for row in schedules.rows_of(pipeline, 0) if row["args"].get("correlation") not in (1, 2)]
    path = schedules.write(tmp_path / "one.json", rows, rank=0, world=4)
    report = found(path, status=1)  # of four ranks, three are missing
    assert sum(p["is_guessed"] for p in report["pipelines"][0]["stages"][0]["phases"]) == 1
    assert any(note.startswith("1 ranges have no kernel") for note in report["notes"])
    path.write_text('{"traceEvents": []}')
    assert found(path, status=1)["pipelines"] == []
    run("pipeline", "--svg", tmp_path / "x.svg", "--html", tmp_path / "x.html", path, status=1)


@pytest.mark.parametrize("there, who", [([0, 1, 3], "rank 2 is missing"), ([2], "ranks 0, 1 and 3 are missing")])
@pytest.mark.parametrize("described", [None, [0, 1, 2, 3]])
def test_theory_needs_all_stages(tmp_path, there, who, described):
    """With and without messages that name the ranks. If --stages names the stages, theory is theirs."""
    pipeline = SCHEDULES["1f1b"]()
    folder = job(tmp_path, pipeline, stages=there, described=described)
    report = found(folder, status=1)
    assert any(note.startswith(who.rsplit(" ", 2)[0] + " ha") for note in report["notes"])
    for p in report["pipelines"]:
        assert f"({who})" in p["sentence"] and set(p["theory"].values()) == {None}
    assert "in theory              not known" in run("pipeline", folder, status=1)[0]
    only, = found("--stages", ",".join(map(str, there)), folder)["pipelines"]
    assert only["theory"]["1F1B"] and "missing" not in only["sentence"]


@pytest.mark.parametrize("order", ["by time", "by kind"])
@pytest.mark.parametrize("keep", [.2, .5, .9])
def test_a_file_that_is_cut(tmp_path, order, keep):
    """The stage counts only in iterations that its file has whole, or not at all. Files may have all ranges before
    the first launch."""
    pipeline = SCHEDULES["1f1b"]()
    folder = job(tmp_path, pipeline, messages=False)
    path = folder / "rank2.pt.trace.json"
    if order == "by kind":
        rows = schedules.rows_of(pipeline, 2, messages=False)
        kinds = ["user_annotation", "kernel", "cuda_runtime"]
        rows.sort(key=lambda row: (kinds.index(row["cat"]), row["ts"]))
        schedules.write(path, rows, rank=2, world=4, host="node")
    text = json.loads(path.read_text())
    text = json.dumps({"distributedInfo": text.pop("distributedInfo"), "host_name": "node", **text})
    path.write_text(text[:int(len(text) * keep)])
    report = found(folder, status=1)
    assert "the results are from the part before" in one_line(run("pipeline", folder, status=1)[1])
    only, = report["pipelines"]
    measured = [i for i, it in enumerate(only["iterations"]) if it["is_complete"] and it["follows"]]
    rates, _ = pipeline.bubble(measured[0], measured[-1]) if measured else ([.3] * 4, 0)
    counted = [stage for stage in only["stages"] if stage["length_ns"]]
    assert [stage["stage"] for stage in counted] in ([0, 1, 2, 3], [0, 1, 3])
    for stage in counted:
        assert stage["bubble_by_span"] == pytest.approx(rates[stage["stage"]], abs=1e-6 if measured else .1)
    assert only["bubble_by_span"] == pytest.approx(
        sum(stage["bubble_by_span"] for stage in counted) / len(counted), abs=1e-6)
    assert only["theory"]["1F1B"]["rate"] == pytest.approx(3 / 11)
    is_left_out = any(note.startswith("rank 2 (node) is left out") for note in report["notes"])
    assert is_left_out == ("(stage 2 is left out)" in only["sentence"]) == (len(counted) == 3)


def test_backward_on_autograds_thread(tmp_path):
    """The kernels of B are launched on another thread, while the first has the range open."""
    pipeline = SCHEDULES["1f1b"]()
    for s in range(4):
        rows = schedules.rows_of(pipeline, s)
        kernels = {row["args"]["correlation"]: row["name"] for row in rows if row["cat"] == "kernel"}
        for row in rows:
            if row["cat"] == "cuda_runtime" and kernels[row["args"]["correlation"]].endswith("_B"):
                row["tid"] = 2
        schedules.write(tmp_path / f"{s}.pt.trace.json", rows, rank=s, world=4, host="node")
    report = found(tmp_path)
    assert report["pipelines"][0]["sums"]["B"]["count"] == 2 * 4 * 8
    assert report["without_phase"]["kernels"] == 0 and not report["notes"]


def test_the_commands_of_the_docs(tmp_path):
    """Runs the commands of docs/pipeline.md as a user does. The sentences that it shows are true."""
    text = (harness.REPO / "docs" / "pipeline.md").read_text()
    commands = [line.strip() for line in re.findall(r"^ {4,}(syncline .*)$", text, re.MULTILINE)]
    pipeline = SCHEDULES["1f1b"]()
    replicas = Pipeline(schedules.one_f_one_b(2, 4), LENGTHS)
    job(tmp_path, pipeline)
    job(tmp_path / "far", pipeline, clocks=CLOCKS, hosts=[f"host-{i}" for i in range(4)])
    (tmp_path / "far" / "job").rename(tmp_path / "hosts")
    for folder in "replicas", "other-names":
        (tmp_path / folder).mkdir()
    for rank in range(4):
        schedules.write(tmp_path / "replicas" / f"{rank}.pt.trace.json", schedules.rows_of(replicas, rank // 2),
                        rank=rank, world=4)
        schedules.write(tmp_path / "other-names" / f"{rank}.pt.trace.json", schedules.rows_of(
            pipeline, rank, name=lambda phase, mb, chunk, i: f"fwd_{phase}_{mb}"), rank=rank, world=4)
    (tmp_path / "patterns.txt").write_text("F fwd_F_([0-9]+)\nB fwd_B_([0-9]+)\noptimizer fwd_O_-1\n")
    assert len(commands) >= 9
    said = ""
    for command in commands:
        done = subprocess.run(["bash", "-c", f'syncline() {{ "{TOOL}" "$@"; }}; set -o pipefail; {command}'],
                              cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, command + done.stdout + done.stderr
        assert done.stdout, command
        said += done.stdout
    for sentence in re.findall(r"^ *> (.*)$", text, re.MULTILINE):
        assert sentence in said, sentence


def test_the_sample(tmp_path):
    """samples/pipeline.sh prints the measured bubble beside the theoretical one, and draws it."""
    done = subprocess.run([harness.REPO / "samples" / "pipeline.sh", "--simulated", "--build", harness.BUILD, "--out",
                           tmp_path / "my out"], capture_output=True, text=True, check=False, timeout=120,
                          env=harness.environment({}))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"4 stages, 8 micro-batches.*measured, by span +\d.*in theory, 1F1B +27\.\d %", done.stdout, re.DOTALL)
    xml.etree.ElementTree.parse(tmp_path / "my out" / "pipeline.svg")
    assert "class=\"pipeline\"" in (tmp_path / "my out" / "pipeline.html").read_text()


def test_sequence_numbers_tell_the_caller(tmp_path):
    """Two threads with open ranges launch on one device. The operator on autograd's thread has the sequence number of
    a forward operator of the first thread."""
    def put(cat, name, tid, begin, end, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": begin, "dur": end - begin, "args": args}

    def kernel(n, tid, at, begin):
        return [put("cuda_runtime", "cudaLaunchKernel", tid, at, at + 1, correlation=n, cbid=211),
                put("kernel", f"k{n}", 7, begin, begin + 20, correlation=n, device=0, stream=7, context=1)]
    rows = [put("user_annotation", "F0.0.0", 1, 0, 30), put("cpu_op", "aten::mm", 1, 5, 20, **{"Sequence number": 9}),
            *kernel(1, 1, 10, 40), put("user_annotation", "B0.0.0", 1, 50, 150),
            put("user_annotation", "W0.0.0", 2, 40, 160), *kernel(2, 2, 45, 70),
            put("cpu_op", "MmBackward0", 3, 100, 130, **{"Sequence number": 9}), *kernel(3, 3, 110, 200),
            *kernel(4, 3, 140, 230)]
    path = schedules.write(tmp_path / "t.json", [dict(row, ts=row["ts"] * 1000, dur=row["dur"] * 1000) for row in rows],
                           rank=0, world=1)
    report = found(path)
    phases = {p["phase"]: p["kernels"] for p in report["pipelines"][0]["stages"][0]["phases"]}
    assert phases == {"F": 1, "B": 1, "W": 1} and report["without_phase"]["names"] == ["k4"]


@pytest.mark.parametrize("how", ["range", "repeat", "steps"])
def test_iterations_without_an_optimizer(tmp_path, how):
    """Ranges or the F of micro-batch 0 divide; numbers match the iterations of ranks that recorded others."""
    pipeline = SCHEDULES["1f1b"]()
    for s in range(4):
        first = 1 if s == 2 and how != "repeat" else 0
        rows = schedules.rows_of(pipeline, s, is_kept=lambda p: p[1] != "O" and p[0] >= first)
        for i in range(first, 3):
            times = [(begin - schedules.LAG, end - schedules.LAG) for k, _, _, _, begin, end in pipeline.phases[s] if k == i]
            name = {"range": f"iter_{s}_{i + 5}", "steps": f"ProfilerStep#{i + 5}", "repeat": "x"}[how]
            rows.append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "args": {},
                         "ts": (times[0][0] - 1000) / 1000, "dur": (times[-1][1] - times[0][0] + 1000) / 1000})
        schedules.write(tmp_path / f"{s}.pt.trace.json", rows, rank=s, world=4, host=f"h{s}", offset=CLOCKS["offset"][s])
    only, = found(tmp_path)["pipelines"]
    complete = [it["number"] for it in only["iterations"] if it["is_complete"]]
    assert complete == {"range": [6, 7], "steps": [6, 7], "repeat": [None] * 3}[how]
    assert only["bubble_by_span"] == pytest.approx(pipeline.bubble()[1], abs=.02)


def test_a_v_schedule(tmp_path):
    """Chunk 1 goes back from the last stage to the first."""
    def order(s):
        return [("F", 0, 0), ("F", 1, 0), ("F", 0, 1), ("F", 1, 1), ("B", 0, 1), ("B", 1, 1), ("B", 0, 0), ("B", 1, 0)] \
            if s < 3 else [("F", 0, 0), ("F", 0, 1), ("F", 1, 0), ("F", 1, 1), ("B", 0, 1), ("B", 0, 0), ("B", 1, 1), ("B", 1, 0)]

    class V(Pipeline):
        def neighbour(self, s, chunk, step):
            place = (s if chunk == 0 else 7 - s) + step
            return (min(place, 7 - place), place // 4) if 0 <= place < 8 else None
    pipeline = V([order(s) for s in range(4)], LENGTHS, chunks=2)
    only, = found(job(tmp_path, pipeline, clocks=CLOCKS, hosts="abcd"))["pipelines"]
    assert only["is_v"] and only["bubble_by_span"] == pytest.approx(pipeline.bubble()[1], abs=.005)


def test_replicas_are_told_by_the_messages_that_pytorch_describes(tmp_path):
    """Ranks 0 and 2 are a pipeline, and ranks 1 and 3. Their messages align the clocks, too."""
    pipeline = Pipeline(schedules.one_f_one_b(2, 8), LENGTHS)
    for rank in range(4):
        rows = schedules.rows_of(pipeline, rank // 2, described=[rank % 2, rank % 2 + 2])
        schedules.write(tmp_path / f"{rank}.pt.trace.json", rows, rank=rank, world=4, host=f"h{rank}",
                        offset=CLOCKS["offset"][rank])
    report = found(tmp_path)
    assert report["stage_order"] == "pairs"
    assert [[stage["rank"] for stage in p["stages"]] for p in report["pipelines"]] == [[0, 2], [1, 3]]
    for only in report["pipelines"]:
        clock, base = only["stages"][1]["clock"], only["stages"][0]["rank"]
        assert clock["reference_rank"] == base and 0 < clock["error_ns"] < 25_000
        offset = CLOCKS["offset"][base + 2] - CLOCKS["offset"][base]
        assert clock["offset_ns"] == pytest.approx(offset, abs=clock["error_ns"])
        assert only["bubble_by_span"] == pytest.approx(pipeline.bubble()[1], abs=.002)
        assert only["causes_ns"]["waiting"] > .9 * (only["length_ns"] - only["kernel_ns"] - only["causes_ns"]["unknown"])
    assert not any("range" in note for note in report["notes"])


def test_an_nsys_export_of_all_processes(tmp_path):
    """One file of four processes with a device each; B is launched on autograd's threads."""
    pipeline = SCHEDULES["zb-h1"]()
    d = Database(tmp_path / "a.sqlite")
    d.table("CUPTI_ACTIVITY_KIND_RUNTIME", OLD["RUNTIME"])
    d.table("CUPTI_ACTIVITY_KIND_KERNEL", OLD["KERNEL"].format(green=""))
    d.table("NVTX_EVENTS", "start end eventType text globalTid textId domainId")
    for s in range(4):
        rows = schedules.rows_of(pipeline, s)
        kernels = {row["args"]["correlation"]: row["name"] for row in rows if row["cat"] == "kernel"}
        process = 1 << 48 | (s + 1) << 24
        for row in rows:
            times = {"start": round(row["ts"] * 1000), "end": round((row["ts"] + row["dur"]) * 1000)}
            n = row["args"].get("correlation")
            if row["cat"] == "kernel":
                d.add("CUPTI_ACTIVITY_KIND_KERNEL", **times, deviceId=s, contextId=1, correlationId=n,
                      streamId=row["args"]["stream"], globalPid=process, demangledName=d.string(row["name"]))
            elif row["cat"] == "cuda_runtime":
                d.add("CUPTI_ACTIVITY_KIND_RUNTIME", **times, eventClass=0, correlationId=n, returnValue=0,
                      globalTid=process | (s + 1) + 100 * kernels[n].endswith("_B"),
                      nameId=d.string("cudaLaunchKernel_v7000"))
            else:
                d.add("NVTX_EVENTS", **times, eventType=59, textId=d.string(row["name"]), domainId=0,
                      globalTid=process | (s + 1))
    only, = found(d.done(), status=1)["pipelines"]  # a line says that the file has several processes
    assert [stage["device"] for stage in only["stages"]] == [0, 1, 2, 3]
    assert only["bubble_by_span"] == pytest.approx(pipeline.bubble()[1], abs=1e-6)
    assert only["sums"]["B"]["count"] == 2 * 4 * 8 and only["guessed"] == 0


# ---- a real job on the simulated GPU ----

def recorded(tmp_path, *options):
    """Runs samples/pipeline_like. Returns the traces by rank."""
    out = tmp_path / "out"
    done = subprocess.run(
        [harness.SIMGPU, "--build", harness.BUILD, harness.BUILD / "samples" / "pipeline_like", *options],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False,
        env=harness.environment({"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job",
                                 "CUDA_INJECTION64_PATH": str(harness.LIBRARY)}))
    assert done.returncode == 0, done.stderr
    traces = [harness.Trace(path) for path in out.rglob("*.pt.trace.json*")]
    return sorted(traces, key=lambda trace: trace.object["distributedInfo"]["rank"])


def spans(trace):
    """Returns for each range of work its name and the time from the start of its first kernel to the end of its
    last. A stage has one thread, and its ranges do not overlap."""
    ranges = [row for row in trace.of("user_annotation") if re.fullmatch(r"[FBW][\d.]+|Optimizer", row["name"])]
    launched = {row["args"]["correlation"]: row["start"] for row in trace.of("cuda_driver", "cuda_runtime")}
    kernels = [(launched[row["args"]["correlation"]], row) for row in trace.of("kernel")]
    found = []
    for row in ranges:
        of = [kernel for at, kernel in kernels if row["start"] <= at < row["end"]]
        found.append((row["name"], min(k["start"] for k in of), max(k["end"] for k in of)))
    return found


def shifted(folder, traces):
    """Writes the traces as if each came from a host of its own with another clock."""
    for rank, trace in enumerate(traces):
        plain = json.loads(trace.text)
        base, drift = plain["baseTimeNanoseconds"], CLOCKS["drift"][rank]
        plain["baseTimeNanoseconds"] = base + OFFSETS[rank]
        plain["host_name"] = f"host-{rank}"
        for row in plain["traceEvents"]:
            for name in ("ts", "dur") if row["ph"] == "X" else ("ts",):
                if name in row:
                    row[name] = round(row[name] * (1 + drift), 3)
        (folder / f"{rank}.pt.trace.json").write_text(json.dumps(plain))


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved", "zb-h1"])
def test_recorded_stages_on_hosts_of_their_own(tmp_path, schedule):
    """The bubble is right to 1 %, and aligned times to 2 us or to the error that is printed, with clocks that are 1 s
    apart and drift by 50 ppm."""
    traces = recorded(tmp_path, "--schedule", schedule)
    assert len(traces) == 4
    truth = [spans(trace) for trace in traces]
    per = len(truth[0]) // 3
    assert [len(phases) for phases in truth] == [3 * per] * 4
    ends = [max(end for phases in truth for *_, end in phases[i * per:(i + 1) * per]) for i in range(3)]
    busy = sum(max(0, min(end, ends[2]) - max(begin, ends[0])) for phases in truth for _, begin, end in phases)
    bubble = 1 - busy / (4 * (ends[2] - ends[0]))

    (tmp_path / "hosts").mkdir()
    shifted(tmp_path / "hosts", traces)
    for folder in tmp_path / "out", tmp_path / "hosts":
        only, = found(folder)["pipelines"]
        assert only["bubble_by_span"] == pytest.approx(bubble, abs=.01)
        assert [stage["rank"] for stage in only["stages"]] == [0, 1, 2, 3]
        for stage, phases in zip(only["stages"], truth):
            times = [p["begin_ns"] for p in stage["phases"] if p["phase"] in ("F", "B", "W", "optimizer")]
            assert len(times) == len(phases) and stage["causes_ns"]["waiting"] > 0
            for begin_ns, (_, begin, _) in zip(times, phases):
                assert begin_ns == pytest.approx(begin, abs=max(2000, stage["clock"]["error_ns"]))
