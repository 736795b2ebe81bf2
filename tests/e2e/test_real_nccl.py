"""NVIDIA's own libnccl.so and syncline: the layout of NCCL's events, how NCCL loads syncline's profiler plugin, what
kernels are described as, and the NVTX payloads of NCCL's calls. Without a GPU, NCCL makes no communicator. So these
tests call the functions inside NCCL that load plugins and send events (programs/real_nccl.py)."""
import functools
import itertools
import re
import subprocess
import sys

import pytest

import harness
import nccl_library
from tiers import full_but

PROGRAM = harness.REPO / "tests" / "e2e" / "programs" / "real_nccl.py"
OTHER = harness.BUILD / "tests" / "e2e" / "other_plugin" / "libnccl-profiler.so"
VERSIONS = ["2.27.7", "2.28.9", "2.30.7", "2.32.3"]
COUNT, ROOT, PEER, RANK, RANKS = (1 << 33) + 5, 1, 2, 3, 4
COMM = {"Comm": "0xabcdef0123456789", "Comm ranks": RANKS, "Comm rank": RANK}
COLLECTIVES = ["Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"]
FIRST_NUMBER = 1 << 40
each_version = pytest.mark.parametrize("version", full_but(["2.28.9"], VERSIONS, 1))
with_launches = pytest.mark.parametrize("version", full_but(["2.28.9"], VERSIONS[1:], 1))


