"""Converts whole jobs (`convert FOLDER`), for HTA too, and parts of traces (`convert --steps`)."""
import collections
import gzip
import json
import subprocess

import harness
import pytest
from test_runs import launch
from test_tool import check, make_trace, one_line, problems, run

# Two windows of three steps, with a wait, a copy and a launch in each step.
STEPS = "context stream " + 8 * "kernel:2 copy:4096 sync kernel syncall step "


def convert(*arguments, status=0, **options):
    return run("convert", *arguments, status=status, **options)


def rank_of(path) -> int:
    with gzip.open(path, "rt") as file:
        return json.load(file)["distributedInfo"]["rank"]


def make_job(folder, ranks=2, windows=("1", "2"), run_id="r") -> None:
    """Makes the files of a job without recording it."""
    text = make_trace(3).decode().replace('"rank": 5', '"rank": RANK').replace(
        '{\n"schemaVersion"', '{\n"generator":"syncline 9.9","job":"J","run_id":"ID","run_start_ns":5,"schemaVersion"', 1)
    for rank in range(ranks):
        own = folder / f"host-{rank}-{100 + rank}"
        own.mkdir(parents=True)
        for window in windows:
            (own / f"{window}.pt.trace.json").write_text(text.replace("RANK", str(rank)).replace("ID", run_id))


# ---- several traces ----

@pytest.mark.sanitize
def test_a_job_for_hta(tmp_path):
    """Each rank once, of the newest window that all ranks have. It can be run again with --force, also when
    there are fewer ranks."""
    make_job(tmp_path / "out" / "J", windows=("9", "10"))
    (tmp_path / "out/J/host-1-101/10.pt.trace.json").rename(tmp_path / "out/J/host-1-101/10.pt.trace.json.part")
    newest = tmp_path / "out/J/host-0-100/10.pt.trace.json"
    newest.with_name("11.pt.trace.json").write_bytes(newest.read_bytes())  # only one rank has it
    for _ in range(2):
        out, error = convert(tmp_path / "out/J", "--to", "hta", "--window", "10", "--force", cwd=tmp_path)
        assert "2 ranks of window 10, job J, run r" in out and 'TraceAnalysis(trace_dir="hta")' in out
        assert error == ""
    out, _ = convert(tmp_path / "out/J", "--to", "hta", "-f", cwd=tmp_path)
    assert "2 ranks of window 9" in out
    assert sorted(map(rank_of, (tmp_path / "hta").iterdir())) == [0, 1]
    alone = tmp_path / "out/J/host-0-100"
    assert "use --force" in one_line(convert(alone, "--to", "hta", status=2, cwd=tmp_path)[1])
    convert(alone, "--to", "hta", "--force", "--window", "9", cwd=tmp_path)
    assert [path.name for path in (tmp_path / "hta").iterdir()] == ["rank-0.pt.trace.json.gz"]


def test_hta_reads_one_job(tmp_path):
    """A folder may hold several jobs, and the folder for HTA may hold other files."""
    make_job(tmp_path / "out" / "J")
    make_job(tmp_path / "out" / "K")
    for path in (tmp_path / "out/K").rglob("*.json"):
        path.write_text(path.read_text().replace('"job":"J"', '"job":"K"').replace('_ns":5', '_ns":6'))
    out, error = convert(tmp_path / "out", "--to", "hta", "-d", tmp_path / "h")
    assert "job K" in out and "left out: 4 traces of other jobs" in one_line(error)
    (tmp_path / "h" / "mine.json").write_text("{}")
    assert "mine.json is in the folder" in one_line(
        convert(tmp_path / "out/J", "--to", "hta", "-d", tmp_path / "h", "-f", status=2)[1])
    assert "HTA reads a folder: --out-dir" in one_line(convert("x", "--to", "hta", "-o", "x", status=2)[1])


@pytest.mark.sanitize
def test_a_job_in_other_formats(tmp_path):
    """Outputs keep the names of their inputs, with the folders above if names repeat."""
    make_job(tmp_path / "out" / "J", windows=("1",))
    convert(tmp_path / "out", "--to", "kineto-zst", "--out-dir", tmp_path / "k")
    assert sorted(str(p.relative_to(tmp_path / "k")) for p in (tmp_path / "k").rglob("*.zst")) == [
        "host-0-100/1.pt.trace.json.zst", "host-1-101/1.pt.trace.json.zst"]
    convert(*(tmp_path / "out").rglob("*.json"), "--to", "chakra", "--out-dir", tmp_path / "c")
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["1.0.et", "1.1.et"]
    assert "exists: use --force" in one_line(
        convert(tmp_path / "out", "--to", "chakra", "-d", tmp_path / "c", status=2)[1])
    assert "2 traces" in one_line(convert(tmp_path / "out", "-o", tmp_path / "x.json", status=2)[1])
    assert "no window '2': there are 1" in one_line(
        convert(tmp_path / "out", "--window", "2", "--to", "kineto", "-d", "x", status=2)[1])


