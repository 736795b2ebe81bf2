"""NVTX ranges and marks of the program are in the trace. They are on their threads and on the GPU's
streams, whichever NVTX functions made them. The job is not affected."""
import json
import subprocess

import harness
import pytest

RANGES = harness.BUILD / "tests" / "e2e" / "ranges"


@pytest.fixture
def ranges(tmp_path):
    """Returns a function that runs steps of programs/ranges: ranges("context push:a kernel pop sync") returns
    a harness.Run."""
    def start(steps: str, *, sim=None, **options) -> harness.Run:
        return harness.run(tmp_path, RANGES, *[s.replace("_", " ") for s in steps.split()],
                           sim=sim, log="warn", **options)
    return start


def notes(trace: harness.Trace, cat: str = "user_annotation", name: str | None = None) -> list[dict]:
    return [e for e in trace.events if e.get("cat") == cat and name in (None, e["name"])]


def note(trace: harness.Trace, name: str, cat: str = "user_annotation") -> dict:
    found = notes(trace, cat, name)
    assert len(found) == 1, f"{len(found)} rows called {name}"
    return found[0]


def main_thread(run: harness.Run) -> int:
    return int(run.stdout.split()[1])


def inside(inner: dict, outer: dict) -> bool:
    return outer["start"] <= inner["start"] and inner["end"] <= outer["end"]


def kernels_of(trace: harness.Trace, start: int, end: int) -> list[dict]:
    """Returns the kernels that were launched between these times."""
    launches = {e["args"]["correlation"] for e in trace.of("cuda_driver")
                if "Launch" in e["name"] and start <= e["start"] < end}
    return [k for k in trace.of("kernel") if k["args"]["correlation"] in launches]


@pytest.mark.sanitize
def test_ranges_stand_on_their_thread_around_what_they_enclose(ranges):
    run = ranges("context push:outer kernel:2 push:inner kernel pop pop kernel sync")
    trace = run.trace()
    outer, inner = note(trace, "outer"), note(trace, "inner")
    assert run.stdout.split()[2:] == ["push", "0", "push", "1", "pop", "1", "pop", "0", "done"]
    assert inside(inner, outer)
    assert {outer["tid"], inner["tid"]} == {main_thread(run)}
    launches = [e for e in trace.of("cuda_driver") if e["name"] == "cuLaunchKernel"]
    assert [inside(e, outer) for e in launches] == [True, True, True, False]
    assert [inside(e, inner) for e in launches] == [False, False, True, False]
    assert trace.counters["ranges"] == 4 and trace.counters["ranges_lost"] == 0
    assert trace.counters["ranges_cut"] == 0
    assert not run.said()


def test_the_gpus_part_of_a_range_spans_its_kernels(ranges):
    run = ranges("context push:outer kernel:2 push:inner kernel pop pop kernel sync")
    trace = run.trace()
    for name, count in (("outer", 3), ("inner", 1)):
        cpu, gpu = note(trace, name), note(trace, name, "gpu_user_annotation")
        kernels = kernels_of(trace, cpu["start"], cpu["end"])
        assert len(kernels) == count
        assert gpu["start"] == min(k["start"] for k in kernels)
        assert gpu["end"] == max(k["end"] for k in kernels)
        assert (gpu["pid"], gpu["tid"]) == (kernels[0]["pid"], kernels[0]["tid"])
        assert "stream" not in gpu["args"]


@pytest.mark.parametrize("sim, wait_ms", [
    ([], 0),
    # CUPTI delivers late, so the program sleeps until all records were delivered, because the exit
    # does not wait that long. After the first sleep syncline's threads run, so syncline reads the
    # ranges long before the records of their kernels arrive.
    (["--cupti-late", "0.3"], 1000),
    (["--cupti-shuffle"], 0),
])
def test_the_gpus_part_is_the_same_however_records_come(ranges, sim, wait_ms):
    wait = f"sync sleep:{wait_ms}"
    run = ranges(f"context kernel {wait} push:a kernel:40 pop push:b kernel:40 pop {wait}", sim=sim)
    trace = run.trace()
    for name in "ab":
        cpu = note(trace, name)
        kernels = kernels_of(trace, cpu["start"], cpu["end"])
        assert len(kernels) == 40
        gpu = note(trace, name, "gpu_user_annotation")
        assert (gpu["start"], gpu["end"]) == (min(k["start"] for k in kernels),
                                              max(k["end"] for k in kernels))


def test_a_range_without_kernels_has_no_part_on_the_gpu(ranges):
    trace = ranges("context kernel push:empty pop sync").trace()
    assert note(trace, "empty") and not notes(trace, "gpu_user_annotation")


