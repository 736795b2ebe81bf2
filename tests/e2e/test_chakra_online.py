"""Tests the Chakra file that a running job writes beside its Kineto file."""
import collections
import os
import pathlib
import signal
import subprocess

import pytest

import chakra
import harness
from chakra_live import check_live
from test_chakra_replay import REPLAYED, check_ends, record_sample

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def the_et(run: harness.Run, pattern: str = "*.et.zst") -> chakra.Et:
    (path,) = run.files(pattern)
    return chakra.Et(path)


def check(path: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True, timeout=60)


def same_operations(et: chakra.Et, trace: harness.Trace) -> None:
    """Checks that each GPU operation of the Kineto file is one node with its times, and that there are no
    other GPU nodes."""
    base = et.header["clock_base_ns"]
    assert collections.Counter((n.correlation, n.attr["stream"], n.start + base, n.end + base)
                               for n in et.gpu) == \
        collections.Counter((r["args"]["correlation"], r["args"]["stream"], r["start"], r["end"])
                            for r in trace.of(*GPU))


@pytest.mark.sanitize
@pytest.mark.parametrize("name", REPLAYED)
def test_beside_the_kineto_file(tmp_path, name):
    run = record_sample(tmp_path / "run", name)
    trace, et = run.trace(), the_et(run)
    assert et.path.name == "1.0.et.zst" and et.path.parent == trace.path.parent
    assert et.path.stat().st_mode & 0o777 == 0o600
    assert not chakra.broken(et)
    same_operations(et, trace)
    # For every wait in the simulator's truth, the file has a path from the source to the waiting node.
    counters = trace.counters
    assert counters["chakra_nodes"] == len(et.nodes)
    assert counters["chakra_edges"] == counters["edges"] > 0
    assert not any(counters[f"chakra_{what}"] for what in
                   ("edges_left_out", "rows_left_out", "forced", "failed"))
    assert check(et.path).returncode == 0 and check(trace.path).returncode == 0
    check_ends(et, run, trace.path)


@pytest.mark.parametrize("name", REPLAYED)
def test_every_edge_of_the_kineto_file_is_a_dependency(tmp_path, name):
    run = record_sample(tmp_path / "run", name)
    et, edges = the_et(run), run.trace().edges()
    gpu, waits = collections.defaultdict(set), collections.defaultdict(list)
    for node in et.gpu:
        gpu[node.correlation].add(node.id)
    for node in et.nodes:
        if not node.cpu or node.name.endswith(".wait"):
            waits[node.correlation, "end" if node.cpu else "start"].append(node)
    assert edges
    for edge in edges:
        assert any(gpu[edge["src_correlation"]] & set(node.deps)
                   for node in waits[edge["dst_correlation"], edge["dst_point"]]), edge


def test_operations_whose_calls_are_not_recorded_are_counted(tmp_path):
    steps = tmp_path / "steps"  # the steps use the driver API
    steps.write_text("\n".join(["0 use 0", "0 stream 2 1", *["0 kernel 2 50", "0 ssync 2 1"] * 5]) + "\n")
    run = harness.run(tmp_path, harness.BUILD / "tests" / "e2e" / "random_waits", steps,
                      kinds="kernel,memcpy,memset,runtime,sync")
    et = the_et(run)
    assert [node.attr.get("no_launch") for node in et.gpu] == [True] * 5
    assert run.trace().counters["chakra_no_launch"] == 5
    told = check(et.path)
    assert told.returncode == 0
    assert "warning: 5 GPU operations whose CUDA call is not in the file" in told.stdout
    assert "SYNCLINE_KINDS" in told.stdout


@pytest.mark.parametrize("name", REPLAYED)
def test_as_converted_from_the_kineto_file(tmp_path, name):
    run = record_sample(tmp_path / "run", name)
    assert len(check_live(run.out, tmp_path)) == 1


@pytest.mark.parametrize("steps", ["context stream kernel:3 start sleep:100 syncall sleep:500 kernel:5 syncall",
                                   "context start sleep:600 graph:8 syncall"])
def test_a_window_as_converted(go, tmp_path, steps):
    """A window opens after a lead-in. The job's Chakra file equals the converted file, although in
    the Kineto file only edges name the operations of the lead-in and the awaited node of a graph."""
    run = go(f"{steps} stop windows:1", window="demand", lead_in="200ms")
    trace = run.trace()
    assert trace.edges()
    assert len(check_live(run.out, tmp_path)) == 1


