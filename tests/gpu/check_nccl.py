"""Records collectives of NCCL on all GPUs of the machine; on one GPU, two ranks share it. Checks what the
trace says about them, and reports what only a real NCCL can tell: the order and the threads of its events,
the clock of its kernels, and the cost of recording by the size of a message."""

import collections
import json
import statistics
import sys

import kineto_trace as invariants
import measure
from check_samples import same_result
from check_torch import have_torch
from machine import ROOT
from nccl_ranks import CAPTURED, COST_SIZES, REPLAYS
from suite import Skip

JOB = str(ROOT / "tests/gpu/nccl_ranks.py")
CALLS = {"SYNCLINE_NCCL": "calls"}
COLL, P2P, KERNEL_CH = 1 << 1, 1 << 2, 1 << 6
GROUP_API, COLL_API, P2P_API, LAUNCH = 1 << 8, 1 << 9, 1 << 10, 1 << 11
NAMES = {1: "Group", COLL: "Coll", P2P: "P2p", KERNEL_CH: "KernelCh", GROUP_API: "GroupApi",
         COLL_API: "CollApi", P2P_API: "P2pApi", LAUNCH: "KernelLaunch", 1 << 12: "CeColl"}


class Ranks:
    """Runs the job with a number of ranks, on all GPUs or on one of them."""

    def __init__(self, machine, ranks, devices):
        self.machine, self.ranks = machine, ranks
        self.sim = ["--devices", str(devices)]
        self.visible = {"CUDA_VISIBLE_DEVICES": "0"} if devices == 1 else {}
        self.title = f"{ranks} ranks on {devices} GPU{'s' * (devices > 1)}"
        self.count = 0

    def _command(self, mode):
        self.count += 1
        prefix = self.machine.out / f"nccl-{self.ranks}-{self.sim[1]}-{self.count:02}-{mode}"
        return prefix, [sys.executable, JOB, "--mode", mode, "--ranks", str(self.ranks), "--calls", str(prefix)]

    def run(self, mode):
        return self.machine.run(self._command(mode)[1], self.visible, 120, self.sim)

    def record(self, mode, environment):
        """Returns the run. Its `calls` are the lines of each rank."""
        prefix, command = self._command(mode)
        run = self.machine.record(command, {**self.visible, **environment}, 120, self.sim)
        run.calls = {}
        for rank in range(self.ranks):
            path = prefix.with_name(f"{prefix.name}-{rank}.jsonl")
            run.calls[rank] = lines_of(path) if path.exists() else []
        return run

    def traces(self, run):
        """Returns the trace of each rank, in their order."""
        assert run.status == 0, run.stderr[-800:]
        traces = self.machine.traces(run, self.ranks)
        return sorted(traces, key=lambda trace: trace.top["distributedInfo"]["rank"])


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def nccl_kernels(trace):
    """Returns the kernels of NCCL in the order of their launches. Kernels of a replay have one launch. A kernel that
    PyTorch describes gets NCCL's sizes from the call that launched it."""
    calls = {e["args"]["correlation"]: e for e in trace.cpu}
    found = []
    for e in trace.kernels:
        if e["name"].startswith(("ncclDevKernel", "ncclSymkDevKernel")):
            call = calls[e["args"]["correlation"]]
            sizes = {name: value for name, value in call["args"].items() if name.startswith("NCCL")}
            found.append((call["ts"], e["ts"], {**e, "args": {**sizes, **e["args"]}}))
    return [e for _, _, e in sorted(found, key=lambda row: row[:2])]


def check_kernel(trace, kernel, call, rank):
    """Checks the args and the times of a kernel."""
    args, what = kernel["args"], f"{kernel['name']} of {call['what'][0]}"
    assert args.get("NCCL call") in call["what"], f"{what} says it is {args.get('NCCL call')}"
    for key, name in (("count", "NCCL count"), ("dtype", "NCCL dtype"), ("root", "NCCL root"), ("peer", "NCCL peer"),
                      ("calls", "NCCL calls in kernel")):
        # The kernel of a replay may have PyTorch's sizes in place of NCCL's. A communicator of two has ranks 0, 1.
        if key in call and (name in args or "is_replayed" not in call) and not (
                key == "peer" and args["Comm ranks"] == 2):
            assert args.get(name) == call[key], f"{what}: {name} is {args.get(name)}, not {call[key]}"
    if "calls" not in call and "count" in call and ("NCCL bytes" in args or "is_replayed" not in call):
        assert args["NCCL bytes"] == 4 * call["count"], f"{what}: {args['NCCL bytes']} bytes"
    assert call["before"] <= trace.begin_ns(kernel), f"{what} begins before its call"
    assert trace.end_ns(kernel) <= call["after"], f"{what} ends after it was waited for"
    if args["Comm ranks"] > 2:
        assert args["Comm rank"] == rank, f"{what}: rank {args['Comm rank']} of the communicator, not {rank}"


