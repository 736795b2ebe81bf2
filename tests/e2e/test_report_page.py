"""Tests the page of `syncline report --html`: the file, and the page in headless Chromium."""
import base64
import csv
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import re
import stat
import subprocess

import pytest

from browser import CHROMIUM, browser
from edges_tool import launch, operation, write
from real_traces import TRACES, real
from test_report import rank_trace, report, step, two_steps
from test_tool import TOOL, one_line, run

PROBE = (pathlib.Path(__file__).parent / "page_probe.js").read_text()
HOSTILE = "k<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'&amp;\u2028" + "n" * 100_000


def hostile_page(tmp_path) -> pathlib.Path:
    rows = two_steps()
    for row in rows:
        row["name"] = row["name"].replace("k11", HOSTILE)
    run("report", "--html", tmp_path / "r.html", write(tmp_path / "t.json", rows))
    return tmp_path / "r.html"


def data_of(page) -> dict:
    """Returns the report in the page, with tables as --json has them."""
    text = re.search(r'id="report">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1]
    data = json.loads(gzip.decompress(base64.b64decode(text)))
    for table in data["metrics"].values():
        for column, values in zip(table["columns"], table["values"]):
            if column["type"] == "string":
                values[:] = [id_ and data["names"][id_] for id_ in values]
            elif column["name"].startswith("begin_"):
                values[:] = itertools.accumulate(map(int, values))
        table["rows"] = [list(row) for row in zip(*table["values"])]
    return data


def is_near(a, b) -> bool:
    return a == b or isinstance(a, float) and isinstance(b, (int, float)) and abs(a - b) <= 1e-7 * abs(a)


def assert_same(found: list[list], expected: list[list]):
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected):
        assert len(row) == len(wanted) and all(map(is_near, wanted, row)), (row, wanted)


def test_the_page_is_one_file_that_loads_nothing(tmp_path):
    page = hostile_page(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    assert text.count("</script>") == 3, "a name ends no script"
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    nonce, = set(re.findall(r"script-src 'nonce-([0-9a-f]{32})'", text))
    assert "default-src 'none'" in text
    assert len(re.findall(rf'<(?:script|style)[^>]* nonce="{nonce}"', text)) == 4
    data, found = data_of(page), report(tmp_path / "t.json")
    assert data["findings"] == found["findings"]
    assert list(data["metrics"]) == list(found["metrics"])
    for name, table in found["metrics"].items():
        assert_same(data["metrics"][name]["rows"], table["rows"])
    assert any(HOSTILE[:50] in str(row) for row in data["metrics"]["kernels"]["rows"])


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = write(tmp_path / "t.json", two_steps())
    assert "cannot write" in one_line(run("report", "--html", tmp_path / "none" / "r.html", path, status=2)[1])
    (tmp_path / "r.html").mkdir()
    run("report", "--html", tmp_path / "r.html", path, status=2)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.html", "t.json"]


def many_kernels(count) -> list[dict]:
    rows, numbers = [], random.Random(7)
    for i in range(count):
        rows += launch(i + 1, 10 * i, 10 * i + 3, 10 * i + 4 + numbers.randrange(6))
        rows[-1]["name"] = "".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=60))
    return rows


def test_a_page_that_would_be_too_large_has_the_first_rows_of_each_rank(tmp_path):
    path = write(tmp_path / "t.json", many_kernels(20_000))
    run("report", "--html", tmp_path / "r.html", path)
    assert (tmp_path / "r.html").stat().st_size < 1_000_000
    table, found = data_of(tmp_path / "r.html")["metrics"]["kernels"], report(path)["metrics"]["kernels"]["rows"]
    assert 1000 < len(table["rows"]) < len(found) == table["total"]
    assert_same(table["rows"], found[:len(table["rows"])])


# ---- in a browser ----

def browse(page, dark=False) -> dict:
    """Opens the page in Chromium, and returns what page_probe.js found. Nothing was loaded, and no error shown."""
    with browser(page, page.parent / "profile", dark) as opened:
        found = opened.run(PROBE)
        found["pdf"] = base64.b64decode(opened.call("Page.printToPDF", printBackground=True)["data"])
        assert (opened.requests, opened.said) == ([], [])
        assert opened.run("document.querySelector('img, main script')") is None
    return found


