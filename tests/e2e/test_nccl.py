"""What NCCL's profiler interface adds to a trace: each NCCL kernel, and the call that launches it, say which collective
they are. Compared with what the simulated NCCL did."""
import collections
import os
import sys

import pytest

import harness

PROGRAM = harness.REPO / "tests" / "e2e" / "programs" / "collectives.py"
VERBS = ["AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AlltoAll", "Send", "Recv", "Gather",
         "Scatter"]
OPS = ["Sum", "Product", "Max", "Min", "Avg", "PreMulSum"]
TYPES = {7: "ncclFloat32", 9: "ncclBfloat16"}


def go(tmp_path, *steps, nccl="2.28", **options):
    options = {"SYNCLINE_NCCL": "calls", "python": "0", "window": "run", **options}
    run = harness.run(tmp_path, sys.executable, PROGRAM, *steps, sim=["--cuda", "13", "--devices", "2", "--nccl", nccl],
                      **options)
    assert run.status == 0, run.stderr
    return run


def described(row):
    """Returns what a row's args say about a collective, without the args of every row."""
    return {name: value for name, value in row["args"].items()
            if name.startswith(("NCCL", "Comm")) or name in ("Algorithm", "Protocol", "Channels", "Reduction")}


def truth_of(run, row):
    correlation = row["args"]["correlation"]
    return next(line for line in run.truth_of("nccl") if line["before"] < correlation <= line["after"])


def expected(line, nccl):
    verb = VERBS[line["verb"]]
    args = {"NCCL call": verb, "NCCL count": line["count"], "NCCL dtype": TYPES[line["type"]],
            "NCCL bytes": line["count"] * line["size"], "Comm": f"0x{line['hash']:016x}", "Comm ranks": line["ranks"],
            "Comm rank": line["rank"], "Channels": 1}
    if verb in ("Broadcast", "Reduce", "Gather", "Scatter"):
        args["NCCL root"] = line["peer"]
    if "Reduce" in verb:
        args["Reduction"] = OPS[min(line["op"], 5)]
    if verb in ("Send", "Recv"):
        args["NCCL peer"] = line["peer"]
    elif verb == "Broadcast" and nccl not in ("2.27", "2.28"):  # reported only as a call
        del args["Channels"]
    elif verb not in ("AlltoAll", "Gather", "Scatter"):
        args |= {"Algorithm": "RING", "Protocol": "LL", "NCCL number": line["number"]}
    return args


def check(run, trace, nccl="2.28"):
    """Checks the kernels and their launching calls, and returns the number of kernels that are described."""
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_driver", "cuda_runtime")}
    found = 0
    for kernel in trace.of("kernel"):
        line = truth_of(run, kernel)
        args = described(kernel)
        assert args == expected(line, nccl)
        assert described(calls[kernel["args"]["correlation"]]) == args
        found += 1
    others = [row for row in trace.of("gpu_memcpy", "gpu_memset") if described(row)]
    assert not others
    assert trace.counters["nccl_unjoined"] == trace.counters["nccl_odd_events"] == 0
    return found


@pytest.mark.parametrize("nccl", ["2.28", "2.29", "2.31"])
def test_each_kernel_is_described(tmp_path, nccl):
    run = go(tmp_path, "init", "all", "count=77", "all", "group", "destroy", nccl=nccl)
    trace = run.trace()
    assert len(trace.of("kernel")) == 2 * 9 * 2 + 2 == len(run.truth_of("nccl"))
    shared = [row for row in trace.of("kernel") if truth_of(run, row)["tasks"] > 1]
    for row in shared:
        args = described(row)
        assert args["NCCL call"] == "mixed" and args["NCCL calls in kernel"] == 2 and args["NCCL bytes"] == 77 * 4 * 2
        assert args["Comm rank"] == truth_of(run, row)["rank"]
    assert len(shared) == 2
    trace.events = [row for row in trace.events if row not in shared]
    assert check(run, trace, nccl) == 36
    assert trace.counters["nccl_launches"] == 38


