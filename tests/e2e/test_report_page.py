"""Tests the page of `syncline report --html`: the file, and the page in headless Chromium."""
import json
import re
import shutil
import subprocess

import pytest

from edges_tool import write
from test_report import rank_trace, report, two_steps
from test_tool import one_line, run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "k<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'&amp;\u2028" + "n" * 100_000


def hostile_page(tmp_path) -> str:
    rows = two_steps()
    for row in rows:
        row["name"] = row["name"].replace("k11", HOSTILE)
    run("report", "--html", tmp_path / "r.html", write(tmp_path / "t.json", rows))
    return (tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_page_is_one_file_that_loads_nothing(tmp_path):
    text = hostile_page(tmp_path)
    assert len(text) < 1_000_000
    assert text.count("</script>") == 3, "a name ends no script"
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    nonce, = set(re.findall(r"script-src 'nonce-([0-9a-f]{32})'", text))
    assert "default-src 'none'" in text
    assert len(re.findall(rf'<(?:script|style)[^>]* nonce="{nonce}"', text)) == 5
    data = json.loads(re.search(r'id="report" nonce="\w+">(.*?)</script>', text, re.S)[1])
    found = report(tmp_path / "t.json")
    assert data["findings"] == found["findings"]
    assert {name: table["rows"] for name, table in data["metrics"].items()} == {
        name: table["rows"] for name, table in found["metrics"].items()}
    assert any(HOSTILE[:50] in str(row) for row in data["metrics"]["kernels"]["rows"])


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = write(tmp_path / "t.json", two_steps())
    assert "cannot write" in one_line(run("report", "--html", tmp_path / "none" / "r.html", path, status=2)[1])
    (tmp_path / "r.html").mkdir()
    run("report", "--html", tmp_path / "r.html", path, status=2)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.html", "t.json"]


def browse(page, *options) -> tuple[str, list[str]]:
    """Returns the document after its scripts have run, and what the console said."""
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=5000", f"--user-data-dir={page.parent / 'profile'}", *options, "--dump-dom",
         page.as_uri()], capture_output=True, text=True, timeout=240)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.full(seconds=20)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_page_in_a_browser(tmp_path, ranks):
    if ranks == 1:
        hostile_page(tmp_path)
        charts = {"Where a step went", "Length of each step", "Idle time by cause and place",
                  "Waits by line of code", "Kernels and copies", "Work that runs side by side",
                  "Delay from launch to start, mean", "Copies and memsets"}
    else:
        run("report", "--html", tmp_path / "r.html", rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 3, 70))
        charts = {"Where a step went", "Kernels and copies, mean of 2 ranks"}
    document, console = browse(tmp_path / "r.html")
    assert console == []
    assert "<img" not in document
    drawn = set(re.findall(r'aria-label="Chart: (.*?)\. The table', document))
    assert charts <= drawn, drawn
    assert document.count("<canvas") >= len(drawn)
    assert document.count("<table") >= 8
    assert 'class="findings"' in document and "</li>" in document
