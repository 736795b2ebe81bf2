#!/usr/bin/env python3
"""Compares syncline's trace of a run with libkineto's trace of the same run.

    tests/replay/libkineto.py KINETO SYNCLINE RECORDING

KINETO is the trace that tests/torch/under_profiler.py exported of a run on the simulated GPU.
RECORDING is the simulator's recording of that run (`tests/simgpu/run --record`). SYNCLINE is the
trace of the recording, played with SYNCLINE_API=all. The program compares the rows of kernels,
copies, memsets, calls and waits with all args, the arrows from calls to GPU operations, and the
descriptions of devices, streams and threads. libkineto's times come from its own clock, so they are
corrected by one offset and one rate. Some data is missing in libkineto's trace: threads on which
libkineto was not started, event records, and calls that it leaves out. For these, SYNCLINE is
compared with RECORDING.

If there is a difference that docs/kineto-compatibility.md does not list, the program prints the
earliest such difference and exits with status 1. Otherwise it prints how often each listed
difference occurred."""
import collections
import itertools
import re
import statistics
import sys

import kineto
import recording

CALLS = ("cuda_runtime", "cuda_driver")
OPERATIONS = ("kernel", "gpu_memcpy", "gpu_memset")
ROWS = (*CALLS, *OPERATIONS, "cuda_sync")

# libkineto's own filter of calls (CuptiCbidRegistry.cpp).
RUNTIME_LEFT_OUT = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate",
                    "cudaEventCreateWithFlags", "cudaEventDestroy"}
DRIVER_KEPT = {"cuLaunchKernel", "cuLaunchKernelEx"}

RECORD = ("wait_on_stream", "wait_on_cuda_event_record_corr_id")
RECORD_ELSEWHERE = ("wait_on_context", "wait_on_context_stream", "wait_on_context_record_corr_id")
TELLS_RECORDS = 26  # from CUPTI 12.8 on, a wait names the awaited event record
CUPTI_ID = 0xffffffff  # the bits of a correlation id that CUPTI reports
# The newest PyTorch version known to have this behaviour: libkineto leaves out a wait of a stream
# if all work of the stream is later than the wait.
LEAVES_EARLY_OUT = (2, 7)

# Args that only syncline writes, and args that only libkineto writes, for PyTorch's operators.
OURS = {
    "kernel": {"priority", "static shared memory", "dynamic shared memory", "cluster", "channel",
               "channel type", "graph id", "graph node id"},
    "gpu_memcpy": {"channel", "channel type", "graph id", "graph node id"},
    "gpu_memset": {"value", "graph id", "graph node id"},
    "cuda_sync": {"cuda_event_sync_id", "result", *RECORD_ELSEWHERE},
    **dict.fromkeys(CALLS, {"result", "wait_kind", "wait_ns", "wake_ns", "released_by",
                            "wait_basis", "sync_edges"}),
}
OPERATORS = {"External id", "Collective name", "dtype", "In msg nelems", "Out msg nelems",
             "Group size", "In split size", "Out split size", "Process Group Name",
             "Process Group Description", "Process Group Ranks", "Src Rank", "Dst Rank", "Seq",
             "Rank", "Comms Id"}
# Rows that are not compared: rows of PyTorch's operators, of the session and of the profiler. Also header
# entries that only a live process knows, and entries of under_profiler.py.
OTHER_ROWS = {"cpu_op", "user_annotation", "gpu_user_annotation", "fwdbwd", "overhead", "Trace"}
OTHER_FACTS = {"cuda_runtime_version", "under_profiler"}
NOT_READY = 600
WAIT_ROWS = 1000000  # in syncline's traces the tid of a wait's row is this number plus the stream
DEVICE_WIDE = 1  # in libkineto's traces the tid of waits without a stream
START_NS, LENGTH_NS, LENGTH_PART = 1000, 5, 0.001
# Rows this close to the ends of libkineto's recording may be inside or outside of the recording.
MARGIN_NS = 20000


