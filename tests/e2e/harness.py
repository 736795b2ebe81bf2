"""Runs a program on the simulated GPU with the real library injected. Reads the trace, the
simulator's truth, and the simulator's log. The log has the records that the simulator dropped or
gave to another client, and the calls that it made fail.

Tests use this module to check that syncline's events are exactly the events of the truth, without
those that the log says were lost."""
import collections
import dataclasses
import functools
import gzip
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import zstandard

import sync_rows
from documented_calls import is_documented

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SL_TEST_BUILD", REPO / "build" / "release")).resolve()
LIBRARY = BUILD / "runtime" / "libsyncline.so"
SCENARIO = BUILD / "tests" / "e2e" / "scenario"
RUNTIME_CALLS = BUILD / "tests" / "e2e" / "runtime_calls"
TOOL = BUILD / "tools" / "syncline"
SIMGPU = REPO / "tests" / "simgpu" / "run"

# Words in the log for records that syncline did not get, or did not get completely.
LOST = {"dropped", "given", "starved", "unfinished", "undelivered", "no-time"}

SAID = re.compile(r"\bsyncline: .*\n?")

COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORY_KINDS = {1: "Pageable", 2: "Pinned", 3: "Device"}


def has_benches() -> bool:
    """Returns whether the tested build includes the benchmarks."""
    return "SYNCLINE_BENCH:BOOL=OFF\n" not in (BUILD / "CMakeCache.txt").read_text()


def microseconds(text: str) -> int:
    """Converts a `ts` or `dur` to nanoseconds. The text must have exactly three decimals."""
    assert re.fullmatch(r"\d+\.\d{3}", text), f"not microseconds with three decimals: {text}"
    return int(text.replace(".", ""))


def decompress(path: pathlib.Path) -> bytes:
    """Returns the text of a trace file, compressed or not. Of a truncated file, returns the readable part."""
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data),
                                                            read_across_frames=True)
        return reader.read()
    if data[:2] == b"\x1f\x8b":
        text = io.BytesIO()
        with gzip.open(io.BytesIO(data)) as file:
            try:
                while block := file.read(1 << 16):
                    text.write(block)
            except EOFError:
                pass  # the last member is truncated
        return text.getvalue()
    return data


# Members of `syncline edges --json` that come from other rows than the edge's.
OF_OTHER_ROWS = ("dst_thread_name", "place", "line", "step", "ts")


def printed_edges(text: str) -> list[dict]:
    """Reads the output of `syncline edges --json`. Returns the edges as Trace.edges() does."""
    return [{name: value for name, value in json.loads(line).items() if name not in OF_OTHER_ROWS}
            for line in text.splitlines()]