@pytest.mark.sanitize
def test_every_way_to_say_a_name(ranges):
    run = ranges("context kernel push:ascii pop wide:wörld€😀 pop string:registered pop mark:here "
                 "start:from_here_to_there end full:look pop sync")
    trace = run.trace()
    names = {e["name"] for e in notes(trace)}
    assert names == {"ascii", "wörld€😀", "registered", "here", "from here to there", "look"}
    assert note(trace, "here")["ph"] == "i"
    assert note(trace, "look")["args"] == {"category": 7, "color": "#ff00aa11", "payload": -42}
    row = note(trace, "from here to there")
    assert row["tid"] != main_thread(run)
    assert "NVTX start and end" in trace.metadata("thread_name")[row["pid"], row["tid"]]


def test_numbers_in_names_are_kept(ranges):
    names = ["step_0", "epoch_3_batch_17", "007", "v1.2.3", "4294967296", "1234567890123", "10%"]
    trace = ranges("context kernel " + " ".join(f"push:{n} pop" for n in names) + " sync").trace()
    assert {e["name"] for e in notes(trace)} == {n.replace("_", " ") for n in names}


@pytest.mark.parametrize("kind, value", [("u64", 2**64 - 1), ("i64", -2**63), ("f64", "0.1"),
                                         ("u32", 2**32 - 1), ("i32", -7), ("f32", "1.5")])
def test_payloads(ranges, kind, value):
    trace = ranges(f"context kernel payload:{kind} sync").trace()
    assert note(trace, kind)["args"] == {"payload": value}  # the test reads floats as text


def test_domains_and_categories(ranges):
    trace = ranges("context kernel category:of_the_default full:a pop domain:mine full:b "
                   "category:of_mine pop full:c push:d domain: pop domain:mine pop pop sync").trace()
    found = {e["name"]: (e["args"].get("domain"), e["args"].get("category")) for e in notes(trace)}
    assert found["a"] == (None, "of the default")
    # the program named the category after the range had begun
    assert found["b"] in (("mine", 7), ("mine", "of mine"))
    assert found["c"] == ("mine", "of mine")
    assert found["d"] == ("mine", None)


def test_more_domains_than_a_byte_counts(ranges):
    """A program has 1100 domains. The first 1022 keep their names and nesting. The other domains share one
    domain without a name."""
    steps = " ".join(f"domain:d{n} full:r{n}" for n in range(1100))
    trace = ranges(f"context kernel {steps} sync").trace()
    domains = {e["name"]: e["args"].get("domain") for e in notes(trace)}
    assert domains == {f"r{n}": f"d{n}" if n < 1022 else None for n in range(1100)}
    assert trace.counters["names_lost"] == 1100 - 1022


@pytest.mark.sanitize
@pytest.mark.parametrize("before", ["context kernel", "threads context kernel",
                                    "threads push:early pop context kernel"],
                         ids=["as it comes", "the environment may not be touched",
                              "NVTX's first call is over"])
def test_payloads_by_schema(ranges, before):
    trace = ranges(f"{before} schema sync").trace()
    args = note(trace, "with schema")["args"]
    assert args == {"payload": {
        "bytes": 2**40, "op": "max", "scale": "0.25", "inner": {"x": -1, "y": 2},
        "dims": [3, 4, 5], "tag": 'tag"', "note": "a note", "string": "registered", "which": 1,
        "choice": "2.5", "items": 3, "item": [5, -6, 7]}, "end payload": -6}


def test_deferred_events_have_their_own_times(ranges):
    run = ranges("context kernel deferred sync")
    row = note(run.trace(), "over")
    assert row["end"] - row["start"] == int(run.stdout.split("deferred ")[1].split()[0]) > 1_000_000


@pytest.mark.sanitize
@pytest.mark.parametrize("clock", ["monotonic", "raw", "boottime", "realtime", "tsc", "us", "timer",
                                   "points"])
def test_deferred_events_by_other_clocks(ranges, clock):
    """A deferred event has timestamps of another clock. The trace shows the event at the matching time of the
    wall clock."""
    run = ranges(f"context kernel deferred:{clock} sync")
    trace = run.trace()
    row = note(trace, "over")
    _, began, ended = map(int, run.stdout.split("deferred ")[1].split()[:3])
    # In ns. On a busy machine, two clocks cannot be compared more exactly.
    slack = 500_000
    assert began - slack <= row["start"] < row["end"] <= ended + slack
    assert row["end"] - row["start"] > 2_000_000 - slack
    assert trace.counters["ranges_no_clock"] == 0