class Unlike(Exception):
    """Raised if the two traces are not of the same run."""


class File:
    def __init__(self, path):
        self.trace = kineto.load(path)
        self.events = self.trace["traceEvents"]
        self.rows = kineto.rows(self.trace, *ROWS)
        for row in self.rows:
            row["start"], row["end"] = kineto.times(self.trace, row)
        self.by_key = collections.defaultdict(list)
        for row in self.rows:
            self.by_key[row["cat"], row["args"]["correlation"] & CUPTI_ID].append(row)
        for rows in self.by_key.values():  # a graph launch has many rows, overlapping on many streams
            rows.sort(key=lambda row: (row["args"].get("device", 0), row["args"].get("stream", 0),
                                       row["start"]))

    def leave_out(self, cat):
        self.rows = [row for row in self.rows if row["cat"] != cat]
        for key in [key for key in self.by_key if key[0] == cat]:
            del self.by_key[key]

    def metadata(self, name):
        """Returns (pid, tid) -> the first argument of each metadata row of that name."""
        found = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "M" and event["name"] == name:
                found[event["pid"], event["tid"]].append(next(iter(event["args"].values())))
        return found


def show(row):
    return (f"{row['cat']} {row['name'][:80]!r}, correlation {row['args']['correlation']}, "
            f"at {row['start']}, {row['end'] - row['start']} ns long")


