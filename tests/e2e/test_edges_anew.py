"""`syncline edges` and `convert` on files that other programs have written anew: syncline's own with
their members in another order, and several processes' in one."""
import json
import subprocess

import pytest

from edges_tool import edges, launch, stream_sync, write
from test_tool import TOOL, one_line, run


@pytest.fixture
def own(go):
    """A trace's object and its edges."""
    trace = go("context stream kernel:5 copy event sync blocking long:60 syncall").trace()
    found, lost = edges(trace.path)
    assert found and not lost
    return json.loads(trace.text), found


def anew(path, members, **how):
    """By Python's json."""
    text = json.dumps(members, **how)
    path.write_text(text)
    return path


def behind(members):
    """The same, all else behind the events."""
    return {"traceEvents": members["traceEvents"], **members}


ORDERS = {"sorted": (dict, {"sort_keys": True}), "behind": (behind, {}), "same": (dict, {"indent": 1})}


@pytest.mark.parametrize("order", ORDERS)
def test_members_in_another_order(own, tmp_path, order):
    members, told = own
    arrange, how = ORDERS[order]
    path = anew(tmp_path / "anew.json", arrange(members), **how)
    found, lost = edges(path)
    assert found == told and not lost
    nodes = tmp_path / "anew.0.et"
    out, _ = run("convert", path, "--to", "chakra", "-o", nodes)
    assert f" {len(told)} synchronization edges" in out


def test_rows_of_edges_that_are_gone(own, tmp_path):
    """Somebody kept nothing but slices."""
    members, told = own
    members["traceEvents"] = [e for e in members["traceEvents"] if e["ph"] != "M"]
    path = anew(tmp_path / "anew.json", members)
    words = f"{len(told)} rows of edges are missing of the {len(told)} that the job wrote"
    assert words in run("edges", "--json", path, status=1)[1]
    assert words in run("convert", path, "--to", "chakra", "-o", tmp_path / "o.0.et", status=1)[1]


def test_such_a_file_from_a_pipe(own, tmp_path):
    path = anew(tmp_path / "anew.json", behind(own[0]))
    with path.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        result = subprocess.run([TOOL, "edges", "--json", "/dev/stdin"], stdin=cat.stdout,
                                capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "it must be read twice, which a pipe cannot be" in one_line(result.stderr)


def test_processes_in_one_file(tmp_path):
    """Merged traces of two ranks: both have a GPU 0 and ids from 1."""
    rows = launch(1, 100, 110, 200) + stream_sync(2, 120, 85)
    others = [{**each, "pid": 4712} for each in rows]
    write(tmp_path / "two.json", rows + others)
    _, error = run("edges", "--json", tmp_path / "two.json", status=1)
    assert "calls are of another process than the first" in error
    assert "the edges are not to be trusted; give the file of each process" in error