@pytest.mark.parametrize("form, suffix", [("gzip", ".gz"), ("raw", "")])
def test_compressed(go, form, suffix):
    run = go("context stream kernel:50 sync", chakra=form)
    et = the_et(run, f"*.et{suffix}")
    assert len(et.gpu) == 50 and not chakra.broken(et)


def test_off(go):
    run = go("context kernel:5 sync", chakra="off", log="warn")
    assert [p.name for p in run.files("*")] == ["1.pt.trace.json.zst"] and run.said() == []


def test_too_little_memory_for_it(go):
    run = go("context kernel:5 sync", memory="32MiB", log="warn")
    assert [p.name for p in run.files("*")] == ["1.pt.trace.json.zst"]
    (said,) = run.said()
    assert "too small for Chakra execution traces" in said and "64MiB" in said
    assert len(run.trace().of("kernel")) == 5


@pytest.mark.sanitize
def test_each_window_has_its_own(go):
    run = go("context kernel:3 sync start sleep:300 kernel:5 sync stop windows:1 kernel:7 sync "
             "start sleep:300 kernel:11 sync stop windows:2", window="demand", lead_in="0")
    names = [p.name for p in run.files("*")]
    assert names == ["1.0.et.zst", "1.pt.trace.json.zst", "2.0.et.zst", "2.pt.trace.json.zst"]
    for path, kernels, trace in zip(run.files("*.et.zst"), (5, 11), run.traces(), strict=True):
        et = chakra.Et(path)
        assert not chakra.broken(et) and len(et.gpu) == kernels
        same_operations(et, trace)
        assert et.header["clock_base_ns"] == trace.object["syncline"]["opened_ns"]
        assert trace.counters["chakra_nodes"] == len(et.nodes)


def test_the_rank_is_in_the_name(go):
    run = go("context kernel:5 sync", RANK="3", WORLD_SIZE="8")
    et = the_et(run)
    assert et.path.name == "1.3.et.zst"
    assert (et.header["rank"], et.header["world_size"]) == (3, 8)


@pytest.mark.sanitize
@pytest.mark.parametrize("form", ["raw", "zstd"])
def test_a_killed_job_leaves_whole_nodes(go, form):
    run = go("context kernel:20 syncall sleep:3000 kill", chakra=form)
    assert run.status == harness.signal_status(signal.SIGKILL)
    (path,) = run.files("*.et*.part")
    assert check(path).returncode in (0, 1)
    whole = path.with_name("whole.0.et")
    done = subprocess.run([harness.TOOL, "convert", path, "--to", "chakra", "-o", whole],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    et = chakra.Et(whole)
    assert not chakra.broken(et) and len(et.gpu) == 20
    assert check(whole).returncode == 0


@pytest.mark.sanitize
def test_a_forked_child_does_not_touch_it(go):
    run = go("context kernel:5 sync fork kernel:5 sync exit:2", log="warn",
             ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    et = the_et(run)
    assert len(et.gpu) == 10 and not chakra.broken(et)


def test_a_full_disk_is_said_once_and_what_fitted_stays(go, small_disk):
    run = go("context " + "kernel:3000 syncall sleep:1100 " * 6 + "return:3", log="warn",
             output=str(small_disk))
    assert run.status == 3
    # syncline prints one line for each file that could not be written: the Kineto file, the Chakra file, or
    # both. The window may also have ended before the disk was full.
    said = [line.split("cannot write ")[-1].split(": ")[0] for line in run.said()
            if "No space left" in line or "stay free" in line]
    assert 1 <= len(said) == len(set(said)), said
    for path in run.files("*.et*"):  # no file is left if the disk was full before the file's first sync
        assert check(path).returncode in (0, 1)  # 1 means that the file is truncated between two nodes
    assert "1" in run.files()[0].name and harness.Trace(run.files()[0]).events


@pytest.mark.sanitize
def test_a_busy_job(go):
    """Several threads launch as fast as they can. The file has every operation in order, and no
    edge is missing."""
    run = go("context threads:8 " + "kernel:2000 " * 5 + "syncall", log="warn")
    et, trace = the_et(run), run.trace()
    assert not chakra.broken(et)
    same_operations(et, trace)
    assert trace.counters["chakra_edges"] + trace.counters["chakra_edges_left_out"] == \
        trace.counters["edges"]
