"""Tests with another CUPTI client in the process, which is linked with CUPTI. syncline releases
CUPTI before that client records, and takes CUPTI back afterwards. (tests/torch tests this with
torch.profiler as the client.)"""
import harness
import pytest
from tiers import cupti_versions

NEIGHBOUR = harness.BUILD / "tests" / "e2e" / "neighbour"
SESSION = "clock register enable kernel:7 disable flush told"


def play(tmp_path, steps, **options):
    run = harness.run(tmp_path, NEIGHBOUR, *steps.split(), log="warn", **options)
    assert run.status == 0 and run.stdout.endswith("done\n"), run.stderr
    # The client's buffers begin with random bytes, and CUPTI must set them to zero. Otherwise the
    # simulator logs a misuse.
    assert "handover" in options or not [line for line in run.log if line["what"] == "misuse"]
    return run


def kernels_outside(run, trace):
    """Returns the kernels in the trace, and the kernels of the truth that were launched outside the
    gaps of the trace."""
    gaps = trace.object["syncline"].get("gaps", [])
    calls = {call["corr"]: call for call in run.truth_of("call")}
    outside = [op["corr"] for op in run.truth_of("op") if op["kind"] == "kernel"
               and all(calls[op["corr"]]["end"] < a or calls[op["corr"]]["start"] > b
                       for a, b in gaps)]
    return sorted(row["args"]["correlation"] for row in trace.of("kernel")), sorted(outside)


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.0", "13.3", "13.5"]))
def test_handed_over_and_taken_back(tmp_path, version):
    run = play(tmp_path, f"context kernel:5 {SESSION} sleep:400 kernel:4",
               sim=["--cupti", version])
    assert (run.stdout, run.said()) == ("kernels 7 calls some strangers 0\ndone\n", [])
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 9
    assert len(trace.object["syncline"]["gaps"]) == 1


@pytest.mark.sanitize
def test_there_before_cuda(tmp_path):
    """CUDA and syncline start while the client records. syncline uses CUPTI only after the client
    has ended its session."""
    run = play(tmp_path, "clock register enable context kernel:7 disable flush told sleep:400 "
                         "kernel:4", sim=["--cupti", "13.0"])
    assert (run.stdout, run.said()) == ("kernels 7 calls some strangers 0\ndone\n", [])
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 4


def test_sessions_without_a_pause(tmp_path):
    again = "register enable kernel:7 disable flush"
    run = play(tmp_path, f"context kernel:2 clock {again} {again} {again} told sleep:400 kernel:4")
    assert run.stdout == "kernels 21 calls some strangers 0\ndone\n"
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) >= 6


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.0", "13.5"]))
def test_it_leaves_its_records_with_cupti(tmp_path, version):
    """The client flushes CUPTI long after it disabled its kinds, as libkineto does, which first
    processes CPU events. By then syncline has taken CUPTI back. The client's flush still delivers
    all records of the client, and no others."""
    run = play(tmp_path, "context kernel:2 clock register enable kernel:7 disable sleep:800 kernel:3 sleep:10500 "
                         "told kernel:4 flush told", sim=["--cupti", version])
    assert (run.stdout, run.said()) == ("kernels 0 calls none strangers 0\nkernels 7 calls some strangers 0\n"
                                        "done\n", [])
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 6
    ((begin, end),) = trace.object["syncline"]["gaps"]
    assert 10e9 < end - begin < 12e9


def test_it_leaves_its_records_and_ends_cupti(tmp_path):
    """The client calls cuptiFinalize while CUPTI still holds records of the client. The client gets
    these records, but without kernel names, because CUPTI has freed the names."""
    run = play(tmp_path, "context kernel:2 clock register enable kernel:7 disable sleep:10500 kernel:3 finalize told "
                         "sleep:400 kernel:4")
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    ours, outside = kernels_outside(run, run.trace())
    assert ours == outside and len(ours) == 9


def test_it_leaves_its_records_for_good(tmp_path):
    """The client never flushes its first session's records. The flush of its next session delivers them."""
    run = play(tmp_path, "context kernel:2 clock register enable kernel:7 disable sleep:10500 kernel:3 "
                         f"{SESSION} sleep:400 kernel:4")
    assert run.stdout == "kernels 14 calls some strangers 0\ndone\n"
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 9
    assert len(trace.object["syncline"]["gaps"]) == 2


def test_enabled_again_without_registering(tmp_path):
    """The client enables kinds for a second session without registering its callbacks again.
    syncline registers the client's earlier callbacks, so the client gets its records."""
    run = play(tmp_path, f"context {SESSION} sleep:400 kernel:3 enable kernel:7 disable flush told "
                         "sleep:400 kernel:4")
    assert run.stdout.endswith("kernels 14 calls some strangers 0\ndone\n")
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 7