def ranks_of_two(tmp_path, count) -> list[pathlib.Path]:
    """Makes files of so many ranks from the two of a real job: other numbers, times and lengths."""
    numbers, paths = random.Random(5), []
    texts = [gzip.decompress((TRACES / f"two_ranks.rank-{i}.json.gz").read_bytes()) for i in (0, 1)]
    for rank in range(count):
        trace, shift, factor = json.loads(texts[rank % 2]), numbers.randrange(3000), 1 + numbers.random() / 8
        base = min(row["ts"] for row in trace["traceEvents"] if row["ph"] == "X")
        for row in trace["traceEvents"]:
            if row["ph"] != "M" and "ts" in row:
                row["ts"] = round(base + (row["ts"] - base) * factor) + shift
                row["dur"] = round(row.get("dur", 0) * factor)
        trace["distributedInfo"].update(rank=rank, world_size=count)
        paths.append(tmp_path / f"rank-{rank:02}.json")
        paths[-1].write_text(json.dumps(trace))
    return paths


# The charts that each table gives if its rows have what they show.
CHARTS = {
    "parts": {"Where a step went", "Each step"}, "steps": {"Length of each step"},
    "ranks": {"Median step of each rank", "Part of a step in which the GPU waits for launches"},
    "busy": {"How busy each GPU was over time"}, "short_kernels": {"Kernels by length"},
    "flops": {"Speed of the operators with the most time"},
    "collectives": {"Time of collectives"},
    "overlap": {"Computing, other work and idle time", "Work that runs side by side", "Communication hidden by computing"},
    "idle": {"Idle time by cause", "Idle time by place, in a step"}, "waits": {"Waits by line of code, in a step"},
    "launch": {"Mean delay from a launch to its start", "Short kernels, slow calls and late kernels"},
    "launch_outliers": {"Slow calls and late kernels over time"},
    "streams": {"Idle time of each stream", "Length of the idle intervals"},
    "queue": {"Length of the queue"}, "queue_series": {"Length of the queue over time"},
    "kernels": {"Kernels and copies with the most time"}, "copies": {"Copies and memsets"},
    "bandwidth": {"Bandwidth of copies and memsets"}, "bandwidth_series": {"Bandwidth over time"},
    "annotations": {"GPU time of each range"}, "annotation_kernels": {"Kernels of the ranges"},
    "delay": {"From an operator's begin to its kernel, mean"}, "sequences": {"Frequent sequences of kernels"},
}


def saved_rows(text: str, columns: list[dict]) -> list[list]:
    """Returns the rows of a CSV file, as JSON has them."""
    head, *rows = csv.reader(io.StringIO(text))
    assert head == [column["name"] for column in columns]
    return [[None if value == "" else value if column["type"] == "string" else json.loads(value)
             for value, column in zip(row, columns)] for row in rows]


@pytest.mark.full(seconds=60)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
@real
@pytest.mark.parametrize("ranks", [1, 64])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path, ranks, theme):
    """Everything that a reader can do: charts, choices, tables, CSV and PNG, print; nothing is loaded or faint."""
    page = tmp_path / "r.html"
    run("report", "--html", page, *ranks_of_two(tmp_path, ranks))
    assert page.stat().st_size < 1_000_000
    found, data = browse(page, theme == "dark"), data_of(page)
    assert found["isDark"] == (theme == "dark")
    assert found["faint"] == []
    assert set.union(*CHARTS.values()) <= set(found["charts"])
    assert found["choices"] >= 10
    assert found["zooms"]
    for (low, high), (zoomed_low, zoomed_high), (right_low, right_high), end in found["zooms"]:
        assert low < zoomed_low < right_low and zoomed_high < right_high <= high
        assert end == [low, high]
    for title in found["charts"]:
        file = re.sub(r"[^A-Za-z0-9]+", "-", title).lower()
        assert len(found["saved"][f"{file}.csv"].splitlines()) > 1, title
        width, height, size = found["pictures"][f"{file}.png"]
        assert width > 300 and height > 60 and size > 1000, title
    tables = {name: table for name, table in data["metrics"].items() if table["rows"]}
    assert set(found["tables"]) == set(tables)
    for name, table in tables.items():
        shown = found["tables"][name]
        assert_same(saved_rows(found["saved"][f"{name}.csv"], table["columns"]), table["rows"])
        assert shown["rows"] == min(100, len(table["rows"]))
        if "sorted" in shown:
            assert shown["sort"] == "ascending"
            assert shown["sorted"][0] in shown["filtered"]
            assert len(set(shown["filtered"])) < max(2, len({row[-1] for row in table["rows"]}))
    assert found["print"]["box"] == "#ffffff"
    assert set(found["print"]["widths"]) == {"680px"}
    assert found["after"] == ("#1d2025" if theme == "dark" else "#ffffff")