def each_kernel_has_its_collective(traces, run):
    for rank, trace in enumerate(traces):
        kernels, calls = nccl_kernels(trace), run.calls[rank]
        assert len(kernels) == len(calls), f"rank {rank}: {len(kernels)} kernels of {len(calls)} calls"
        for kernel, call in zip(kernels, calls):
            check_kernel(trace, kernel, call, rank)
    return f"{len(calls)} kernels of each of {len(traces)} ranks"


def nothing_is_odd(traces):
    for trace in traces:
        odd = {name: trace.counters()[name] for name in ("nccl_odd_events", "nccl_unjoined")}
        assert not any(map(int, odd.values())), f"{odd}"


def numbers_agree(traces):
    """The collectives of a communicator and function are numbered in order, and equal on all ranks."""
    found = []
    for trace in traces:
        numbers = collections.defaultdict(list)
        for args in (kernel["args"] for kernel in nccl_kernels(trace)):
            if "NCCL number" in args:
                numbers[args["Comm"], args["NCCL call"]].append((args["NCCL number"], args["NCCL bytes"]))
        for key, values in numbers.items():
            assert [number for number, _ in values] == sorted({number for number, _ in values}), f"{key}: {values}"
        found.append(numbers)
    shared = set.intersection(*map(set, found))
    assert shared, "no communicator that all ranks have"
    for key in shared:
        assert all(numbers[key] == found[0][key] for numbers in found), f"{key}: ranks differ"
    return f"{len(shared)} pairs of communicator and function"


def says_what_pytorch_says(traces):
    """Compares the elements that NCCL reports with those that PyTorch reports. PyTorch counts the input."""
    compared = 0
    for trace in traces:
        for args in (kernel["args"] for kernel in nccl_kernels(trace)):
            if args.get("NCCL call") in ("AllReduce", "Broadcast", "Reduce", "AllGather") and \
                    "NCCL count" in args and "In msg nelems" in args:
                assert args["NCCL count"] == args["In msg nelems"], \
                    f"NCCL: {args['NCCL count']}, PyTorch: {args['In msg nelems']} elements"
                compared += 1
    if not compared:
        raise Skip("PyTorch's args are missing (no observer?)")
    return f"{compared} kernels"


def check_calls(suite, ranks):
    bare, watched = ranks.run("calls"), ranks.record("calls", CALLS)
    suite.check(f"{ranks.title}: same status and output as bare", same_result, bare, watched)
    traces = []
    suite.check(f"{ranks.title}: complete traces", lambda: traces.extend(ranks.traces(watched)))
    if not traces:
        return
    for invariant in invariants.INVARIANTS:
        suite.check(f"{ranks.title}: {invariant.__name__.replace('_', ' ')}",
                    lambda check=invariant: [check(trace) for trace in traces][0])
    suite.check(f"{ranks.title}: each kernel has its collective", each_kernel_has_its_collective, traces, watched)
    suite.check(f"{ranks.title}: no odd event", nothing_is_odd, traces)
    suite.check(f"{ranks.title}: numbers agree", numbers_agree, traces)
    suite.check(f"{ranks.title}: says what PyTorch says", says_what_pytorch_says, traces)
    suite.check(f"{ranks.title}: the command", the_command, ranks.machine, watched, "all_reduce")


def the_command(machine, run, call):
    """`syncline collectives` finds the collectives of all ranks, and nothing that does not agree."""
    done = machine.syncline("collectives", "--json", run.folder)
    assert done.returncode == 0, done.stderr[-500:]
    found = json.loads(done.stdout)
    assert not found["problems"], f"{found['problems'][0]}"
    rows = [row for row in found["collectives"] if row["call"] == call]
    if not rows:
        raise Skip("no collective with PyTorch's args (no observer?)")
    # Before the first and after the last step, nothing is matched.
    assert all(row["timed"] >= 0.8 * row["count"] for row in rows), f"not all are timed: {rows}"
    return f"{found['matched']} matched; bus bandwidth of the largest {call}: {rows[-1]['bus_gb_per_s']} GB/s"