def test_one_from_before_begins_again_without_registering(tmp_path):
    """The client registered its callbacks before syncline was loaded, and enables kinds again
    without registering. syncline does not know these callbacks, and warns that the client gets no
    records."""
    run = play(tmp_path, "clock register enable context kernel:7 disable flush told sleep:400 kernel:3 "
                         "enable kernel:7 disable flush told sleep:400 kernel:4", sim=["--cupti", "13.0"])
    first, again = [line for line in run.stdout.splitlines() if line.startswith("kernels ")]
    assert first.startswith("kernels 7 ") and again.startswith("kernels 7 ")
    assert len(run.said()) == 1 and "without registering its CUPTI callbacks" in run.said()[0]


def test_a_kernel_that_goes_on(tmp_path):
    """A kernel of two seconds runs when the client starts. syncline waits for the kernel for a limited time,
    then records the kernel without an end."""
    run = play(tmp_path, f"context kernel:2 long:2000 {SESSION} sleep:400 kernel:4")
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert len(ours) == 6 and [set(outside) - set(ours)] == [
        {op["corr"] for op in run.truth_of("op") if op["end"] - op["start"] > 1_000_000_000}]
    assert trace.counters["records_no_time"] == 1


def test_tidying_up_twice_does_not_end_ours(tmp_path):
    run = play(tmp_path, f"context {SESSION} sleep:400 kernel:3 disable flush kernel:3")
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 6


def test_windows_go_on_meanwhile(tmp_path):
    """The client uses CUPTI when a window ends. That window ends with a gap, and the next window
    begins with a gap."""
    run = play(tmp_path, "context kernel:3 clock register enable kernel:7 sleep:900 disable flush "
                         "sleep:700 kernel:4", window="time:300ms/400ms", lead_in="10ms")
    traces = run.traces()
    assert len(traces) >= 3
    gaps = [tuple(gap) for trace in traces for gap in trace.object["syncline"].get("gaps", [])]
    assert len(gaps) >= 2
    for trace in traces:
        opened, closed = (trace.object["syncline"][key] for key in ("opened_ns", "closed_ns"))
        for begin, end in trace.object["syncline"].get("gaps", []):
            assert opened <= begin < end <= closed
    assert not [row for trace in traces for row in trace.of("kernel")
                if any(begin < row["start"] < end for begin, end in gaps)]


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.0", "13.5"]))
def test_it_becomes_the_subscriber(tmp_path, version):
    """CUPTI allows only one subscriber. When the client subscribes, syncline ends its own
    subscription, so it records no more edges between graph nodes, and prints this."""
    run = play(tmp_path, f"context kernel:2 subscribe {SESSION} sleep:400 kernel:4",
               graph_edges="1", sim=["--cupti", version])
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    (said,) = run.said()
    assert "edges between CUDA graph nodes" in said
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) >= 6


# ---- the client ends CUPTI, which also ends it for syncline ----

# The number of gaps is one. It is two if the machine stood still during the 20 ms after which
# syncline takes CUPTI back.
AT_ONCE = (1, 2)
# Name of a case -> steps, the client's last output of `told`, number of gaps, and number of kernels in
# syncline's trace.
ENDED = {
    "in a callback": (f"context {SESSION} sleep:400 kernel:3 teardown sleep:400 kernel:4",
                      "kernels 7 calls some strangers 0", (2,), 7),
    "by itself": ("context kernel:3 finalize sleep:400 kernel:4 told",
                  "kernels 0 calls none strangers 0", (1,), 7),
    "before we are back": (f"context kernel:3 {SESSION} teardown sleep:400 kernel:4",
                           "kernels 7 calls some strangers 0", AT_ONCE, 7),
    "a session at once": (f"context kernel:3 teardown {SESSION} sleep:400 kernel:4",
                          "kernels 7 calls some strangers 0", AT_ONCE, 7),
    "a session later": (f"context kernel:3 teardown sleep:100 {SESSION} sleep:400 kernel:4",
                        "kernels 7 calls some strangers 0", (2,), 7),
    "in its session": ("context kernel:3 clock register enable kernel:7 flush told teardown "
                       "sleep:400 kernel:4 disable flush kernel:2",
                       "kernels 7 calls some strangers 0", (1,), 9),
    "at the end": (f"context kernel:3 {SESSION} sleep:400 kernel:2 teardown",
                   "kernels 7 calls some strangers 0", (2,), 5),
}


@pytest.mark.sanitize
@pytest.mark.parametrize("version, api", [("13.0", "auto"), ("13.5", "auto"), ("13.5", "v2")])
@pytest.mark.parametrize("when", ENDED)
def test_it_ends_cupti(tmp_path, when, version, api):
    """The client calls cuptiFinalize. Before that syncline flushes its own records, and afterwards
    syncline records again. The trace has the gap."""
    steps, told, gaps, kernels = ENDED[when]
    run = play(tmp_path, steps, cupti_api=api, sim=["--cupti", version])
    assert (run.stdout, run.said()) == (f"{told}\ndone\n", [])
    assert [line for line in run.log if line["what"] == "finalize"]
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == kernels
    assert len(trace.object["syncline"]["gaps"]) == trace.counters["handovers"] in gaps


