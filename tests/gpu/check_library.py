"""Checks windows, processes that are not recorded, killed processes, and the exported symbols of
the shared library."""

import re
import shutil
import signal
import subprocess

import kineto_trace as invariants
from check_samples import same_result
from machine import ROOT
from suite import Skip


def check_windows(suite, machine):
    """Records two windows on demand. Operations of graphs and objects that were made while
    recording was off must be in the traces."""
    command = [machine.program("windows")]
    bare = machine.run(command)
    watched = machine.record(command, {"SYNCLINE_WINDOW": "demand"})
    suite.check("windows: same status and output as bare", same_result, bare, watched)
    traces = []
    suite.check("windows: two complete traces",
                lambda: traces.extend(machine.traces(watched, expected=2)))
    if len(traces) != 2:
        return
    wanted = ({"window_1_spin_ns": 10, "graph_off_spin_ns": 12},
              {"window_2_spin_ns": 10, "graph_off_spin_ns": 8, "graph_on_spin_ns": 4})
    for number, (trace, want) in enumerate(zip(traces, wanted), 1):
        def holds_its_kernels(trace=trace, want=want):
            counts = dict(trace.kernel_counts())
            assert counts == want, f"kernels {counts}, launched in the window {want}"
            nodes = [e for e in trace.kernels if e["name"].startswith("graph_")]
            bare_nodes = [e for e in nodes if not e["args"].get("graph node id")]
            assert not bare_nodes, f"{len(bare_nodes)} of {len(nodes)} without a graph node id"
            return f"{len(nodes)} graph nodes with their ids"

        suite.check(f"windows: window {number} holds what was launched in it, graphs captured "
                    "while off too", holds_its_kernels)
        for invariant in invariants.INVARIANTS:
            suite.check(f"windows: window {number}: {invariant.__name__.replace('_', ' ')}",
                        invariant, trace)


def disabled_leaves_nothing(machine):
    command = [machine.program("two_threads")]
    bare, watched = machine.run(command), machine.record(command, {"SYNCLINE_ENABLED": "0"})
    same_result(bare, watched)
    assert not watched.files(), f"files: {watched.files()}"


def no_context_no_file(machine):
    command = [machine.program("probe_gpu")]
    bare, watched = machine.run(command), machine.record(command)
    same_result(bare, watched)
    assert not watched.files(), f"files: {watched.files()}"


def killed_leaves_a_readable_file(machine):
    """SIGKILL ends the program after three seconds of training. Everything except the last one or
    two seconds is in the file."""
    train = machine.program("train_like")
    script = f"{train} --steps 100000 & sleep 3; kill -KILL $!; wait $! 2>/dev/null; true"
    watched = machine.record(["/bin/sh", "-c", script])
    files = watched.files("*.pt.trace.json.zst.part")
    assert len(files) == 1, f"files: {watched.files()}; stderr: {watched.stderr[-300:]}"
    closed = files[0].with_name("closed.pt.trace.json.gz")
    done = machine.syncline("convert", files[0], "--to", "kineto-gz", "-o", closed)
    assert closed.exists(), f"syncline convert: {done.stderr[-300:]}"
    trace = invariants.Trace(closed)
    ends = max(trace.end_ns(kernel) for kernel in trace.kernels)
    lost_s = (watched.ended_ns - ends) / 1e9
    assert lost_s < 3, f"the last kernel on the disk ended {lost_s:.1f} s before the end"
    return f"{len(trace.kernels)} kernels, the last ended {lost_s:.2f} s before the end"


def ends_by_a_signal(machine):
    """SIGTERM ends the program by its default action. The exit status is the same as without syncline."""
    train = machine.program("train_like")
    script = f"{train} --steps 100000 & p=$!; sleep 2; kill -TERM $p; wait $p; echo status $?"
    watched = machine.record(["/bin/sh", "-c", script])
    assert f"status {128 + signal.SIGTERM}" in watched.stdout, watched.stdout
    assert watched.files(), "no file"


def exports_are_listed(machine):
    if not shutil.which("nm"):
        raise Skip("no nm here")
    listed = set(re.findall(r"^\s+(\w+);", (ROOT / "runtime/syncline.map").read_text("utf-8"),
                            re.MULTILINE))
    table = subprocess.run(["nm", "-D", "--defined-only", str(machine.library)], text=True,
                           capture_output=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in table.splitlines()
                if line.split()[1] != "A"}
    assert exported == listed, f"exported: {sorted(exported)}, listed: {sorted(listed)}"
    return ", ".join(sorted(exported))


def needs_only_libc(machine):
    if not shutil.which("readelf"):
        raise Skip("no readelf here")
    dynamic = subprocess.run(["readelf", "-d", str(machine.library)], text=True,
                             capture_output=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.+?)\]", dynamic))
    libc = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "librt.so.1",
            "ld-linux-x86-64.so.2"}
    assert needed <= libc, f"needs {sorted(needed - libc)}"
    assert "NODELETE" in dynamic, "may be unloaded: no NODELETE flag"
    return ", ".join(sorted(needed))


def doctor_is_content(machine):
    command = [str(machine.tool), "doctor"]
    done = machine.run(command)
    assert done.status == 0, f"status {done.status}: {done.stdout[-600:]}{done.stderr[-300:]}"
    return done.stdout.strip()[-600:]


def threads_and_descriptors(machine):
    """A recorded process has at most two threads of syncline. Reports how much memory syncline uses."""
    train = machine.program("train_like")
    script = (f"{train} --steps 100000 & p=$!; sleep 2; cat /proc/$p/task/*/comm; "
              "grep VmRSS /proc/$p/status; kill -KILL $p; wait $p 2>/dev/null; true")
    bare, watched = machine.run(["/bin/sh", "-c", script]), machine.record(["/bin/sh", "-c", script])
    ours = [name for name in watched.stdout.split("\n") if name.startswith("syncline")]
    assert len(ours) <= 2, f"threads: {ours}"
    assert ours, f"no thread of ours: {watched.stdout}"
    grown = [int(re.search(r"VmRSS:\s+(\d+)", run.stdout)[1]) for run in (bare, watched)]
    return f"threads {', '.join(ours)}; resident {grown[0]} kB bare, {grown[1]} kB watched"


def check_all(suite, machine):
    suite.begin("Library")
    suite.check("exports are those listed", exports_are_listed, machine)
    suite.check("needs only libc, stays loaded", needs_only_libc, machine)
    suite.check("doctor", doctor_is_content, machine)
    suite.check("no context, no file", no_context_no_file, machine)
    suite.check("SYNCLINE_ENABLED=0 leaves nothing", disabled_leaves_nothing, machine)
    suite.check("two threads at most", threads_and_descriptors, machine)
    suite.check("SIGTERM: status as without us", ends_by_a_signal, machine)
    suite.check("SIGKILL: what was flushed is readable", killed_leaves_a_readable_file, machine)
    suite.begin("Windows")
    check_windows(suite, machine)