def check_graph(suite, ranks):
    watched, traces = ranks.record("graph", {**CALLS, "SYNCLINE_GRAPH_EDGES": "1"}), []
    if not suite.check("graph: complete traces", lambda: traces.extend(ranks.traces(watched))):
        return

    def kernels_of_replays(want_args):
        found = 0
        for rank, trace in enumerate(traces):
            kernels, calls = nccl_kernels(trace), watched.calls[rank]
            assert len(kernels) == len(calls) == REPLAYS * CAPTURED + 2, f"{len(kernels)} kernels"
            for kernel, call in zip(kernels, calls):
                if "is_replayed" in call and not want_args:
                    assert call["before"] <= trace.begin_ns(kernel) and trace.end_ns(kernel) <= call["after"]
                elif "is_replayed" not in call or "NCCL call" in kernel["args"]:
                    check_kernel(trace, kernel, call, rank)
                    found += "is_replayed" in call
        if want_args:
            if not found:
                raise Skip("this syncline does not describe replays")
            assert found == len(watched.calls) * REPLAYS * CAPTURED, f"only {found} replayed kernels have args"
            return f"{found} kernels"
        return f"{REPLAYS} replays of {CAPTURED} kernels"

    suite.check("graph: replayed kernels are there", kernels_of_replays, False)
    suite.check("graph: replayed kernels have their collective", kernels_of_replays, True)


def check_abort(suite, ranks):
    bare, watched = ranks.run("abort"), ranks.record("abort", CALLS)
    suite.check("abort: same status and output as bare", same_result, bare, watched)

    def aborted():
        traces = ranks.traces(watched)
        for rank, trace in enumerate(traces):
            kernels, calls = nccl_kernels(trace), watched.calls[rank]
            assert len(kernels) == len(calls), f"rank {rank}: {len(kernels)} kernels of {len(calls)} calls"
            for kernel, call in zip(kernels, calls):
                check_kernel(trace, kernel, call, rank)
        return f"{nccl_kernels(traces[0])[1]['dur'] / 1000:.0f} ms until the abort"

    suite.check("abort: the aborted collective and the later ones are described", aborted)


# ---- events, by the plugin that writes them ----

def events(ranks, mode, mask=None):
    """Returns the run and the events of each rank that nccl_events wrote. syncline's own plugin is off."""
    machine = ranks.machine
    prefix = machine.out / f"nccl-events-{mode}{'-channels' * bool(mask)}"
    environment = {"SYNCLINE_NCCL": "off", "NCCL_PROFILER_PLUGIN": machine.program("nccl_events.so"),
                   "NCCL_EVENTS": str(prefix), **({"NCCL_EVENTS_MASK": str(mask)} if mask else {})}
    run = ranks.record(mode, environment)
    assert run.status == 0, run.stderr[-800:]
    paths = [prefix.with_name(f"{prefix.name}-{rank}.jsonl") for rank in range(ranks.ranks)]
    if not all(path.exists() for path in paths):
        raise Skip("this NCCL loaded no plugin")
    return run, [lines_of(path) for path in paths]


def order_of_events(lines):
    """Checks what syncline's plugin expects of the order, and returns counts of what is only observed."""
    seen, open_launch, stopped, facts = {}, {}, set(), collections.Counter()
    for line in lines:
        if line["do"] == "start":
            seen[line["id"]] = line
            kind, parent = line["type"], seen.get(line["parent"], {"type": None, "tid": None})
            if kind in (COLL_API, P2P_API, LAUNCH):
                assert parent["type"] == GROUP_API, f"a {NAMES[kind]} in {NAMES.get(parent['type'], 'nothing')}"
                facts[f"{NAMES[kind]} after the end of its group"] += line["parent"] in stopped
            if kind in (COLL, P2P):
                assert parent["type"] in (COLL_API, P2P_API), f"a {NAMES[kind]} in {NAMES.get(parent['type'])}"
                where = "the thread" if parent["tid"] == line["tid"] else "another thread than that"
                facts[f"{NAMES[kind]} on {where} of its call"] += 1
                assert line["tid"] not in open_launch, f"a {NAMES[kind]} inside a KernelLaunch"
            if kind == LAUNCH:
                assert line["tid"] not in open_launch, "a KernelLaunch inside another"
                open_launch[line["tid"]] = line["id"]
            facts[f"{NAMES.get(kind, kind)} started"] += 1
        elif line["do"] == "stop":
            began = seen.get(line["id"])
            if line["id"] in stopped or not began:
                facts["stopped again, or never started"] += 1
            elif began["type"] == LAUNCH:
                assert open_launch.pop(began["tid"], None) == line["id"], "another KernelLaunch is stopped"
                assert began["tid"] == line["tid"], "a KernelLaunch is stopped on another thread"
            stopped.add(line["id"])
        elif line["do"] == "state" and line["id"] in stopped:
            facts["state after the stop"] += 1
    facts["threads"] = len({line["tid"] for line in lines})
    facts["started and never stopped"] = len(set(seen) - stopped)
    return facts