def test_it_ends_cupti_while_a_kernel_goes_on(tmp_path):
    """The client ends CUPTI while a kernel runs. The kernel is recorded without an end, and the client is not
    delayed."""
    run = play(tmp_path, "context kernel:3 long:2000 finalize sleep:400 kernel:4")
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert len(ours) == 7 and set(ours) < set(outside)
    assert trace.counters["records_no_time"] == 1


def test_it_ends_cupti_between_windows(tmp_path):
    """The client ends CUPTI once between windows and once in a window."""
    run = play(tmp_path, "context kernel:3 sleep:450 kernel:1 finalize sleep:450 kernel:3 finalize "
                         "sleep:500 kernel:3 sleep:500", window="time:300ms/400ms", lead_in="10ms")
    traces = run.traces()
    assert len(traces) >= 3
    gaps = [tuple(gap) for trace in traces for gap in trace.object["syncline"].get("gaps", [])]
    for trace in traces:
        opened, closed = (trace.object["syncline"][key] for key in ("opened_ns", "closed_ns"))
        calls = {call["corr"]: call for call in run.truth_of("call")}
        inside = {op["corr"] for op in run.truth_of("op") if op["kind"] == "kernel"
                  and opened < calls[op["corr"]]["start"] and op["end"] < closed
                  and all(calls[op["corr"]]["end"] < a or calls[op["corr"]]["start"] > b
                          for a, b in gaps)}
        assert inside <= {row["args"]["correlation"] for row in trace.of("kernel")}


# ---- SYNCLINE_HANDOVER=0: the client takes CUPTI without a hand-over ----

# After these steps CUPTI holds no buffer of syncline. The first flush makes an overhead record of
# the flush in a new buffer, and the second flush returns that buffer.
CALM = "flush flush"


def test_left_alone(tmp_path):
    """syncline notices by CUPTI's clock that the client uses CUPTI. From then on it makes no call
    that would disturb the client."""
    run = play(tmp_path, f"context kernel:5 {CALM} sleep:400 clock register enable sleep:600 kernel:7 "
                         "sleep:300 disable flush told sleep:300 kernel:4", handover="0")
    assert run.stdout.startswith("kernels 7 calls some")
    assert not harness.intrusions(run)
    taken, *lost = run.said()
    assert "another profiler took CUPTI" in taken
    assert all("records in them are lost" in line for line in lost)
    trace = run.trace()
    ((_, end),) = trace.object["syncline"]["gaps"]
    assert end == trace.object["syncline"]["closed_ns"]
    assert len(trace.of("kernel")) == 5


@pytest.mark.parametrize("end", ["", "disable flush told"])
def test_left_alone_by_the_last_flush(tmp_path, end):
    """The process ends before the next check of the clock. The last flush shows that another client took
    CUPTI."""
    run = play(tmp_path, f"context kernel:5 {CALM} sleep:1000 clock register enable kernel:7 {end}",
               handover="0")
    assert not harness.intrusions(run)
    assert "another profiler took CUPTI" in run.said()[0]
    assert len(run.trace().of("kernel")) == 5


# In these cases a window ends while the client records, so syncline would turn its kinds off. The
# client does not change CUPTI's clock.
# Windows begin at multiples of their period, so a short period could give a run a second window.
UNTOLD = pytest.mark.parametrize("window, clock", [("run", ""), ("run", "wall"), ("time:3s/3600s", "")])


@UNTOLD
def test_its_clock_does_not_tell(tmp_path, window, clock):
    """syncline cannot notice the client by CUPTI's clock. CUPTI holds no buffer of syncline when
    the client registers its callbacks, so the client gets all its records."""
    run = play(tmp_path, f"context kernel:5 {CALM} {clock} register enable kernel:7 sleep:4500 "
                         "kernel:7 disable flush told", handover="0", window=window)
    assert run.stdout == "kernels 14 calls some strangers 0\ndone\n"
    assert not harness.intrusions(run)
    assert len(run.trace().of("kernel")) == 5


@UNTOLD
def test_its_clock_does_not_tell_and_it_has_a_buffer_of_ours(tmp_path, window, clock):
    """syncline cannot notice the client by CUPTI's clock, and CUPTI holds a buffer of syncline with
    a running kernel. Records after that kernel, until a flush returns the buffer, are lost for
    syncline and for the client."""
    run = play(tmp_path, f"context {CALM} long:1500 {clock} register enable kernel:7 stranger kernel:7 "
                         "sleep:4500 kernel:2 disable flush told", handover="0", window=window)
    assert run.stdout == "kernels 9 calls some strangers 1\ndone\n"
    assert not harness.intrusions(run)
    (said,) = run.said()
    assert "records in them are lost" in said and "another profiler" in said
    assert run.trace().counters["undelivered_buffers"] == 1