@pytest.mark.full(seconds=5)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
def test_ranks_that_wait_for_each_other_in_a_browser(tmp_path):
    run("report", "--html", tmp_path / "r.html", rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 3, 70))
    found = browse(tmp_path / "r.html")
    assert {"Time of collectives", "Bus bandwidth of collectives", "Who waited for whom"} <= set(found["charts"])
    assert list(csv.reader(io.StringIO(found["saved"]["who-waited-for-whom.csv"]))) == [["rank", "the others waited for it", "it waited for others"], ["0", "0", "40000"], ["1", "40000", "0"]]


@pytest.mark.full(seconds=5)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
def test_hostile_names_and_print_in_a_browser(tmp_path):
    page = hostile_page(tmp_path)
    found = browse(page)
    assert any(HOSTILE[:60] in value for value in found["tables"]["kernels"]["sorted"])
    assert len(re.findall(rb"/Type /Page\b", found["pdf"])) > 1


def test_the_page_replaces_only_files(tmp_path):
    """A link stays, and its target is replaced. What is no file is refused before anything is read or written."""
    trace = write(tmp_path / "t.json", two_steps())
    before = trace.read_bytes()
    page, link, pipe = (tmp_path / name for name in ["page.html", "link.html", "pipe"])
    page.write_text("old")
    link.symlink_to(page)
    run("report", "--html", link, trace)
    assert link.is_symlink() and "<html" in page.read_text(encoding="utf-8")
    os.mkfifo(pipe)
    to_pipe, dangling, to_trace = (tmp_path / name for name in ["to-pipe", "dangling", "to-trace"])
    for path, target in [(to_pipe, pipe), (dangling, tmp_path / "none"), (to_trace, trace)]:
        path.symlink_to(target)
    for out, expected in [(pipe, "is not a regular file"), (to_pipe, "is not a regular file"),
                          (dangling, "is not a regular file"), (tmp_path, "is a directory"),
                          (trace, "is the input"), (to_trace, "is the input")]:
        text, error = run("report", "--html", out, trace, status=2)
        assert text == "" and expected in one_line(error)
    with open(page, "w", encoding="utf-8") as f:
        done = subprocess.run([TOOL, "report", "--html", page, trace], stdout=f, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
    assert done.returncode == 2 and "is standard output" in one_line(done.stderr)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and trace.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dangling", "link.html", "page.html", "pipe", "t.json", "to-pipe", "to-trace"]


@pytest.mark.parametrize("rows, head, why", [
    ([step(1, 0, 100)], "; steps 1..1; incomplete", "No GPU operation in the chosen steps"),
    ([], "0 GPUs; incomplete", "No GPU operation in the recording"),
    ([step(1, 0, 100), *launch(1, 5, 10, 10)], "; steps 1..1; complete",
     "All GPU operations in the chosen steps have a length of 0"),
    (launch(1, 5, 10, 8), "; no steps; incomplete", "All GPU operations in the chosen steps have a length of 0"),
    ([operation("kernel", "k", 1, -50, -40)], "0 GPUs; incomplete",
     "No GPU operation could be read, and events with impossible ids or times were left out (1)"),
], ids=["no operation", "no event", "no length", "impossible ends", "impossible begins"])
def test_nothing_to_report_says_why(tmp_path, rows, head, why):
    """On the screen and on the page."""
    page, path = tmp_path / "r.html", write(tmp_path / "t.json", rows)
    out, _ = run("report", "--html", page, path, status=int("incomplete" in head))
    data, line = data_of(page), " ".join(out.split())
    assert head in line and data["head"] in line and data["verdict"] in line
    assert data["verdict"] == f"{why}, so there is nothing to report."
    assert " each" not in line and "0 ns" not in line