def launches_hold_their_kernel(lines, trace):
    """Checks that each KernelLaunch contains the CUDA call that launched a kernel of NCCL, on its thread."""
    begins = {}
    spans = []
    for line in lines:
        if line["do"] == "start" and line["type"] == LAUNCH:
            begins[line["id"]] = line
        elif line["do"] == "stop" and line["id"] in begins:
            spans.append((begins.pop(line["id"]), line["at"]))
    calls = {e["args"]["correlation"]: e for e in trace.cpu}
    inside = 0
    for kernel in nccl_kernels(trace):
        call = calls[kernel["args"]["correlation"]]
        inside += any(span["tid"] == call["tid"] and span["at"] <= trace.begin_ns(call) and
                      trace.end_ns(call) <= end for span, end in spans)
    kernels = nccl_kernels(trace)
    assert inside == len(kernels), f"only {inside} of {len(kernels)} kernels are launched inside a KernelLaunch"
    return f"{inside} kernels, {len(spans)} launches"


def check_events(suite, ranks):
    for mode in ("calls", "graph"):
        taken = []

        def take(mode=mode, taken=taken):
            taken.extend(events(ranks, mode))

        if not suite.check(f"events of {mode}: were written", take):
            continue
        run, lines = taken
        for rank, of_rank in enumerate(lines):
            facts = collections.Counter()
            suite.check(f"events of {mode}: order, rank {rank}",
                        lambda of=of_rank, facts=facts: facts.update(order_of_events(of)))
            if rank == 0:
                for name, value in sorted(facts.items()):
                    suite.fact(f"events of {mode}: {name}", value)
        if mode == "calls":
            suite.check("events: a KernelLaunch holds its kernel's launch",
                        lambda: launches_hold_their_kernel(lines[0], ranks.traces(run)[0]))


def clock_of_channels(suite, ranks):
    """Compares the times of KernelCh, which are the GPU's globaltimer, with CUPTI's of the same kernels."""
    run, lines = events(ranks, "calls", 0xf07 | KERNEL_CH)
    trace = ranks.traces(run)[0]
    start_of, tasks = {}, collections.defaultdict(list)
    for line in lines[0]:
        if line["do"] == "start" and line["type"] == KERNEL_CH:
            start_of[line["id"]] = line
        elif line["do"] == "state" and line["id"] in start_of and line["timer"]:
            began = start_of[line["id"]]
            tasks[began["parent"]].append((began["timer"], line["timer"]))
    if not tasks:
        raise Skip("NCCL sent no KernelCh event")
    kernels = sorted(nccl_kernels(trace), key=trace.begin_ns)
    begins, ends = [], []
    for spans in tasks.values():
        begin, end = min(begin for begin, _ in spans), max(end for _, end in spans)
        nearest = min(kernels, key=lambda kernel, at=begin: abs(trace.begin_ns(kernel) - at))
        begins.append((begin - trace.begin_ns(nearest)) / 1000)
        ends.append((trace.end_ns(nearest) - end) / 1000)
    for what, values in (("begins after its kernel", begins), ("ends before its kernel", ends)):
        suite.fact(f"KernelCh {what}: median, least, most", " ".join(
            f"{value:.2f}" for value in (statistics.median(values), min(values), max(values))), "us")
    suite.fact("KernelCh: collectives with times, kernels", f"{len(tasks)}, {len(kernels)}")


# ---- levels ----

def level_is_taken(machine, level):
    """Raises Skip if this syncline does not take the level, or refuses it here."""
    run = machine.record([machine.program("two_threads")], {"SYNCLINE_NCCL": level})
    for line in run.stderr.splitlines():
        if "SYNCLINE_NCCL" in line:
            raise Skip(line)