class Comparison:
    def __init__(self, theirs, ours, truth):
        self.theirs, self.ours, self.truth = theirs, ours, truth
        try:
            made = theirs.trace["under_profiler"]
        except KeyError:
            raise Unlike("KINETO does not say what was asked for: under_profiler.py did not make it")
        self.torch = tuple(map(int, made["torch"].split(".")[:2]))
        if not made["waits"]:
            ours.leave_out("cuda_sync")
        self.known = collections.Counter()  # documented difference -> how often it occurred
        self.differences = []
        self.threads = collections.defaultdict(set)  # libkineto's tid of a row -> syncline's tids
        self.our_threads = collections.defaultdict(list)  # tid in syncline's trace -> times of the thread's calls
        for row in ours.rows:
            if row["cat"] in CALLS:
                self.our_threads[row["tid"]].append(row["start"])

    def differ(self, text, ns=0):
        self.differences.append((ns, text))

    # ---- conversion of times ----

    def align(self):
        """Fits a line that converts times of libkineto's clock to syncline's. The line is computed from all
        rows that are unique in both traces."""
        pairs = [(rows[0]["start"], self.ours.by_key[key][0]["start"])
                 for key, rows in self.theirs.by_key.items()
                 if len(rows) == len(self.ours.by_key.get(key, ())) == 1]
        if len(pairs) < 2:
            raise Unlike("the two have no rows in common")
        first = min(theirs for theirs, _ in pairs)
        rate, offset = statistics.linear_regression([theirs - first for theirs, _ in pairs],
                                                    [ours - theirs for theirs, ours in pairs])
        for row in self.theirs.rows:
            length = row["end"] - row["start"]
            row["start"] += round(offset + rate * (row["start"] - first))
            row["end"] = row["start"] + round(length * (1 + rate))
        self.offset, self.rate = offset, rate
        marks = {e["name"]: self.theirs.trace["baseTimeNanoseconds"] + round(e["ts"] * 1000)
                 for e in self.theirs.events if e["ph"] == "i" and "cat" not in e}
        self.begin = marks["Iteration Start: PyTorch Profiler"] + round(offset) + MARGIN_NS
        self.end = marks["Record Window End"] + round(offset) - MARGIN_NS

    def check_times(self, a, b):
        length = b["end"] - b["start"]
        if abs(a["start"] - b["start"]) > START_NS:
            self.differ(f"{show(b)} begins {a['start'] - b['start']} ns later in theirs", b["start"])
        if abs(a["end"] - a["start"] - length) > max(LENGTH_NS, LENGTH_PART * length):
            self.differ(f"{show(b)} is {a['end'] - a['start']} ns long in theirs", b["start"])

    # ---- rows that only one trace has ----

    def their_row_alone(self, row):
        call = self.ours.by_key.get(("cuda_runtime", row["args"]["correlation"]), [{"args": {}}])[0]
        if row["cat"] == "cuda_sync" and call["args"].get("result") == NOT_READY:
            self.known["queries-that-found-nothing"] += 1
        else:
            self.differ(f"theirs alone: {show(row)}", row["start"])

    def our_row_alone(self, row):
        if row["start"] < self.begin or row["end"] > self.end:
            return  # outside of libkineto's session
        if row["cat"] == "cuda_runtime" and row["name"] in RUNTIME_LEFT_OUT or \
                row["cat"] == "cuda_driver" and row["name"] not in DRIVER_KEPT:
            self.known["filter"] += 1
        elif row["name"] == "Stream Wait Event" and self.is_idle(row):
            self.known["waits-of-idle-streams"] += 1
        elif row["name"].startswith("Memcpy PtoP") and not any(
                e["name"].startswith("Memcpy PtoP") for e in self.theirs.rows):
            self.known["peer-copies"] += 1
        else:
            self.differ(f"ours alone: {show(row)}", row["start"])

    def is_idle(self, wait):
        """Returns whether libkineto's session has no work on the wait's stream."""
        starts = [row["start"] for row in self.theirs.rows if row["cat"] in OPERATIONS
                  and (row["pid"], row["tid"]) == (wait["pid"], wait["tid"])]
        return not starts or self.torch <= LEAVES_EARLY_OUT and wait["start"] < min(starts)

    # ---- rows that both traces have ----

    def check_name(self, a, b):
        if a["name"] == b["name"]:
            return
        if a["cat"] in CALLS and re.fullmatch(re.escape(b["name"]) + r"_v\d+", a["name"]):
            self.known["version-suffix"] += 1
        elif a["cat"] in CALLS and a["name"] == "INVALID":
            self.known["nameless-calls"] += 1
        else:
            self.differ(f"{show(b)} is called {a['name']!r} in theirs", b["start"])

    def check_place(self, a, b):
        stream = b["args"].get("stream")
        if b["cat"] in OPERATIONS:
            if not (a["pid"] == b["pid"] == b["args"]["device"] and a["tid"] == b["tid"] == stream):
                self.differ(f"{show(b)} stands at {a['pid']}/{a['tid']} in theirs", b["start"])
        elif b["cat"] == "cuda_sync":
            self.check_wait_place(a, b, stream)
        else:
            self.threads[a["tid"]].add(b["tid"])

    def check_wait_place(self, a, b, stream):
        usual = stream if stream >= 0 else DEVICE_WIDE
        ours = {"Stream Sync": WAIT_ROWS + stream, "Stream Wait Event": stream}
        if b["tid"] != ours.get(b["name"], WAIT_ROWS) or b["pid"] != b["args"]["device"]:
            self.differ(f"{show(b)} stands at {b['pid']}/{b['tid']}", b["start"])
        if (a["pid"], a["tid"]) != (b["pid"], usual):
            self.differ(f"{show(b)} stands at {a['pid']}/{a['tid']} in theirs", b["start"])
        elif a["tid"] != b["tid"]:
            self.known["place-of-waits"] += 1

    def check_threads(self):
        """Checks the thread ids of libkineto that are not ids of the operating system. These are truncated
        results of pthread_self(). After a thread has ended, the next one may get the same id."""
        back = collections.defaultdict(set)
        for theirs, several in self.threads.items():
            turns = sorted((self.our_threads[ours] for ours in several), key=min)
            if any(max(one) > min(next_) for one, next_ in itertools.pairwise(turns)):
                self.differ(f"threads {sorted(several)}, of the same time, are {theirs} in theirs")
            if theirs in self.our_threads and theirs not in several:
                self.differ(f"thread {min(several)} is {theirs} in theirs, which is another")
            for ours in several:
                back[ours].add(theirs)
            self.known["thread-ids"] += several != {theirs}
        for ours, theirs in back.items():
            if len(theirs) > 2 or (len(theirs) == 2 and ours not in theirs):
                self.differ(f"thread {ours} is {sorted(theirs)} in theirs")

    def check_args(self, a, b):
        theirs, ours = a["args"], b["args"]
        for key in theirs.keys() - ours.keys() - OPERATORS:
            if key in RECORD and theirs[key] == -1:
                self.known["event-records"] += 1  # check_records() checks syncline's value
            else:
                self.differ(f"{show(b)} has no {key!r}: {theirs[key]!r} in theirs", b["start"])
        for key in ours.keys() - theirs.keys() - OURS[b["cat"]]:
            self.differ(f"{show(b)} has {key!r}: {ours[key]!r}, theirs has none", b["start"])
        for key in ours.keys() & theirs.keys():
            self.check_arg(key, theirs[key], ours[key], a, b)

    def check_arg(self, key, theirs, ours, a, b):
        if key == "memory bandwidth (GB/s)":
            for row, value in ((a, theirs), (b, ours)):
                if not is_bandwidth(row, value):
                    self.differ(f"{show(row)} has a bandwidth of {value}", b["start"])
            self.known["bandwidth-digits"] += theirs != ours
        elif theirs == ours:
            return
        elif key in ("blocks per SM", "warps per SM") and abs(theirs - ours) <= ours / 2**23:
            self.known["float-digits"] += 1
        elif key == "est. achieved occupancy %" and theirs == 0 and self.opted_in(b):
            self.known["occupancy-opt-in"] += 1
        elif key in RECORD and theirs == -1:
            self.known["event-records"] += 1
        elif key == "correlation" and theirs == ours & CUPTI_ID:
            self.known["wrapped-ids"] += 1
        else:
            self.differ(f"{show(b)} has {key!r}: {ours!r}, {theirs!r} in theirs", b["start"])

    def opted_in(self, kernel):
        """Returns whether the kernel uses more shared memory than the default limit, and whether
        its occupancy in syncline's trace is possible with its number of warps."""
        device = self.theirs.trace["deviceProperties"][kernel["args"]["device"]]
        warps = device["maxThreadsPerMultiprocessor"] // device["warpSize"]
        most = 100 * min(1, float(kernel["args"]["warps per SM"]) / warps)
        return kernel["args"]["shared memory"] > device["sharedMemPerBlock"] and \
            0 < kernel["args"]["est. achieved occupancy %"] <= most + 0.5

    # ---- checks of syncline against the recording ----

    def check_records(self):
        """Checks that each wait for an event names the call that recorded the event, or no call."""
        for wait in self.ours.rows:
            if wait["cat"] != "cuda_sync":
                continue
            args = wait["args"]
            said = {key: args[key] for key in (*RECORD, *RECORD_ELSEWHERE) if key in args}
            true = self.record_of(wait)
            is_silent = not said and self.ours.trace["cupti_version"] < TELLS_RECORDS
            if said != true and not is_silent:
                self.differ(f"{show(wait)} waits for {said}, in the run for {true}", wait["start"])

    def record_of(self, wait):
        """Returns the args with which a wait must name its event record."""
        context, stream, call = self.truth.awaited.get(
            wait["args"]["correlation"] & CUPTI_ID, (None, None, None))
        if call is None:
            return {}
        rows = [row for cat in CALLS for row in self.ours.by_key.get((cat, call), ())]
        call = rows[0]["args"]["correlation"] if rows else call
        is_own = wait["name"] == "Stream Wait Event" and stream == wait["args"]["stream"]
        if context == wait["args"]["context"] and not is_own:
            return dict(zip(RECORD, (stream, call)))
        return dict(zip(RECORD_ELSEWHERE, (context, stream, call)))

    def check_calls(self):
        """Checks that each call has exactly one row with the right values, and that the correlation
        ids of a thread's calls rise, beginning below 2^32."""
        for key, (thread, _, start, _) in self.truth.calls.items():
            if key not in self.ours.by_key:
                self.differ(f"the run has a {key[0]} of correlation {key[1]} on thread {thread}, at "
                            f"{start}, which ours has not", start)
        last = collections.Counter()
        for row in sorted((row for row in self.ours.rows if row["cat"] in CALLS),
                          key=lambda row: (row["start"], row["args"]["correlation"])):
            wide, thread = row["args"]["correlation"], row["tid"]
            key = row["cat"], wide & CUPTI_ID
            said = thread, row["args"]["cbid"], row["start"], row["end"]
            if said != self.truth.calls.get(key) or len(self.ours.by_key[key]) > 1:
                self.differ(f"{show(row)} is {said} (thread, cbid, times), in the run "
                            f"{self.truth.calls.get(key)}", row["start"])
            if wide < last[thread] or not last and wide > CUPTI_ID:
                self.differ(f"{show(row)} comes behind {last[thread]}", row["start"])
            last[thread] = wide

    # ---- the whole comparison ----

    def check_rows(self):
        for key in self.theirs.by_key.keys() | self.ours.by_key.keys():
            a, b = self.theirs.by_key.get(key, []), self.ours.by_key.get(key, [])
            if len(a) == len(b):
                for one, other in zip(a, b):
                    self.check_times(one, other)
                    self.check_name(one, other)
                    self.check_place(one, other)
                    self.check_args(one, other)
            elif not b:
                for row in a:
                    self.their_row_alone(row)
            elif not a:
                for row in b:
                    self.our_row_alone(row)
            else:
                self.differ(f"{len(b)} rows, {len(a)} in theirs: {show(b[0])}", b[0]["start"])

    def arrows(self, file):
        """Returns (phase, name, binding point, correlation, category of its row) of each end of an arrow."""
        at = {(row["pid"], row["tid"], row["ts"], row["args"]["correlation"]): row["cat"]
              for row in file.rows}
        return collections.Counter(
            (e["ph"], e["name"], e.get("bp"), e["id"] & CUPTI_ID,
             at.get((e["pid"], e["tid"], e["ts"], e["id"])))
            for e in file.events if e.get("cat") == "ac2g")

    def check_arrows(self):
        theirs, ours = self.arrows(self.theirs), self.arrows(self.ours)
        for (phase, *how, call, cat), count in sorted((theirs - ours).items(), key=str):
            operation = any((c, call) in self.theirs.by_key for c in OPERATIONS)
            if phase == "f" and cat in CALLS:
                self.known["heads-at-calls"] += count
            elif cat == "cuda_sync" or (phase == "s" and ("cuda_sync", call) in self.theirs.by_key):
                self.known["arrows-to-waits"] += count
            elif phase == "s" and not operation:
                self.known["tails-without-heads"] += count
            else:
                self.differ(f"theirs alone: an arrow {phase!r} {how} at a {cat} of correlation "
                            f"{call}")
        for (phase, *how, call, cat), count in sorted((ours - theirs).items(), key=str):
            rows = [row for c in OPERATIONS for row in self.ours.by_key.get((c, call), ())]
            if not rows or not cat:
                self.differ(f"an arrow {phase!r} of correlation {call} stands at no row")
            elif all(self.begin <= row["start"] and row["end"] <= self.end for row in rows) and \
                    not all(row["name"].startswith("Memcpy PtoP") for row in rows):
                self.differ(f"ours alone: {count} arrow {phase!r} {how} at a {cat} of correlation "
                            f"{call}")

    def check_header(self):
        theirs, ours = self.theirs.trace, self.ours.trace
        for key in theirs.keys() - ours.keys() - OTHER_FACTS:
            self.differ(f"the header has no {key}: {theirs[key]!r} in theirs")
        for key in ("schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "cupti_version",
                    "cuda_driver_version"):
            if theirs[key] != ours.get(key):
                self.differ(f"{key} is {ours.get(key)}, {theirs[key]} in theirs")
        for device in theirs["deviceProperties"]:
            mine = next((d for d in ours["deviceProperties"] if d["id"] == device["id"]), {})
            for key in device:
                if device[key] != mine.get(key):
                    self.differ(f"device {device['id']}: {key} is {mine.get(key)}, {device[key]} "
                                f"in theirs")
        for key in ("rank", "world_size"):
            there = theirs.get("distributedInfo", {})
            if key in there and there[key] != ours["distributedInfo"][key]:
                self.differ(f"{key} is {ours['distributedInfo'][key]}, {there[key]} in theirs")

    def check_names(self):
        """Checks the names and the order of the tracks that are in both traces."""
        used = {(row["pid"], row["tid"]) for row in self.theirs.rows if row["cat"] in OPERATIONS}
        used |= {(device, 0) for device, _ in used}
        for name in ("process_labels", "process_sort_index", "thread_name", "thread_sort_index"):
            theirs, ours = self.theirs.metadata(name), self.ours.metadata(name)
            for place in used & theirs.keys():
                if not set(theirs[place]) <= set(ours.get(place, ())):
                    self.differ(f"{name} of {place} is {ours.get(place)}, {theirs[place]} in theirs")
        theirs, ours = self.theirs.metadata("thread_name"), self.ours.metadata("thread_name")
        pid = next(row["pid"] for row in self.ours.rows if row["cat"] in CALLS)
        for row in self.theirs.rows:
            place = (row["pid"], row["tid"])
            if row["cat"] in CALLS and place in theirs and row["tid"] in self.our_threads and \
                    not theirs[place][0].startswith(ours[pid, row["tid"]][0]):
                self.differ(f"thread {row['tid']} is {ours[pid, row['tid']]}, {theirs[place]} in "
                            f"theirs")

    def check_count(self):
        """Checks that the two traces are not empty, and that libkineto's trace has no category of
        rows that this program does not compare."""
        for cat in {e["cat"] for e in self.theirs.events if "cat" in e} - {*ROWS, "ac2g"} - OTHER_ROWS:
            self.differ(f"theirs has rows of {cat!r}")
        for cat in ("kernel", "cuda_runtime"):
            if not any(row["cat"] == cat for row in self.theirs.rows):
                self.differ(f"there is no {cat} at all")

    def run(self):
        self.align()
        self.check_count()
        self.check_rows()
        self.check_records()
        self.check_calls()
        self.check_threads()
        self.check_arrows()
        self.check_header()
        self.check_names()
        return sorted(self.differences)