def test_call_is_merged_with_its_range(tmp_path):
    """NVTX's range of a call gives the reduction, and names AlltoAll, Gather and Scatter, which NCCL's profiler reports
    as messages. Each call is one range, with what the program passed."""
    trace = go(tmp_path, "init", "all").trace()
    ranges = [row for row in trace.of("user_annotation") if row["args"].get("domain") == "NCCL"]
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_driver", "cuda_runtime")}
    assert len(ranges) == 18
    for row in ranges:
        kernel, = [kernel for kernel in trace.of("kernel") if launched_in(row, calls[kernel["args"]["correlation"]])]
        assert row["name"] == "nccl" + kernel["args"]["NCCL call"]
        assert row["args"]["payload"]["Message size [bytes]"] == kernel["args"]["NCCL bytes"]
        assert row["args"]["payload"].get("Reduction operation") == kernel["args"].get("Reduction")
        assert f"0x{row['args']['payload']['NCCL communicator ID']:016x}" == kernel["args"]["Comm"]


def launched_in(row, call):
    return call["tid"] == row["tid"] and row["start"] <= call["start"] <= row["end"]


def test_ranges_are_off(tmp_path):
    """Without NVTX there is no reduction, and an AlltoAll is what NCCL's profiler says: several messages. The calls are
    marks, like the ranges that are missing."""
    trace = go(tmp_path, "init", "all", NCCL_NVTX_DISABLE="1").trace()
    found = [described(row) for row in trace.of("kernel")]
    assert len(found) == 18 and not any("Reduction" in args for args in found)
    assert sum(args.get("NCCL calls in kernel") == 4 and args["NCCL call"] == "mixed" for args in found) == 2
    assert sum(args["NCCL call"] == "AllReduce" for args in found) == 2
    marks = collections.Counter(row["name"] for row in trace.events if row.get("args", {}).get("domain") == "NCCL")
    assert marks["ncclAllReduce"] == marks["ncclBroadcast"] == 2 and marks.keys() == {"nccl" + verb for verb in VERBS[:5]} | {
        "ncclSend", "ncclRecv"}
    for row in trace.events:
        if row["name"] == "ncclReduce":
            assert row["args"]["payload"] == {"NCCL communicator ID": int(found[0]["Comm"], 16),
                                              "Message size [bytes]": 4000, "Root": 1}
        if row["name"] in ("ncclAllReduce", "ncclSend"):  # as in NVTX: these functions have no root
            assert "Root" not in row["args"]["payload"]
    assert trace.counters["nccl_odd_events"] == 0


def test_replays_are_described(tmp_path):
    """A kernel in a graph is the collective that was captured, in each replay, though NCCL reports nothing then."""
    run = go(tmp_path, "init", "all", "capture", "replay", "replay", "sync", "all", "destroy", graph_edges="1")
    trace = run.trace()
    captured = run.truth_of("nccl")[18:36]
    for device in range(2):
        kernels = sorted((row for row in trace.of("kernel") if row["args"]["device"] == device), key=lambda row: row["start"])
        assert len(kernels) == 4 * 9 and sum("graph node id" in row["args"] for row in kernels) == 2 * 9
        lines = [line for line in captured if line["rank"] == device]
        for replay in (kernels[9:18], kernels[18:27]):
            for row, line in zip(replay, lines, strict=True):
                args = {name: value for name, value in expected(line, "2.28").items()
                        if name not in ("Algorithm", "Protocol", "Channels", "NCCL number")}
                assert described(row) == args
    trace.events = [row for row in trace.events if "graph node id" not in row.get("args", ())]
    assert check(run, trace) == 36


def test_graph_that_is_captured_before_the_window(tmp_path):
    """NCCL reports nothing outside windows, so only NVTX says what is captured there."""
    run = go(tmp_path, "init", "all", "capture", "sync", "open", "replay", "sync", "close", window="demand", lead_in="0s",
             graph_edges="1")
    (trace,) = run.traces()
    captured = run.truth_of("nccl")[18:]
    for device in range(2):
        kernels = sorted((row for row in trace.of("kernel") if row["args"]["device"] == device), key=lambda row: row["start"])
        for row, line in zip(kernels, [line for line in captured if line["rank"] == device], strict=True):
            args = {name: value for name, value in expected(line, "2.28").items()
                    if name not in ("Algorithm", "Protocol", "Channels", "NCCL number", "NCCL count", "NCCL dtype",
                                    "Comm rank")}  # both ranks are in this process
            assert described(row) == args


