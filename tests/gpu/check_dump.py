"""Checks that dumps of CUPTI buffers are complete. Each dump is stored in the results folder,
beside the trace of its run. On a machine without a GPU, `tests/replay/run` plays the dumps, and
`tests/replay/compare.py` checks that the replay gives the same trace."""

import gzip
import os
import struct
import subprocess
import sys

import check_torch
from machine import ROOT
from suite import Skip

SAMPLES = {"streams_and_waits": [], "graph": [], "two_threads": [], "peer_copy": [],
           "runtime_api": [], "train_like": ["--steps", "20"]}
BUFFER, DROPPED, END = 4, 5, 6


def chunks(data):
    """Yields the type and the bytes of each chunk (docs/cupti-dump.md describes chunks)."""
    magic, version, at = struct.unpack_from("<8sII", data)
    assert (magic, version) == (b"SLCUPTI\n", 1), f"header: {magic} {version}"
    while at < len(data):
        kind, _, size = struct.unpack_from("<IIQ", data, at)
        assert at + 16 + size <= len(data), "the last chunk is cut"
        yield kind, data[at + 16:at + 16 + size]
        at += 16 + size


def dump_is_whole(data, trace):
    """Checks that the dump contains every record that the library decoded, and every name."""
    found = list(chunks(data))
    kind, end = found[-1]
    assert kind == END, f"the last chunk is of type {kind}"
    buffers, records, texts_missing, reason = struct.unpack_from("<QQQI", end)
    assert (reason, texts_missing) == (0, 0), f"reason {reason}, {texts_missing} texts missing"
    assert buffers == sum(kind == BUFFER for kind, _ in found)
    decoded = trace.top["syncline"]["counters"]["records"]
    assert records == decoded, f"{records} records, {decoded} decoded"
    dropped = sum(struct.unpack_from("<QQ", chunk)[1] for kind, chunk in found if kind == DROPPED)
    return f"{buffers} buffers, {records} records, {len(data)} bytes, {dropped} dropped"


def replays(machine, dump, trace):
    """Checks that a replay of the dump gives the run's trace."""
    if not machine.simulated:
        raise Skip("needs the simulated GPU: tests/replay/run and compare.py do it later")
    folder = dump.with_suffix(".replayed")
    played = subprocess.run(
        [str(ROOT / "tests/replay/run"), "--build", str(machine.build), str(dump)], text=True,
        capture_output=True, timeout=90, check=False,
        env={**os.environ, "SYNCLINE_OUTPUT": str(folder), "SYNCLINE_API": "all",
             "SYNCLINE_COMPRESSION": "gzip"})
    assert played.returncode == 0, played.stderr[-500:]
    (again,) = folder.rglob("*.pt.trace.json.gz")
    done = subprocess.run([sys.executable, str(ROOT / "tests/replay/compare.py"), str(trace),
                           str(again)], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[:1000] + done.stderr[-500:]


def dump_of(suite, machine, name, command):
    folder = machine.out / "dumps"
    folder.mkdir(parents=True, exist_ok=True)
    raw, packed = folder / f"{name}.dump", folder / f"{name}.dump.gz"
    run = machine.record(command, {"SYNCLINE_DUMP_CUPTI": str(raw), "SYNCLINE_API": "all"})
    assert run.status == 0, run.stderr[-500:]
    if not raw.exists():
        raise Skip("no GPU work, no dump")
    (trace,) = machine.traces(run)
    (file,) = run.files("*.pt.trace.json.gz")
    data = raw.read_bytes()
    packed.write_bytes(gzip.compress(data, 9))
    raw.unlink()
    beside = file.rename(folder / f"{name}.pt.trace.json.gz")
    suite.check(f"{name}: the dump is whole", dump_is_whole, data, trace)
    suite.check(f"{name}: its replay gives the same trace", replays, machine, packed, beside)
    return f"{packed.name}, {packed.stat().st_size} bytes"


def check_all(suite, machine):
    suite.begin("Dumps")
    for name, arguments in SAMPLES.items():
        suite.check(f"{name}: dumped", lambda n=name, a=arguments: dump_of(
            suite, machine, n, [machine.program(n), *a]))
    for mode in ("train", "graph"):
        def torch_dump(mode=mode):
            check_torch.have_torch(machine)
            return dump_of(suite, machine, f"torch_{mode}", check_torch.job(mode, 5))

        suite.check(f"torch_{mode}: dumped", torch_dump)