@functools.cache
def library(version):
    """Returns the path of a libnccl.so.2. Skips the test if it cannot be had."""
    got = subprocess.run([harness.REPO / "tests" / "nccl.sh", version], capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(got.stderr.strip().splitlines()[-1])
    return got.stdout.strip()


def go(tmp_path, version, *steps, **options):
    options = {"SYNCLINE_NCCL": "calls", "python": "0", "window": "demand", "lead_in": "0s", **options}
    steps = [f"load={library(version)}" if step == "load" else step for step in steps]
    run = harness.run(tmp_path, sys.executable, PROGRAM, str(COUNT), *steps, sim=["--cuda", "13"], **options)
    assert run.status == 0, run.stderr
    return run


def loaded(run):
    """Returns for each step `print` whether a plugin was loaded."""
    return [line.startswith("loaded 1") for line in run.stdout.splitlines()]


def described(row):
    return {name: value for name, value in row["args"].items()
            if name.startswith(("NCCL", "Comm")) or name in ("Algorithm", "Protocol", "Channels")}


# ---- layout ----

# Members whose names in collect/nccl/abi.h are not NCCL's in another spelling.
RENAMED = {"parent": "parentObj", "dtype": "datatype", "number": "seqNumber", "send": "sendBuff",
           "receive": "recvBuff", "buffer": "buff", "channels": "nChannels", "warps": "nWarps", "algorithm": "algo",
           "protocol": "proto", "channel": "channelId", "timer": "pTimer", "steps": "nSteps", "is_captured":
           "graphCaptured", "depth": "groupDepth", "tag": "userTag", "variant": "kernelVariant", "ranks": "nRanks",
           "operations": "numOps", "ops": "numOps", "bytes": "totalBytes", "group": "parentGroup",
           "number_ce": "ceSeqNum", "chunk_bytes": "chunkSize", "sync": "syncStrategy"}


LATER = {"tag"}  # members that old versions do not have


def place_in(structure, path):
    """Returns the offset of a member that abi.h calls `path`, or None if this version has no such member."""
    members, place = structure[1], 0
    for name in path.split("."):
        camel = re.sub(r"_(\w)", lambda match: match[1].upper(), name)
        found = RENAMED.get(name, camel) if RENAMED.get(name, camel) in members else camel
        if found not in members:
            return None if members is structure[1] or name in LATER else "missing"
        place += members[found][0]
        members = members[found][2] or {}
    return place


@each_version
def test_events_have_the_layout_of_nccl(version):
    """Compares the offsets that collect/nccl/abi.h asserts with NCCL's debug information."""
    structures = nccl_library.Library(library(version)).structures()
    event = next(structure for name, structure in structures.items() if name.startswith("ncclProfilerEventDescr_v"))
    text = (harness.REPO / "runtime" / "collect" / "nccl" / "abi.h").read_text()
    ours = {path: int(place) for path, place in re.findall(r"SL_NCCL_AT\(([a-z_0-9.]+), (\d+)\)", text)}
    theirs = {path: place_in(event, path) for path in ours}
    assert len(ours) > 20 and ours == {path: ours[path] if place is None else place for path, place in theirs.items()}
    assert {path for path in ours if path.startswith(("coll.", "p2p."))} <= {
        path for path, place in theirs.items() if place is not None}
    assert (event[1]["type"][1] == 1) == (version == "2.27.7")
    assert event[1]["coll"][2]["nChannels"][1] == event[1]["p2p"][2]["nChannels"][1] == 1
    assert {event[1]["coll"][2][name][1] for name in ("seqNumber", "count", "func", "datatype", "algo", "proto")} == {8}


# ---- events ----

def expected(function, version):
    args = {"NCCL call": function, "NCCL count": COUNT, "NCCL dtype": "ncclFloat32", "NCCL bytes": COUNT * 4, **COMM}
    if function in ("Send", "Recv"):
        return {**args, "NCCL peer": PEER, "Channels": 2}
    args |= {"Algorithm": "RING", "Protocol": "SIMPLE", "Channels": 3,
             "NCCL number": FIRST_NUMBER + COLLECTIVES.index(function)}
    return {**args, "NCCL root": ROOT} if function in ("Broadcast", "Reduce") else args


@with_launches
@pytest.mark.parametrize("order", [["load", "cuda"], ["cuda", "load", "open", "close"]], ids="-".join)
def test_each_kernel_is_described(tmp_path, version, order):
    """A library that is loaded after CUDA is found at the next pass of the recorder thread, at a window at the latest."""
    run = go(tmp_path, version, *order, "open", "init", "print", "all", "both", "finalize", "close")
    trace = run.traces()[-1]
    assert loaded(run) == [True]
    *kernels, both = sorted(trace.of("kernel"), key=lambda row: row["start"])
    for kernel, function in zip(kernels, [*COLLECTIVES, "Send", "Recv"], strict=True):
        assert described(kernel) == expected(function, version)
    assert described(both) == {"NCCL call": "mixed", "NCCL calls in kernel": 2, "NCCL bytes": COUNT * 8, **COMM}
    assert trace.counters["nccl_unjoined"] == trace.counters["nccl_odd_events"] == 0


@pytest.mark.full(seconds=1)
def test_version_4_of_the_plugin(tmp_path):
    """NCCL 2.27 sends neither calls nor launches. The kernels are those launched before the collectives' events."""
    run = go(tmp_path, "2.27.7", "load", "cuda", "open", "init", "print", "all", "both", "finalize", "close")
    assert loaded(run) == [True]
    kernels = sorted(run.trace().of("kernel"), key=lambda row: row["start"])
    for kernel, function in zip(kernels, [*COLLECTIVES, "Send", "Recv", "mixed"], strict=True):
        assert described(kernel)["NCCL call"] == function


@with_launches
def test_nothing_is_described_outside_windows(tmp_path, version):
    """NCCL stops the last call of a thread again and again, also after the window."""
    run = go(tmp_path, version, "load", "cuda", "init", "all", "open", "all", "close", "all", "both", "open", "both",
             "close", "finalize")
    first, second = run.traces()
    assert len(first.of("kernel")) == 7 and all(map(described, first.of("kernel")))
    assert [described(row)["NCCL call"] for row in second.of("kernel")] == ["mixed"]
    assert first.counters["nccl_odd_events"] == second.counters["nccl_odd_events"] == 0


@pytest.mark.full(seconds=1)
def test_two_copies_of_nccl(tmp_path):
    """Each copy has its own mask."""
    run = go(tmp_path, "2.28.9", "load", f"load={library('2.32.3')}", "cuda", "open", "init", "use=0", "init", "both",
             "use=1", "both", "print", "close", "print", "use=0", "print", "finalize", "use=1", "finalize")
    assert [described(row)["NCCL call"] for row in run.trace().of("kernel")] == ["mixed"] * 2
    assert [line.split()[-1] == "0" for line in run.stdout.splitlines()] == [False, True, True]


# ---- loading ----

WAYS = {"slot": "NCCL_PROFILER_PLUGIN=", "path": f"NCCL_PROFILER_PLUGIN={harness.LIBRARY}",
        "none": "NCCL_PROFILER_PLUGIN=none"}


@with_launches
@pytest.mark.parametrize("ways", itertools.permutations(WAYS), ids="-".join)
def test_ways_of_loading_in_every_order(tmp_path, version, ways):
    """NCCL looks for a plugin again after its last communicator. If it finds none, it never looks again."""
    first, *others = ways
    steps = [step for way in others for step in (WAYS[way], "init", "print", "both", "finalize")]
    run = go(tmp_path, version, WAYS[first], "load", "cuda", "open", "init", "print", "both", "finalize", *steps,
             "close")
    until = ways.index("none")
    assert loaded(run) == [True] * until + [False] * (3 - until)
    assert [bool(described(row)) for row in run.trace().of("kernel")] == loaded(run)


@with_launches
@pytest.mark.parametrize("how", ["variable", "library path", "nccl.conf", "off"])
def test_user_decides(tmp_path, version, how):
    """A plugin of the user, and the user's `none`, take precedence."""
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_PROFILER_PLUGIN=none\n")
    options = {"variable": {"NCCL_PROFILER_PLUGIN": str(OTHER)}, "library path": {"LD_LIBRARY_PATH": str(OTHER.parent)},
               "nccl.conf": {"NCCL_CONF_FILE": str(conf)}, "off": {"SYNCLINE_NCCL": "off"}}[how]
    is_other = how in ("variable", "library path")
    run = go(tmp_path, version, "load", "cuda", "open", "fail", "init", "print", "both", "finalize", "close",
             log="info", **options)
    assert loaded(run) == [is_other] and run.stderr.count("other plugin\n") == is_other
    assert not any(map(described, run.trace().of("kernel")))
    said = {"variable": "NCCL_PROFILER_PLUGIN is set", "library path": "NCCL has another profiler plugin"}.get(how)
    assert not said or sum(said in line for line in run.said()) == 1, run.stderr


@with_launches
def test_library_that_was_not_injected_is_a_silent_plugin(tmp_path, version):
    options = {"NCCL_PROFILER_PLUGIN": str(harness.LIBRARY), "SYNCLINE_NCCL": "calls"}
    run = harness.run(tmp_path, sys.executable, PROGRAM, "1", f"load={library(version)}", "cuda", "init", "print",
                      "all", "finalize", "init", "both", "finalize", sim=["--cuda", "13"], inject=False, **options)
    assert run.status == 0, run.stderr
    assert loaded(run) == [True] and not run.stderr and not run.files("*")


# ---- NVTX ----

@each_version
def test_payloads_of_calls(tmp_path, version):
    run = go(tmp_path, version, "load", "cuda", "open", "fail", "close")
    rows = [row for row in run.trace().of("user_annotation") if row["args"].get("domain") == "NCCL"]
    size = {"NCCL communicator ID": 0, "Message size [bytes]": COUNT * 4}
    own = {"AllReduce": {"Reduction operation": "Sum"}, "Broadcast": {"Root": ROOT},
           "Reduce": {"Root": ROOT, "Reduction operation": "Sum"}, "AllGather": {},
           "ReduceScatter": {"Reduction operation": "Sum"}, "Send": {"Peer rank": PEER}, "Recv": {"Peer rank": PEER}}
    if version != "2.27.7":
        own |= {"AlltoAll": {}, "Gather": {"Root": ROOT}, "Scatter": {"Root": ROOT}}
    payloads = {row["name"]: row["args"]["payload"] for row in rows if "payload" in row["args"]}
    assert payloads == {"nccl" + name: {**size, **members} for name, members in own.items()}