def test_launches_that_are_not_reported(tmp_path):
    """NCCL 2.27 reports neither calls nor launches. Its kernels are found by NVTX's ranges, also in groups, beside
    other work of the thread."""
    run = go(tmp_path, "init", "fill", "all", "fill", "group", "count=77", "fill", "pair", "fill", "destroy", nccl="2.27")
    trace = run.trace()
    ours = [row for row in trace.of("kernel") if "nccl" in row["name"]]
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_driver", "cuda_runtime")}
    assert len(ours) == len(run.truth_of("nccl")) == 22 and len(trace.of("gpu_memset")) == 8
    for row in ours:
        line, args = truth_of(run, row), described(row)
        verb = VERBS[line["verb"]]
        if line["tasks"] > 1:
            assert args["NCCL call"] == "mixed" and args["NCCL bytes"] == line["count"] * 4 * 2
            assert args["Comm rank"] == line["rank"]
        else:
            wanted = expected(line, "2.27")
            if verb in ("AllGather", "Broadcast"):  # reported in bytes
                wanted |= {"NCCL count": wanted["NCCL bytes"], "NCCL dtype": "ncclInt8"}
            assert args == wanted
        assert described(calls[row["args"]["correlation"]]) == args
    assert not any(described(row) for row in trace.of("gpu_memset"))
    assert sum("NCCL call" in row["args"] for row in calls.values()) == 22
    assert trace.counters["nccl_unjoined"] == trace.counters["nccl_odd_events"] == 0


@pytest.mark.parametrize("nccl", ["2.29", "2.31"])
def test_copies_are_described(tmp_path, nccl):
    """A collective that copy engines run has no kernel. Its copies say what they belong to, and no other copy does."""
    run = go(tmp_path, "init", "copy", "all", "copy", nccl=nccl, NCCL_CTA_POLICY="ZERO")
    trace = run.trace()
    copies = [row for row in trace.of("gpu_memcpy") if described(row)]
    assert len(copies) == 4 * 2 * 2 and len(trace.of("gpu_memcpy")) == len(copies) + 4
    for row in copies:
        line = truth_of(run, row)
        args = expected(line, nccl)
        for name in ("Channels", "Protocol", "NCCL number"):
            args.pop(name, None)
        assert described(row) == args | {"Algorithm": "CE", "NCCL CE number": line["number"]}
    trace.events = [row for row in trace.events if row.get("cat") != "gpu_memcpy"]
    assert check(run, trace, nccl) == 5 * 2


def test_each_communicator_is_told_apart(tmp_path):
    """Communicators that are split, aborted or created again, and several in one group. A communicator that is created
    again from the same id has the same hash, and counts its collectives anew."""
    run = go(tmp_path, "again", "split", "both", "both", "sync", "abort", "destroy", "again", "split", "both", "sync",
             "abort", "all", "destroy")
    trace = run.trace()
    lines = run.truth_of("nccl")
    seen, hashes = 0, {line["hash"] for line in lines}
    assert len(hashes) == 2 and len(lines) == 3 * 4 + 18
    for kernel in trace.of("kernel"):
        line = truth_of(run, kernel)
        args = described(kernel)
        instance = 1 + (lines.index(line) >= 8)
        assert args.pop("Comm instance", 1) == instance
        assert args == expected(line, "2.28")
        seen += 1
    assert seen == len(lines) and trace.counters["nccl_unjoined"] == trace.counters["nccl_odd_events"] == 0


@pytest.mark.parametrize("nccl", ["2.27", "2.28"])
def test_communicators_that_do_not_block(tmp_path, nccl):
    """A thread of NCCL's launches the kernels. Calls, launches and collectives come from two threads."""
    run = go(tmp_path, "nonblocking", "all", "pair", "count=77", "all", "destroy", nccl=nccl)
    trace = run.trace()
    if nccl == "2.28":
        assert check(run, trace) == 2 * 18 + 2
        return
    for kernel in trace.of("kernel"):  # NCCL 2.27 reports collectives without their calls
        line, args = truth_of(run, kernel), described(kernel)
        assert args["Comm rank"] == line["rank"] and args["NCCL bytes"] >= line["count"] * line["size"]


def test_user_tag(tmp_path):
    trace = go(tmp_path, "init", "tag", "all", nccl="2.31").trace()
    tags = [row["args"].get("NCCL user tag") for row in sorted(trace.of("kernel"), key=lambda row: row["start"])]
    assert tags.count(4711) == 2 and tags.count(None) == 18


def test_default_stream(tmp_path):
    run = go(tmp_path, "init", "default", "all", "sync", "destroy")
    assert check(run, run.trace()) == len(run.truth_of("nccl")) > 14


@pytest.mark.parametrize("options", [{"nccl": "2.25"}, {"SYNCLINE_NCCL": "off"}, {"NCCL_PROFILER_PLUGIN": "none"},
                                     {"NCCL_PROFILER_PLUGIN": "/nowhere/libmine.so"}])