def refused(run, level):
    """Returns the line with which syncline refused the level, or None."""
    return next((line for line in run.stderr.splitlines()
                 if "syncline" in line and "NCCL" in line and level in line), None)


def check_level(suite, ranks, level):
    """Runs the calls with a deep level. The kernels must be described as at `calls`."""
    def same_args():
        level_is_taken(ranks.machine, level)
        run = ranks.record("calls", {"SYNCLINE_NCCL": level})
        traces = ranks.traces(run)
        each_kernel_has_its_collective(traces, run)
        if refused(run, level):
            raise Skip(refused(run, level))
        rows = collections.Counter(e["cat"] for e in traces[0].events if e.get("ph") == "X")
        return ", ".join(f"{count} {name}" for name, count in rows.most_common())

    suite.check(f"level {level}: kernels are described", same_args)


def check_cost(suite, ranks):
    """Measures all_reduce of several sizes, bare and with each level. The first way is the base."""
    ways = {"bare": None, "off": "off", "calls": "calls"}
    for level in ("channels", "network"):
        try:
            level_is_taken(ranks.machine, level)
            ways[level] = level
        except Skip as reason:
            suite.check(f"cost: {level}", _skip, str(reason))
    taken = measure.interleaved({name: lambda level=level: _cost(ranks, level) for name, level in ways.items()},
                                1 if ranks.machine.simulated else 3, suite)
    for size in COST_SIZES:
        bare = statistics.median(times[str(size)] for times in taken["bare"])
        for name, runs in taken.items():
            values = [times[str(size)] for times in runs]
            median = statistics.median(values)
            suite.fact(f"all_reduce of {size} bytes: {name}", round(median, 2),
                       f"us ({min(values):.4g} to {max(values):.4g}, {100 * (median / bare - 1):+.1f} %)")


def _cost(ranks, level):
    run = ranks.record("cost", {"SYNCLINE_NCCL": level}) if level else ranks.run("cost")
    assert run.status == 0, run.stderr[-500:]
    return json.loads(run.stdout)


def _skip(reason):
    raise Skip(reason)


def check_train(suite, ranks):
    bare, watched = ranks.run("train"), ranks.record("train", CALLS)
    suite.check("DDP: same status and output as bare", same_result, bare, watched)

    def all_described():
        traces = ranks.traces(watched)
        nothing_is_odd(traces)
        for rank, trace in enumerate(traces):
            without = [e["name"] for e in nccl_kernels(trace) if "NCCL call" not in e["args"]]
            assert not without, f"rank {rank}: {len(without)} kernels without a collective: {without[0]}"
        says = [args["NCCL bytes"] for args in (e["args"] for e in nccl_kernels(traces[0]))
                if args["NCCL call"] == "AllReduce"]
        return f"{len(nccl_kernels(traces[0]))} kernels; all_reduce of {min(says)} to {max(says)} bytes"

    suite.check("DDP: each kernel has its collective", all_described)
    suite.check("DDP: the command", the_command, ranks.machine, watched, "all_reduce")
    measure.compare(suite, "DDP step", {
        "bare": lambda: ranks.run("train").step_ms(),
        "off": lambda: ranks.record("train", {"SYNCLINE_NCCL": "off"}).step_ms(),
        "calls": lambda: ranks.record("train", CALLS).step_ms()}, 1 if ranks.machine.simulated else 3)


def devices_of(machine):
    """Returns the number of GPUs, and reports NCCL's version."""
    asked = machine.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count(), "
                         "*torch.cuda.nccl.version())"], sim=["--devices", "2"])
    count, *version = asked.stdout.split()
    return int(count), ".".join(version)


def check_all(suite, machine):
    suite.begin("NCCL")
    if not suite.check("PyTorch is here", have_torch, machine):
        return
    devices, version = devices_of(machine)
    suite.fact("NCCL's version", version)
    main = Ranks(machine, max(2, devices), devices)
    suite.check(f"{main.title}: ran", check_calls, suite, main)
    if devices > 1:
        shared = Ranks(machine, 2, 1)
        suite.check(f"{shared.title}: ran", check_calls, suite, shared)
    suite.check("graph: ran", check_graph, suite, main)
    suite.check("abort: ran", check_abort, suite, main)
    suite.check("DDP: ran", check_train, suite, main)
    suite.check("events: ran", check_events, suite, main)
    suite.check("clock of KernelCh", clock_of_channels, suite, main)
    for level in ("channels", "network"):
        check_level(suite, main, level)
    suite.check("cost by size: ran", check_cost, suite, main)