def test_deferred_events_by_a_clock_that_nobody_knows(ranges):
    trace = ranges("context kernel deferred:nobodys deferred sync").trace()
    assert note(trace, "over") and trace.counters["ranges_no_clock"] == 1


def test_locks(ranges):
    trace = ranges("context kernel lock:mutex sync").trace()
    waits = [e for e in notes(trace, name="mutex") if e["args"]["sync"] == "acquire"]
    held = [e for e in notes(trace, name="mutex") if e["args"]["sync"] == "held"]
    assert [e["args"]["acquired"] for e in waits] == [False, True]
    assert len(held) == 1 and held[0]["end"] - held[0]["start"] > 900_000
    assert held[0]["start"] == waits[1]["end"]


@pytest.mark.parametrize("after, args", [("mark:later", {"sync": "held", "cut end": True}),
                                         ("mark:later destroy", {"sync": "held"})],
                         ids=["for ever", "until it is destroyed"])
def test_a_lock_outlives_the_thread_that_holds_it(ranges, after, args):
    trace = ranges(f"context kernel worker:hold:abandoned+sleep:1 {after} sync").trace()
    held = [e for e in notes(trace, name="abandoned") if e["args"]["sync"] == "held"]
    assert [e["args"] for e in held] == [args]
    assert held[0]["end"] >= note(trace, "later")["start"]


# NVTX has functions for the driver's handles, and others for the runtime's handles.
API = pytest.mark.parametrize("api", ["", "-rt"], ids=["driver", "runtime"])