def test_plugin_is_not_loaded(tmp_path, options):
    trace = go(tmp_path, "init", "all", **options).trace()
    assert len(trace.of("kernel")) == 18 and not any(described(row) for row in trace.of("kernel"))


def test_fork_with_a_version_7_of_its_own_is_refused(tmp_path):
    """Some copies of NCCL below 2.31, changed by others, have another plugin version 7."""
    run = go(tmp_path, "init", "all", "group", "destroy", "init", "all", "destroy", nccl="2.28-fork")
    assert sum("version 22809) is not 2.31 or later but asks for plugin version 7" in line for line in run.said()) == 1
    rows = run.trace().of("kernel")
    assert len(rows) == len(run.truth_of("nccl")) > 28 and not any("Algorithm" in row["args"] for row in rows)


def test_users_plugin_is_named(tmp_path):
    run = go(tmp_path, "init", "all", NCCL_PROFILER_PLUGIN="none", log="info")
    assert sum("NCCL_PROFILER_PLUGIN is set" in line for line in run.said()) == 1


@pytest.mark.parametrize("how", ["variable", "library path", "network plugin"])
def test_other_plugin_takes_precedence(tmp_path, how):
    other = harness.BUILD / "tests" / "e2e" / "other_plugin" / "libnccl-profiler.so"
    net = tmp_path / "libnccl-net-test.so"
    net.write_bytes(other.read_bytes())
    options = {"variable": {"NCCL_PROFILER_PLUGIN": str(other)}, "library path": {"LD_LIBRARY_PATH": str(other.parent)},
               "network plugin": {}}[how]
    run = go(tmp_path, *[f"load={net}"] * (how == "network plugin"), "init", "all", log="info", **options)
    said = "NCCL_PROFILER_PLUGIN is set" if how == "variable" else "NCCL has another profiler plugin"
    assert sum(said in line for line in run.said()) == 1, run.stderr
    assert run.stderr.count("other plugin\n") == (0 if how == "network plugin" else 2)
    assert not any(described(row) for row in run.trace().of("kernel"))


def test_environment_is_unchanged(tmp_path):
    """The plugin is loaded without a variable that the process or its children could see."""
    run = harness.run(tmp_path, sys.executable, "-c", "import ctypes, os\n"
                      "ctypes.CDLL('libnccl.so.2')\n"
                      "ctypes.CDLL('libcudart.so.13').cudaFree(None)\n"
                      "get = ctypes.CDLL(None).getenv\nget.restype = ctypes.c_char_p\n"
                      "print(get(b'NCCL_PROFILER_PLUGIN'))\nos.system('env')", sim=["--cuda", "13"], python="0", SYNCLINE_NCCL="calls")
    assert run.stdout.startswith("None") or "None\n" in run.stdout
    assert "NCCL_PROFILER_PLUGIN" not in run.stdout


def test_windows(tmp_path):
    """Only kernels in windows are described, also if a window opens or closes inside a group. After a window, NCCL
    still stops the last call of the thread."""
    run = go(tmp_path, "init", "all", "sync", "open", "all", "sync", "close", "all", "half:open", "all", "sync",
             "half:close", "all", "fork", "open", "group", "sync", "close", "destroy", window="demand", lead_in="0s")
    traces = run.traces()
    assert len(traces) == 3
    assert check(run, traces[0]) == 18
    numbers = [row["args"]["NCCL number"] for row in traces[0].of("kernel")
               if row["args"]["NCCL call"] == "AllReduce"]
    assert numbers == [1, 1]
    assert sum(bool(described(row)) for row in traces[1].of("kernel")) >= 18
    assert traces[2].counters["nccl_odd_events"] == 0
    assert [described(row)["NCCL call"] for row in traces[2].of("kernel")] == ["mixed", "mixed"]


def test_path_is_too_long(tmp_path):
    folder = tmp_path / ("x" * 200) / ("y" * 60)
    folder.mkdir(parents=True)
    library = folder / "libsyncline.so"
    library.write_bytes(harness.LIBRARY.read_bytes())
    library.chmod(0o755)
    run = go(tmp_path, "init", "all", log="info", CUDA_INJECTION64_PATH=str(library), SYNCLINE_HOME=os.devnull)
    assert any("longer than NCCL's limit" in line for line in run.said()), run.stderr
    assert not any(described(row) for row in run.trace().of("kernel"))