def test_the_name_tells_the_format(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(make_trace())
    for name, start in (("a.json", b"{"), ("a.json.gz", b"\x1f\x8b"), ("a.json.zst", b"\x28\xb5"), ("a.0.et", b"")):
        convert(path, "-o", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert run("check", "-q", tmp_path / "a.0.et")
    assert "does not tell the format" in one_line(convert(path, "-o", tmp_path / "a", status=2)[1])
    assert "--to is missing" in one_line(convert(path, "--out-dir", tmp_path, status=2)[1])


# ---- a part of a trace ----

def ids(trace, *categories):
    return collections.Counter(row["args"]["correlation"] for row in trace.of(*categories))


@pytest.mark.sanitize
def test_steps(tmp_path):
    """The part has the calls of the steps, all GPU operations of these calls and no others, and it is valid. A
    part of the part is the same as a part of the whole."""
    launch(tmp_path, 1, STEPS)
    (path,) = (tmp_path / "out").rglob("*.json.zst")
    part, again, twice = (tmp_path / name for name in ("part.json.zst", "again.json", "twice.json"))
    assert convert(path, "--steps", "2..4", "-o", part) == ("", "")
    assert problems(check(part)).keys() <= {"wait_unknown_record"}
    whole, cut = harness.Trace(path), harness.Trace(part)
    steps = [row for row in whole.of("user_annotation") if row["name"] in
             {f"ProfilerStep#{n}" for n in (2, 3, 4)}]
    begin, end = min(row["start"] for row in steps), max(row["end"] for row in steps)
    calls = ids(whole, "cuda_driver", "cuda_runtime")
    inside = {row["args"]["correlation"] for row in whole.of("cuda_driver", "cuda_runtime")
              if begin <= row["start"] < end}
    assert inside and inside < calls.keys()
    assert ids(cut, "cuda_driver", "cuda_runtime").keys() == inside
    for category in ("kernel", "gpu_memcpy", "cuda_sync"):
        assert ids(cut, category) == {k: n for k, n in ids(whole, category).items() if k in inside}
    assert len(cut.of("kernel")) == 9
    assert cut.edges() == [edge for edge in whole.edges() if edge["dst_correlation"] in inside]
    assert cut.flows() == [row for row in whole.flows() if row["id"] in inside]
    assert cut.flows("sync") and len(cut.flows("sync")) % 2 == 0
    assert cut.object["cutSteps"] == [2, 4]
    convert(path, "--steps", "3", "-o", again)
    convert(part, "--steps", "3..3", "-o", twice)
    assert again.read_text() == twice.read_text()
    assert run("edges", part)[1] == "" and "steps 2 to 4" in run("check", part)[0]
    convert(part, "-o", tmp_path / "part.0.et")
    run("check", tmp_path / "part.0.et")


def test_steps_that_are_not_there(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace())
    out = tmp_path / "o.json"
    assert "has no steps" in one_line(convert(path, "--steps", "1..2", "-o", out, status=2)[1])
    row = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 42, "tid": 43, "ts": 100, "dur": 50}
    path.write_text(make_trace().decode().replace('{"ph":"X"', json.dumps(row) + ',{"ph":"X"', 1))
    assert "does not have all steps from 7 to 8: it has 7 to 7" in one_line(convert(path, "--steps", "7..8", "-o", out, status=2)[1])
    assert "give FIRST..LAST" in one_line(convert(path, "--steps", "8..7", "-o", out, status=2)[1])
    done = subprocess.run([harness.TOOL, "convert", "-", "--steps", "7", "-o", out], input=path.read_bytes(),
                          capture_output=True, check=False)
    assert done.returncode == 2 and b"name a file" in done.stderr
    convert(path, "--steps", "7", "-o", out)
    assert check(out)["gpu_operations"] == 5 and not out.with_suffix(".part").exists()