class Trace:
    """A trace file. Each row's `ts` and `dur` are converted to whole nanoseconds, so times stay exact."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        text = decompress(path)
        self.text = text
        if path.suffix == ".part":
            # The file is truncated, because the process was killed or the disk was full. Every
            # whole line is a whole event. The text after the last newline is left out, because it
            # may be truncated even if it looks like a complete row.
            lines = text.decode().split("\n")
            first = next(i for i, line in enumerate(lines) if '"traceEvents"' in line)
            head = "\n".join(lines[:first + 1]) + "]}"
            self.object = json.loads(head, parse_float=str)
            rows = [line for line in lines[first + 1:-1] if line.endswith("},")]
            self.object["traceEvents"] = [json.loads(row[:-1], parse_float=str) for row in rows]
        else:
            json.loads(text)  # Python's parser accepts the text too
            self.object = json.loads(text, parse_float=str)
        self.base = self.object["baseTimeNanoseconds"]
        self.events = self.object["traceEvents"]
        for event in self.events:
            if "ts" in event and event["ph"] != "M":
                event["start"] = self.base + microseconds(event["ts"])
                event["end"] = event["start"] + microseconds(event.get("dur", "0.000"))

    def of(self, *cats: str) -> list[dict]:
        """Returns the slices of these categories, in the file's order."""
        return [e for e in self.events if e.get("cat") in cats and e["ph"] == "X"]

    def flows(self, cat: str = "ac2g") -> list[dict]:
        return [e for e in self.events if e["ph"] in "sf" and e["cat"] == cat]

    def edges(self, nodes=False) -> list[dict]:
        """Returns the sync edges, by default without the node ids of graphs. The edges of a call are in its args and lack
        the members that the call's row has. Other edges have rows of their own."""
        found = []
        for row in self.events:
            of_row = {"dst_correlation": row["args"]["correlation"], "dst_name": row["name"],
                      "dst_thread": row["tid"], "dst_stream": None, "dst_point": "end"} \
                if "sync_edges" in row.get("args", {}) else {}
            edges = row["args"]["sync_edges"] if of_row else [row["args"]] if row["name"] == "sync_edge" else []
            found += [{key: value for key, value in {**edge, **of_row}.items()
                       if nodes or not key.endswith("_node")}
                      for edge in edges]
        return found

    def metadata(self, name: str) -> dict[tuple, object]:
        """Returns a dictionary (pid, tid) -> the single argument of each metadata row called `name`."""
        return {(e["pid"], e["tid"]): next(iter(e["args"].values()))
                for e in self.events if e["ph"] == "M" and e["name"] == name}

    @property
    def counters(self) -> dict[str, int]:
        return self.object["syncline"]["counters"]

    def lost(self) -> int:
        """Returns how many operator records were lost because a queue was full, which happens if
        the recorder thread runs too late on a busy machine. Fails if more than a tenth was lost."""
        lost = self.counters["ranges_lost"] + self.counters["ops_lost"]
        assert lost <= len(self.of("cpu_op")) // 10, self.counters
        return lost


def plain(name: str) -> str:
    """Returns a call's name without its version suffix and its per-thread-stream suffix."""
    return re.sub(r"_(v\d+|ptsz|ptds)", "", name)


def in_default_filter(name: str) -> bool:
    """Returns whether the documentation lists the call as recorded by default."""
    return is_documented(plain(name))


