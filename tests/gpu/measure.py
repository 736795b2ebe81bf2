"""Measures overhead, phases of a process, the clock, and CUPTI's own behaviour."""

import json
import statistics

import check_torch
from suite import Skip


def interleaved(ways, repeats, suite):
    """Measures several ways to run a program. Returns a dictionary from the name of each way to its
    values. The ways alternate, so that drift of the machine affects all ways equally."""
    values = {name: [] for name in ways}
    for _ in range(repeats):
        for name, measure in ways.items():
            if suite.seconds_left() > 0:
                values[name].append(measure())
    short = [name for name, taken in values.items() if not taken]
    if short:
        raise Skip("no time left")
    return values


def compare(suite, what, ways, repeats, unit="ms"):
    """Reports for each way its median and spread, and its ratio to the first way."""
    values = interleaved(ways, repeats, suite)
    bare = statistics.median(next(iter(values.values())))
    for name, taken in values.items():
        median = statistics.median(taken)
        relation = f", {100 * (median / bare - 1):+.1f} %" if bare else ""
        suite.fact(f"{what}: {name}", round(median, 4),
                   f"{unit} ({min(taken):.4g} to {max(taken):.4g}{relation})")


def overhead_of_samples(suite, machine):
    train = [machine.program("train_like"), "--steps", "60", "--step-us", "4000"]
    storm = [machine.program("two_threads"), "--rounds", "5000", "--kernel-us", "0"]
    for what, command in (("training-like step of 4 ms", train),
                          ("round of two threads with empty kernels", storm)):
        compare(suite, what, {"bare": lambda c=command: machine.run(c).step_ms(),
                              "syncline": lambda c=command: machine.record(c).step_ms()}, 5)


def overhead_of_torch(suite, machine):
    check_torch.have_torch(machine)
    file = str(machine.out / "torch-profiler-overhead.json")
    for mode, steps in (("launch", 60), ("train", 60), ("graph", 40)):
        bare = check_torch.job(mode, steps)
        compare(suite, f"torch {mode} step", {
            "bare": lambda c=bare: machine.run(c).step_ms(),
            "syncline": lambda c=bare: machine.record(c).step_ms(),
            "torch.profiler": lambda c=bare: machine.run([*c, "--profiler", file]).step_ms(),
        }, 3)


def cost_of_parts(suite, machine):
    """Measures what each part of a recording adds to a job that launches tiny kernels."""
    check_torch.have_torch(machine)
    job = check_torch.job("launch", 60)
    parts = {
        "kernels alone": {"SYNCLINE_KINDS": "kernel", "SYNCLINE_OPS": "off", "SYNCLINE_NVTX": "0",
                          "SYNCLINE_PYTHON": "0", "SYNCLINE_CHAKRA": "off"},
        "and CUDA calls": {"SYNCLINE_OPS": "off", "SYNCLINE_NVTX": "0", "SYNCLINE_PYTHON": "0",
                           "SYNCLINE_CHAKRA": "off"},
        "and Python's lines and steps": {"SYNCLINE_OPS": "off", "SYNCLINE_CHAKRA": "off"},
        "and operators": {"SYNCLINE_CHAKRA": "off"},
        "and their inputs": {"SYNCLINE_OPS": "full", "SYNCLINE_CHAKRA": "off"},
        "the default": {},
    }
    ways = {"bare": lambda: machine.run(job).step_ms()}
    for name, options in parts.items():
        ways[name] = lambda o=options: machine.record(job, o).step_ms()
    compare(suite, "torch launch step", ways, 3)


def phases(suite, machine):
    """Measures how long the first enabling of CUPTI and the exit take, the GPU memory, and the
    uncertainty of CUPTI's clock."""
    command = [machine.program("phases"), "--launches", "2000"]
    runs = {"bare": [], "syncline": []}
    last = None
    for _ in range(5):
        for way, start in (("bare", machine.run), ("syncline", machine.record)):
            last = start(command)
            assert last.status == 0, last.stderr[-300:]
            told = json.loads(last.stdout)
            told["exit_us"] = (last.ended_ns - told["main_end_ns"]) / 1e3
            runs[way].append(told)
    for key in ("init_us", "context_us", "module_us", "first_launch_us", "second_launch_us",
                "launches_us", "drained_us", "exit_us"):
        for way, told in runs.items():
            taken = [t[key] for t in told]
            suite.fact(f"phase {key.removesuffix('_us').replace('_', ' ')}: {way}",
                       round(statistics.median(taken), 1),
                       f"us ({min(taken):.0f} to {max(taken):.0f})")
    used = [statistics.median(t["free_bytes"] for t in runs[way]) for way in runs]
    suite.fact("GPU memory taken by watching", round((used[0] - used[1]) / (1 << 20), 1), "MiB")
    suite.check("clock: a kernel lies between the stamps around it", clock_bracket, machine, last,
                runs["syncline"][-1])


def clock_bracket(machine, run, told):
    trace = machine.traces(run)[0]
    kernel = [e for e in trace.kernels if e["name"] == "bracket_spin_ns"]
    assert len(kernel) == 1, f"{len(kernel)} kernels"
    begins = trace.begin_ns(kernel[0]) - told["before_ns"]
    ends = told["after_ns"] - trace.end_ns(kernel[0])
    assert begins >= 0, f"starts {-begins} ns before it was launched"
    assert ends >= 0, f"ends {-ends} ns after it was waited for"
    return f"starts {begins} ns after the first stamp, ends {ends} ns before the second"


def cupti_facts(suite, machine):
    """Runs cupti_facts in three processes, because the time of the first enabling of CUPTI can be
    measured only once in a process."""
    for title, arguments in (("", []), ("late, ", ["--late"]),
                             ("without SYNCHRONIZATION, ", ["--only-cuda-event"])):
        run = machine.run([machine.program("cupti_facts"), *arguments])
        told = json.loads(run.stdout)
        assert "error" not in told, told["error"]
        for name, value in told.items():
            if name == "complete" or (title and not wanted_again(name, title)):
                continue
            suite.fact(f"CUPTI: {title}{name}", json.dumps(value))


def wanted_again(name, title):
    """Returns whether a fact is also reported for a later process, because the option of that
    process changes the fact."""
    return name.startswith("enable") if title.startswith("late") else name == "event records"


def check_all(suite, machine):
    suite.begin("Measurements")
    suite.check("phases: ran", phases, suite, machine)
    suite.check("overhead of samples: ran", overhead_of_samples, suite, machine)
    suite.check("overhead of PyTorch: ran", overhead_of_torch, suite, machine)
    suite.check("cost of the parts of a recording: ran", cost_of_parts, suite, machine)
    suite.begin("CUPTI")
    suite.check("CUPTI's facts: ran", cupti_facts, suite, machine)
