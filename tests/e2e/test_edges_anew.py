"""Runs `syncline edges` and `convert` on files that other programs rewrote. These are traces of syncline with
their members in another order, and files with several processes."""
import collections
import copy
import json
import subprocess

import pytest

from edges_tool import edges, launch, stream_sync, write
from test_tool import TOOL, one_line, run


def old_form(members):
    """Returns the object in the form that syncline wrote before edges were in the args of calls: each edge is a
    metadata row behind its call, followed by its arrow, and metadata rows have the names of GPU operations."""
    rows, numbers = [], {}
    given = copy.deepcopy(members["traceEvents"])
    arrows = collections.deque(row for row in given if row.get("cat") == "sync" and row["ph"] in "sf")

    def number(name, pid):
        if name not in numbers:
            numbers[name] = len(numbers) + 1
            rows.append({"ph": "M", "name": "sync_name", "pid": pid, "tid": 0, "id": numbers[name],
                         "args": {"name": name}})
        return numbers[name]

    for row in given:
        own_edge = row["name"] == "sync_edge"
        found = [row["args"]] if own_edge else row.get("args", {}).pop("sync_edges", [])
        if not own_edge and (row.get("cat") != "sync" or row["ph"] not in "sf"):
            rows.append(row)
        for edge in found:
            if not own_edge:
                edge |= {"dst_correlation": row["args"]["correlation"], "dst_name": row["name"],
                         "dst_thread": row["tid"], "dst_stream": None, "dst_point": "end"}
            for key in ["src_name"] + ["dst_name"] * (edge["dst_point"] == "start"):
                edge[key] = number(edge[key], row["pid"])
            rows.append({"ph": "M", "name": "sync_edge", "pid": row["pid"], "tid": row["tid"], "args": edge})
            if edge["wait_ns"]:
                rows += [arrows.popleft(), arrows.popleft()]
    return {**members, "traceEvents": rows}


@pytest.fixture
def now(go):
    """Returns the JSON object of a trace that syncline wrote, and its edges. Two edges are those of one call, and
    some are those of a GPU operation."""
    trace = go("context stream kernel:5 copy event sync blocking long:60 stream kernel:2 syncall").trace()
    found, lost = edges(trace.path)
    assert found and not lost
    return json.loads(trace.text), found


@pytest.fixture
def old(now):
    """Returns the same trace in the form of older versions, and its edges."""
    return old_form(now[0]), now[1]


@pytest.fixture(params=["now", "old"])
def own(request):
    return request.getfixturevalue(request.param)


def anew(path, members, **how):
    """Writes the object to `path` with Python's json module."""
    text = json.dumps(members, **how)
    path.write_text(text)
    return path


def behind(members):
    """Returns the object with all other members moved after the events."""
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
    """Another program kept only the slices. `edges` and `convert` report that the edges are missing."""
    members, told = own
    members["traceEvents"] = [e for e in members["traceEvents"] if e["ph"] == "X"]
    for row in members["traceEvents"]:
        row.get("args", {}).pop("sync_edges", None)
    path = anew(tmp_path / "anew.json", members)
    words = f"{len(told)} sync edges are missing of the {len(told)} that the job wrote"
    assert words in run("edges", "--json", path, status=1)[1]
    assert words in run("convert", path, "--to", "chakra", "-o", tmp_path / "o.0.et", status=1)[1]