def json_lines(path: pathlib.Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def of_syncline(log: list[dict]) -> list[dict]:
    """Returns the lines of the simulator's log without the lines about other subscribers of
    CUPTI."""
    others = {line["client"] for line in log
              if line["what"] == "subscribed" and line["name"] != "CUPTI for syncline"}
    return [line for line in log if line.get("client") not in others]


@dataclasses.dataclass
class Run:
    """The result of a finished command."""
    status: int  # exit status; -N: ended by signal N
    stdout: str
    stderr: str
    out: pathlib.Path
    truth: list[dict]
    log: list[dict]  # the simulator's log, without lines about other subscribers of CUPTI
    has_all_calls: bool = False  # True if SYNCLINE_API is `all`

    def files(self, pattern: str = "*.pt.trace.json*") -> list[pathlib.Path]:
        """Returns the output files that match the pattern; by default the traces."""
        return sorted(p for p in self.out.rglob(pattern) if p.is_file()) if self.out.exists() else []

    def traces(self) -> list[Trace]:
        return [Trace(path) for path in self.files() if path.suffix != ".part"]

    def trace(self) -> Trace:
        """Returns the only complete trace. Fails if there is not exactly one."""
        files = self.files()
        assert len(files) == 1 and files[0].suffix != ".part", \
            f"expected one complete trace, found {files}\n{self.stderr}"
        return Trace(files[0])

    def said(self) -> list[str]:
        """Returns syncline's lines on stderr (with log="warn": only warnings). A line of syncline may follow
        an unfinished line that another thread of the program wrote."""
        return [line.rstrip("\n") for line in SAID.findall(self.stderr)]

    def truth_of(self, what: str) -> list[dict]:
        return [line for line in self.truth if line["t"] == what]

    def operations(self) -> list[dict]:
        """Returns the GPU operations that finished and whose CUPTI records were not lost."""
        gone = {line["op"] for line in self.lost()}
        return [op for op in self.truth_of("op")
                if op["kind"] in ("kernel", "memcpy", "memset") and op["finished"]
                and op["id"] not in gone]

    def lost(self) -> list[dict]:
        """Returns the log's lines about records that never arrived, or arrived without times."""
        return [line for line in self.log if line.get("what") in LOST]

    def calls(self) -> dict[int, dict]:
        """Returns the calls that must have a row, by correlation id. Their records were enabled and
        not lost. If a call runs inside another call, only the outer call has a row. CUPTI before
        12.5 can only enable all calls, so there syncline itself leaves out the calls that are not
        recorded by default."""
        since: dict[str, int] = {}
        for line in self.log:
            if line.get("what") == "enabled":
                since.setdefault(plain(line["kind"]), line["correlation"])
        never = 1 << 64
        gone = {(line["kind"], line["correlation"]) for line in self.lost()}
        found: dict[int, dict] = {}
        for call in self.truth_of("call"):
            begin = since.get(plain(call["name"]), never)
            if self.has_all_calls or in_default_filter(call["name"]):
                begin = min(begin, since.get(call["domain"], never))
            if call["corr"] > begin and (call["domain"], call["corr"] & 0xffffffff) not in gone:
                if call["domain"] == "runtime" or call["corr"] not in found:
                    found[call["corr"]] = call
        return found

    def failed(self, function: str) -> bool:
        """Returns whether the simulator made a call of this function fail."""
        return any(line.get("what") == "failed" and line["function"] == function
                   for line in self.log)


# Variables of syncline, of the simulator, and of the launchers that set a job's name, run and
# rank (control/identity.c, control/run_id.c).
FOREIGN = ("SYNCLINE_", "SIMGPU_", "CUDA_", "RANK", "LOCAL_", "WORLD_SIZE", "MASTER_",
           "TORCHELASTIC_", "SLURM_", "OMPI_", "PMI_", "PMIX_", "MV2_", "PALS_", "PBS_JOBID", "LSB_JOBID",
           "RAY_", "JOB_ID", "JOB_COMPLETION", "JOBSET_NAME", "VC_JOB_NAME")


def intrusions(run_: Run) -> list[dict]:
    """Returns the CUPTI calls of syncline that would stop or damage another client's recording, and
    that syncline made after that client had registered its callbacks."""
    calls = [line for line in run_.log
             if line["what"] in ("callbacks", "disabled", "forced", "steal")]
    taken = next(i for i, line in enumerate(calls) if line["what"] == "steal"
                 or line["what"] == "callbacks" and line["by"] != LIBRARY.name)
    return [line for line in calls[taken + 1:] if line["by"] == LIBRARY.name]


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Returns this process's environment without the variables in FOREIGN, which a developer or a
    job scheduler may have set for another job."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    env.update(extra or {})
    return env


def run(tmp: pathlib.Path, *command, sim: list[str] | None = None, inject: bool = True,
        timeout: float = 60, cwd: pathlib.Path | None = None, **options: str) -> Run:
    """Runs `command` on the simulated GPU. Keyword arguments are environment variables. A lower-case name is
    an option of syncline, so `window="demand"` sets SYNCLINE_WINDOW. Other names are used unchanged."""
    out = tmp / "out"
    env = {"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job"}
    if inject:
        env["CUDA_INJECTION64_PATH"] = str(LIBRARY)
    for name, value in options.items():
        env["SYNCLINE_" + name.upper() if name.islower() else name] = value
    truth, log = tmp / "truth.jsonl", tmp / "log.jsonl"
    result = subprocess.run(
        [str(SIMGPU), "--build", str(BUILD), "--truth", str(truth), "--log", str(log),
         *(sim or []), *map(str, command)],
        capture_output=True, text=True, timeout=timeout, env=environment(env), cwd=cwd or tmp,
        check=False)
    return Run(result.returncode, result.stdout, result.stderr, (cwd or tmp) / env["SYNCLINE_OUTPUT"],
               json_lines(truth), of_syncline(json_lines(log)), options.get("api") == "all")


def scenario(tmp: pathlib.Path, steps: str, **options) -> Run:
    """Runs tests/e2e/programs/scenario with these steps."""
    return run(tmp, SCENARIO, *steps.split(), **options)


@functools.cache
def demangler() -> subprocess.Popen:
    """Returns a c++filt process, which is started once for all names. PyTorch has hundreds of
    kernels with names of thousands of characters."""
    return subprocess.Popen(["c++filt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@functools.cache
def demangled(name: str) -> str:
    process = demangler()
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def difference(expected: list, found: list, is_cut: bool = False) -> str:
    """Returns "" if both lists have the same elements in any order. With `is_cut`, elements may be missing.
    Otherwise returns a text with the missing and the surplus elements."""
    want, have = collections.Counter(expected), collections.Counter(found)
    missing, surplus = list((want - have).elements()), list((have - want).elements())
    if not surplus and (is_cut or not missing):
        return ""
    return (f"{len(missing)} of {len(expected)} missing, {len(surplus)} of {len(found)} too much\n"
            f"missing: {sorted(missing, key=str)[:5]}\nsurplus: {sorted(surplus, key=str)[:5]}")


def expected_operation(op: dict) -> tuple:
    """Returns the name and args that the trace's row of an operation must have, as a tuple."""
    place = (op["corr"], op["device"], op["context"], op["stream"], op["start"], op["end"],
             op["graph"], op["node"] if op["graph"] else 0)
    if op["kind"] == "kernel":
        return ("kernel", demangled(op["name"]), *place, tuple(op["grid"]), tuple(op["block"]),
                op["registers"], op["static_shared"] + op["dynamic_shared"])
    if op["kind"] == "memset":
        return ("gpu_memset", f"Memset ({MEMORY_KINDS[op['dst']]})", *place, op["bytes"])
    return ("gpu_memcpy",
            f"Memcpy {COPY_KINDS[op['copy_kind']]} "
            f"({MEMORY_KINDS[op['src']]} -> {MEMORY_KINDS[op['dst']]})", *place, op["bytes"])


def written_operation(event: dict) -> tuple:
    """Converts a row of a trace to a tuple like the result of expected_operation()."""
    args = event["args"]
    assert (event["pid"], event["tid"]) == (args["device"], args["stream"])
    place = (args["correlation"], args["device"], args["context"], args["stream"], event["start"],
             event["end"], args.get("graph id", 0), args.get("graph node id", 0))
    if event["cat"] == "kernel":
        return ("kernel", event["name"], *place, tuple(args["grid"]), tuple(args["block"]),
                args["registers per thread"], args["shared memory"])
    return (event["cat"], event["name"], *place, args["bytes"])


def operations_differ(run_: Run, traces: list[Trace], is_cut: bool = False) -> str:
    """Returns "" if the traces contain exactly the operations of the truth minus the log. With `is_cut`,
    operations may be missing. Otherwise returns the difference."""
    written = [written_operation(e) for t in traces for e in t.of("kernel", "gpu_memcpy", "gpu_memset")]
    return difference([expected_operation(op) for op in run_.operations()], written, is_cut)


def calls_differ(run_: Run, traces: list[Trace], is_cut: bool = False) -> str:
    """Returns "" if the traces contain exactly the calls of the truth minus the log. With `is_cut`, calls may
    be missing. Otherwise returns the difference. Each call must be on its thread if CUPTI reports the
    system's thread ids."""
    no_threads = run_.failed("cuptiSetThreadIdType")
    expected = [(call["corr"], "cuda_" + call["domain"], plain(call["name"]), call["cbid"],
                 call["start"], call["end"], call["result"], no_threads or call["thread"])
                for call in run_.calls().values()]
    return difference(expected, [
        (row["args"]["correlation"], row["cat"], plain(row["name"]), row["args"]["cbid"],
         row["start"], row["end"], row["args"].get("result", 0), no_threads or row["tid"])
        for t in traces for row in t.of("cuda_runtime", "cuda_driver")], is_cut)


CLOCK_NS = 5000  # error of converting ticks to times, in syncline and the simulator, on a busy machine
OPERATION_ROWS = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


def row_of(line: dict) -> tuple:
    """Returns a key that distinguishes a call, operation or wait of the truth from the others with
    the same correlation id."""
    if line["t"] == "call":
        return ("cuda_" + line["domain"], line["corr"])
    if line["t"] == "op":
        return (OPERATION_ROWS.get(line["kind"]), line["corr"], line["stream"],
                line["node"] if line["graph"] else 0)
    return ("cuda_sync", line["corr"])


def correct_clock(run_: Run, traces: list[Trace]) -> None:
    """Replaces the times of a row by the times in the truth, if they differ by at most CLOCK_NS.
    This is for runs in which another client set CUPTI's clock, because ticks of that clock cannot
    be converted to the exact nanosecond."""
    true = collections.defaultdict(list)
    for line in run_.truth:
        if line["t"] in ("call", "op", "wait", "follow"):
            true[row_of(line)].append((line["start"], line["end"]))
    for row in [row for trace in traces for row in trace.of(
            *OPERATION_ROWS.values(), "cuda_runtime", "cuda_driver", "cuda_sync")]:
        args = row["args"]
        known = (row["cat"], args["correlation"])
        if row["cat"] in OPERATION_ROWS.values():
            known += (args["stream"], args.get("graph node id", 0))
        off, start, end = min(((max(abs(row["start"] - start), abs(row["end"] - end)), start, end)
                               for start, end in true[known]), default=(CLOCK_NS + 1, 0, 0))
        if off <= CLOCK_NS:
            row["start"], row["end"] = start, end


def waits_differ(run_: Run, traces: list[Trace], is_cut: bool = False) -> str:
    """Returns "" if the traces contain exactly the waits of the truth minus the log. With `is_cut`, waits may
    be missing. Otherwise returns the difference. A wait whose record was delivered twice may have two rows,
    because syncline remembers only the most recent waits."""
    head = traces[0].object if traces else {}
    expected = sync_rows.expected(run_.truth, run_.lost(), head.get("cupti_version", 0),
                                  head.get("syncline", {}).get("detail") == "full")
    twice = {line["correlation"] for line in run_.log
             if line["what"] == "twice" and line["kind"] == "sync"}
    found = expected.settled([sync_rows.written(row) for t in traces for row in t.of("cuda_sync")])
    repeated = {row for row in found if row[0] & 0xffffffff in twice}
    return difference(expected.rows, [row for row in found if row not in repeated] + list(repeated),
                      is_cut)


def check_calls(run_: Run, trace: Trace) -> None:
    """Checks that the calls in the trace equal the calls in the truth, and that every launch has a row."""
    assert not calls_differ(run_, [trace]), calls_differ(run_, [trace])
    rows = {row["args"]["correlation"] for row in trace.of("cuda_runtime", "cuda_driver")}
    launched = {op["corr"] for op in run_.operations()}
    assert launched <= rows, f"launches without a row: {sorted(launched - rows)[:5]}"


def check_flows(trace: Trace) -> None:
    """Checks that there is one arrow from each launch to each of its operations, and that each id is used
    once."""
    starts = {e["id"]: e for e in trace.flows() if e["ph"] == "s"}
    assert len(starts) == sum(1 for e in trace.flows() if e["ph"] == "s"), "a flow starts twice"
    ends = collections.Counter((e["id"], e["pid"], e["tid"], e["start"])
                               for e in trace.flows() if e["ph"] == "f")
    calls = {e["args"]["correlation"]: e for e in trace.of("cuda_runtime", "cuda_driver")}
    wanted = collections.Counter()
    for operation in trace.of("kernel", "gpu_memcpy", "gpu_memset"):
        id_ = operation["args"]["correlation"]
        wanted[(id_, operation["pid"], operation["tid"], operation["start"])] += 1
        launch, start = calls[id_], starts[id_]
        assert (start["tid"], start["start"]) == (launch["tid"], launch["start"])
    assert ends == wanted
    assert set(starts) == {id_ for id_, *_ in wanted}


def check_trace(run_: Run, trace: Trace) -> None:
    """Makes all checks for a run that has only one trace and was recorded from start to end."""
    assert not operations_differ(run_, [trace]), operations_differ(run_, [trace])
    assert not waits_differ(run_, [trace]), waits_differ(run_, [trace])
    check_calls(run_, trace)
    check_flows(trace)
    first = trace.events[0]
    assert first["ph"] == "M", "index 0 is what HTA takes for 'unlinked'"


def signal_status(number: signal.Signals) -> int:
    """Returns the value of Run.status for a process that this signal ended."""
    return -int(number)