@API
def test_names_of_things(ranges, api):
    run = ranges(f"context kernel thread:trainer stream{api}:compute device{api}:my_gpu sleep:20 push:a "
                 "kernel pop sync")
    trace = run.trace()
    stream = trace.of("kernel")[0]
    names = [e["args"]["name"] for e in trace.events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert any("trainer" in n for n in names)
    assert any("compute" in n for n in names if n.startswith(f"stream {stream['tid']} "))
    labels = [e["args"]["labels"] for e in trace.events
              if e["ph"] == "M" and e["name"] == "process_labels" and e["pid"] == stream["pid"]]
    assert labels[-1] == "GPU 0 (my gpu)"


@API
def test_names_of_events(ranges, api):
    """The program names an event. Each trace file has the name and the handle that the program
    uses."""
    run = ranges(f"context event{api}:copied kernel begin kernel sync stop windows:1 begin kernel sync "
                 "stop windows:2", window="demand")
    assert len(run.traces()) == 2
    for trace in run.traces():
        rows = [e["args"] for e in trace.events if e["name"] == "cuda_event_name"]
        assert rows == [{"name": "copied", "handle": "0xe0e0"}]


@pytest.mark.sanitize
@pytest.mark.parametrize("kind", ["push", "wide", "string"])
def test_steps_that_the_program_names(ranges, kind):
    """The program marks its steps with NVTX ranges. Windows of steps begin and end with these ranges, however
    the program passes their names."""
    steps = "".join(f"{kind}:ProfilerStep#{n} kernel sync sleep:10 pop " for n in range(40))
    run = ranges("context kernel sync " + steps, window="steps:2/20")
    assert run.status == 0 and len(run.traces()) == 2
    for trace, wanted in zip(sorted(run.traces(), key=lambda t: t.object["syncline"]["window"]),
                             (1, 21)):
        rows = [e for e in notes(trace) if e["name"].startswith("ProfilerStep#")]
        first = int(rows[0]["name"].split("#")[1])
        # The first recorded step is later if enabling the kinds takes longer than a step.
        assert first >= wanted and "called" not in rows[0]["args"]
        assert [e["name"] for e in rows] == [f"ProfilerStep#{first + n}" for n in range(2)]
        assert not any({"cut start", "cut end"} & set(e["args"]) for e in rows)


@pytest.mark.sanitize
def test_threads(ranges):
    run = ranges("context kernel worker:push:one+kernel:3+pop+sync worker:push:two+push:left_open sync")
    trace = run.trace()
    one, two = note(trace, "one"), note(trace, "two")
    assert len({one["tid"], two["tid"], main_thread(run)}) == 3
    assert note(trace, "left open")["args"] == {}  # the range ended with its thread
    assert len(kernels_of(trace, one["start"], one["end"])) == 3
    first = min(trace.of("kernel"), key=lambda k: k["start"])
    assert note(trace, "one", "gpu_user_annotation")["tid"] != first["tid"]


def test_the_call_that_waits_names_its_range(ranges):
    trace = ranges("context kernel sync push:step_12 push:wait_here kernel:3 sync pop pop").trace()
    waits = [e for e in trace.of("cuda_driver") if "wait_ns" in e["args"]]
    assert [e["args"].get("wait_in") for e in waits] == [None, "wait here"]


def test_ranges_cut_at_the_windows_edges(ranges):
    run = ranges("context kernel push:all_along sleep:30 begin kernel push:inside pop "
                 "sync stop windows:1 sleep:10 begin kernel sync stop windows:2 pop",
                 window="demand", lead_in="10ms")
    first, second = run.traces()
    for trace in (first, second):
        row = note(trace, "all along")
        edges = trace.object["syncline"]
        assert row["args"] == {"cut start": True, "cut end": True}
        assert (row["start"], row["end"]) == (edges["opened_ns"], edges["closed_ns"])
        assert trace.counters["ranges_cut"] == 1
    assert note(first, "inside")["args"] == {} and not notes(second, name="inside")


def test_a_range_open_at_the_end_is_cut(ranges):
    trace = ranges("context push:forever kernel sync").trace()
    assert note(trace, "forever")["args"] == {"cut end": True}


@pytest.mark.sanitize
def test_names_without_end_do_not_use_up_the_table(ranges):
    trace = ranges("context kernel many:20000 sync").trace()
    shown = {e["name"] for e in notes(trace)}
    lost = trace.counters["ranges_lost"]
    assert len(shown) + lost == 20000 and shown <= {f"step {i}" for i in range(20000)}
    assert trace.counters["names_lost"] == 0


def test_off(ranges):
    run = ranges("context push:a kernel pop sync", nvtx="0")
    assert "push -2" in run.stdout and not notes(run.trace())


def test_another_tool_keeps_nvtx(ranges):
    run = ranges("context push:a kernel pop sync", NVTX_INJECTION64_PATH="/nowhere.so")
    assert "push -2" in run.stdout and not notes(run.trace())


def test_nvtx_before_cuda(ranges):
    """NVTX_INJECTION64_PATH is set, so NVTX loads syncline before CUDA does. Ranges that began before CUDA
    was initialised are truncated."""
    run = ranges("push:early context push:late kernel pop pop sync",
                 NVTX_INJECTION64_PATH=str(harness.LIBRARY))
    trace = run.trace()
    assert note(trace, "late")
    assert note(trace, "early")["args"] == {"cut start": True}


@pytest.mark.sanitize
def test_a_forked_child_is_left_alone(ranges):
    run = ranges("context push:a fork kernel pop sync")
    assert "child -2" in run.stdout
    assert note(run.trace(), "a") and not notes(run.trace(), name="in the child")


def test_nothing_of_ours_without_cuda(tmp_path):
    """A process uses NVTX but not CUDA. syncline writes no file and prints nothing, and the exit
    status is unchanged."""
    run = harness.run(tmp_path, RANGES, "push:a", "pop", NVTX_INJECTION64_PATH=str(harness.LIBRARY))
    assert run.status == 0 and not run.files() and not run.stderr


def test_the_tool_groups_waits_by_range(ranges):
    run = ranges("context push:fast kernel:500 sync pop push:slow kernel:1000 sync pop")
    (path,) = run.files()
    result = subprocess.run([harness.TOOL, "edges", "--summary", "--json", path], check=True,
                            capture_output=True, text=True)
    places = {p["name"]: p for p in json.loads(result.stdout)["by_place"]}
    assert set(places) == {"fast", "slow"}


def test_check_and_the_other_readers_take_it(ranges):
    run = ranges("context push:outer kernel:2 push:inner kernel pop pop kernel sync lock:m schema")
    (path,) = run.files()
    result = subprocess.run([harness.TOOL, "check", "--verbose", path], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "user_annotation" in result.stdout


@pytest.mark.sanitize
@pytest.mark.parametrize("steps", ["threads context push:late kernel pop sync",
                                   "push:early pop context push:late kernel pop sync"],
                         ids=["the environment may not be touched", "its first call is over"])
def test_a_copy_that_does_not_ask_is_found(ranges, steps):
    trace = ranges(steps).trace()
    assert [e["name"] for e in notes(trace)] == ["late"]
    assert note(trace, "late", "gpu_user_annotation")


def test_libraries_loaded_while_copies_are_looked_for(ranges):
    """The program loads libraries while syncline searches the loaded libraries for copies of NVTX. Neither
    thread waits for a lock of the other."""
    trace = ranges("threads context loading:1500 push:late kernel pop sync", timeout=60).trace()
    assert [e["name"] for e in notes(trace)] == ["late"]