def test_such_a_file_from_a_pipe(own, tmp_path):
    path = anew(tmp_path / "anew.json", behind(own[0]))
    with path.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        result = subprocess.run([TOOL, "edges", "--json", "/dev/stdin"], stdin=cat.stdout,
                                capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "must be read twice, which a pipe does not allow" in one_line(result.stderr)


def reversed_rows(own, tmp_path):
    return anew(tmp_path / "anew.json", {**own[0], "traceEvents": own[0]["traceEvents"][::-1]})


def in_one_order(found):
    return sorted(json.dumps(edge) for edge in found)


def test_rows_in_reverse(own, tmp_path):
    """The rows are reversed, so names follow the edges that use them. The edges and their names are complete."""
    path = reversed_rows(own, tmp_path)
    found, lost = edges(path)
    assert in_one_order(found) == in_one_order(own[1]) and not lost
    assert all(edge["src_name"] and edge["dst_name"] for edge in found)


def test_one_name_behind_its_edge(old, tmp_path):
    """The row of one name comes after the edges with that name. The tool prints all edges once, in
    the order of the file."""
    rows = old[0]["traceEvents"]
    names = [row for row in rows if row["name"] == "sync_name"]
    assert len(names) > 1
    rest = [row for row in rows if row is not names[-1]]
    path = anew(tmp_path / "anew.json", {**old[0], "traceEvents": [*rest, names[-1]]})
    assert edges(path) == (old[1], {})
    assert run("edges", "--summary", path)[0].splitlines()[1:] == run(
        "edges", "--summary", anew(tmp_path / "same.json", old[0]))[0].splitlines()[1:]


def test_reversed_rows_from_a_pipe(old, tmp_path):
    path = reversed_rows(old, tmp_path)
    done = subprocess.run([TOOL, "edges", "--json", "-"], input=path.read_bytes(), capture_output=True,
                          check=True)
    assert len(done.stdout.splitlines()) == len(old[1])
    assert "names in sync edges come after their edges and are unknown here" in one_line(done.stderr.decode())


def test_names_that_are_gone(old, tmp_path):
    rows = [row for row in old[0]["traceEvents"] if row["name"] != "sync_name"]
    path = anew(tmp_path / "anew.json", {**old[0], "traceEvents": rows})
    out, error = run("edges", "--json", path)
    assert len(out.splitlines()) == len(old[1])
    assert "names in sync edges have no event in the file" in one_line(error)


CHROME = {"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}


@pytest.mark.parametrize("how", [{"indent": 1}, {"separators": (",", ":")}], ids=["indent", "dense"])
def test_convert_makes_no_metadata_that_other_programs_refuse(old, tmp_path, how):
    """TraceLens ends at metadata whose names Chrome's format does not have."""
    members, told = old
    members["traceEvents"].insert(3, {"name": "distributedInfo", "ph": "M", "ts": 1, "pid": 1, "tid": 0,
                                      "args": {"rank": 3, "world_size": 4}})
    out = tmp_path / "out.json"
    run("convert", anew(tmp_path / "old.json", members, **how), "--to", "kineto", "-o", out)
    rows = json.loads(out.read_text())["traceEvents"]
    assert {row["name"] for row in rows if row["ph"] == "M"} == CHROME
    assert sum(row["name"] == "sync_edge" for row in rows) == len(told)
    first = min(row["ts"] for row in rows if row["ph"] == "X")
    assert all(row["ts"] >= first for row in rows if row["name"].startswith("sync_"))
    assert edges(out) == (told, {})
    if "indent" in how:  # HTA finds the rank only behind a space
        run("check", out)
    again = tmp_path / "again.json"
    run("convert", out, "--to", "kineto", "-o", again)
    assert again.read_bytes() == out.read_bytes()


def test_convert_parts_steps_that_touch(tmp_path):
    """torch-tb-profiler drops steps that touch or cross when their times are doubles."""
    def step(number, ts, dur, tid=5, **args):
        return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": tid,
                "args": args, "ts": ts, "dur": dur}

    rows = [step(1, 4812844422600.064, 15405.789), step(2, 4812844438005.853, 23621.434, payload={"ts": 7}),
            step(3, 4812844461627.287, 10.0), step(9, 4812844461637.287, 1.5, tid=6),
            step(4, 4812844461637.5, 10.0)]
    text = json.dumps({"traceEvents": rows, "distributedInfo": {"rank": 0}})
    (tmp_path / "t.json").write_text(text)
    run("convert", tmp_path / "t.json", "--to", "kineto", "-o", tmp_path / "out.json")
    out = (tmp_path / "out.json").read_text()
    made = json.loads(out)["traceEvents"]
    assert [(row["ts"], row["dur"]) for row in made] == [
        (4812844422600.064, 15405.789), (4812844438005.855, 23621.432), (4812844461627.289, 9.998),
        (4812844461637.287, 1.5), (4812844461637.5, 10.0)]
    assert made[1]["args"] == {"payload": {"ts": 7}}
    steps = [row for row in made if row["tid"] == 5]
    assert all(a["ts"] + a["dur"] < b["ts"] for a, b in zip(steps, steps[1:]))
    run("convert", tmp_path / "out.json", "--to", "kineto", "-o", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == out


def test_processes_in_one_file(tmp_path):
    """A file has the merged traces of two ranks. Both ranks have a GPU 0 and correlation ids from
    1. The tool reports that the edges may be wrong."""
    rows = launch(1, 100, 110, 200) + stream_sync(2, 120, 85)
    others = [{**each, "pid": 4712} for each in rows]
    write(tmp_path / "two.json", rows + others)
    _, error = run("edges", "--json", tmp_path / "two.json", status=1)
    assert "calls belong to another process than the first" in error
    assert "the edges are unreliable; pass the file of each process" in error


def test_processes_named_by_texts(tmp_path):
    """SGLang merges traces and writes the rank into the `pid`, which then is a text. The tool
    notices that the file has two processes."""
    rows = launch(1, 100, 110, 200) + stream_sync(2, 120, 85)
    merged = [{**each, "pid": f"[TP{rank:02}] {each['pid']}"} for rank in range(2) for each in rows]
    write(tmp_path / "two.json", merged)
    calls = sum(each["cat"] == "cuda_runtime" for each in rows)
    for command in [["edges", "--json"], ["convert", "--to", "chakra", "-o", tmp_path / "two.0.et"]]:
        _, error = run(*command, tmp_path / "two.json", status=1)
        assert f"{calls} calls belong to another process than the first" in error
    write(tmp_path / "one.json", merged[:len(rows)])
    assert "another process" not in run("edges", "--json", tmp_path / "one.json")[1]


def test_processes_with_one_number(tmp_path):
    """Two containers have the same pid. The tool notices that the file has two processes, because
    correlation ids repeat. A driver call inside a runtime call has the same id, and is not mistaken
    for a second process."""
    rows = launch(1, 100, 110, 200) + stream_sync(2, 120, 85)
    inside = {**rows[2], "cat": "cuda_driver", "name": "cuStreamSynchronize", "ts": 121, "dur": 84}
    write(tmp_path / "one.json", [inside, *rows])
    assert "unreliable" not in run("edges", "--json", tmp_path / "one.json")[1]
    others = [{**each, "ts": each["ts"] + 1000} for each in rows]
    write(tmp_path / "two.json", rows + others)
    for command in [["edges", "--json"], ["convert", "--to", "chakra", "-o", tmp_path / "two.0.et"]]:
        _, error = run(*command, tmp_path / "two.json", status=1)
        assert "2 calls share a correlation id with another call" in error