def is_bandwidth(row, value):
    """Returns whether the value is bytes per duration, within the precision of its digits."""
    length = row["end"] - row["start"]
    exact = float(row["args"]["bytes"]) / length if length else 0
    # The conversion of libkineto's time to syncline's clock rounds the time once more, by up to 1
    # ns.
    return exact and abs(float(value) - exact) <= 0.0011 + exact * 1.5 / length


def compare(theirs, ours, recorded):
    """Returns the differences as texts in order of time, the count of each known difference, and a text about
    the clocks."""
    comparison = Comparison(File(theirs), File(ours), recording.Recording(recorded))
    differences = [text for _, text in comparison.run()]
    clocks = f"offset {comparison.offset:.0f} ns, rate {comparison.rate * 1e6:.3f} ppm"
    return differences, comparison.known, clocks


def main():
    if "--help" in sys.argv:
        sys.exit(print(__doc__))
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    try:
        differences, known, clocks = compare(*sys.argv[1:])
    except Unlike as error:
        sys.exit(f"{sys.argv[0]}: {error}")
    for text in differences[:1]:
        print(f"{len(differences)} differences; the first: {text}")
    if not differences:
        print(f"the same ({clocks})")
    for name, count in sorted(known.items()):
        print(f"  {count:7} {name}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
