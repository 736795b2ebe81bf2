"""Plays a recording to syncline (tests/replay), and reads the dumps that syncline writes."""
import subprocess
import sys

import harness

REPLAY = harness.REPO / "tests" / "replay"
sys.path[:0] = [str(REPLAY)]


def play(tmp, recording, *sim, cupti=None, speed=None, **options):
    """Plays a recording to syncline. Lower-case keywords are options of syncline. Other keywords are
    environment variables."""
    out = tmp / "out"
    env = {"SYNCLINE_OUTPUT": str(out), "CUDA_INJECTION64_PATH": str(harness.LIBRARY)}
    for name, value in options.items():
        env["SYNCLINE_" + name.upper() if name.islower() else name] = value
    command = [REPLAY / "run", "--build", harness.BUILD]
    command += ["--cupti", cupti] if cupti else []
    command += ["--speed", speed] if speed else []
    log = tmp / "log.jsonl"
    result = subprocess.run([*map(str, command), str(recording), "--log", str(log), *sim],
                            capture_output=True, text=True, timeout=240, check=False,
                            env=harness.environment(env), cwd=tmp)
    return harness.Run(result.returncode, result.stdout, result.stderr, out, [],
                       harness.json_lines(log))


def played(tmp, recording, *sim, **options):
    """Plays a recording and returns the trace. Fails if syncline printed a warning or lost a record."""
    run = play(tmp, recording, *sim, log="warn", **options)
    assert (run.status, run.stdout, run.stderr) == (0, "", "")
    trace = run.trace()
    lost = {name: count for name, count in trace.counters.items()
            if count and ("dropped_" in name or "undelivered" in name or "invalid" in name
                          or name in ("outside_window", "names_lost", "records_unknown"))}
    lost.pop("nested_dropped", None)
    lost.pop("dropped_no_buffer", None)  # nothing is lost, because the player requests a buffer until it gets one
    assert not lost
    return trace


def chunks(path):
    """Yields (type, bytes) for each chunk of a dump, in the format of docs/cupti-dump.md."""
    data = path.read_bytes()
    assert data[:8] == b"SLCUPTI\n"
    at = int.from_bytes(data[12:16], "little")
    while at < len(data):
        kind, size = (int.from_bytes(data[at:at + 4], "little"),
                      int.from_bytes(data[at + 8:at + 16], "little"))
        yield kind, data[at + 16:at + 16 + size]
        at += 16 + size


def dumped(path):
    return sum(kind == 4 for kind, _ in chunks(path))
