"""Runs the `syncline` command as a user does, on real, generated, truncated and damaged traces."""
import contextlib
import ctypes
import gzip
import json
import os
import pathlib
import random
import re
import resource
import struct
import subprocess

import pytest
import zstandard

import harness
from real_traces import REAL, real

TOOL = harness.TOOL
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def run(*arguments, status=0, **options):
    """Runs the tool and returns its standard output and error. It must exit with `status`."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          **options)
    assert done.returncode == status, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def check(path, status=0):
    return json.loads(run("check", "--json", path, status=status)[0])


def problems(report):
    return {p["id"]: p for p in report["problems"]}


def one_line(text):
    """Checks that an error is a single line which names the command. Returns the line."""
    assert text.startswith("syncline") and text.count("\n") == 1, text
    return text


def make_trace(calls=50):
    """Returns a trace in syncline's format: one row per line, and calls with their kernels and arrows."""
    rows = ['{"ph":"M","name":"process_name","pid":42,"tid":0,"ts":0.000,"args":{"name":"python"}}',
            '{"ph":"M","name":"process_name","pid":0,"tid":0,"ts":0.000,"args":{"name":"python"}}']
    for i in range(1, calls + 1):
        start = f"{i * 10}.125"
        rows += [
            f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":43,"ts":{start},'
            f'"dur":2.000,"args":{{"cbid":211,"correlation":{i}}}}}',
            f'{{"ph":"s","cat":"ac2g","name":"ac2g","id":{i},"pid":42,"tid":43,"ts":{start}}}',
            f'{{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":{i},"pid":0,"tid":7,"ts":{start}}}',
            f'{{"ph":"X","cat":"kernel","name":"f<\\"\\u00fc]\\\\\\">()","pid":0,"tid":7,"ts":{start},'
            f'"dur":5.000,"args":{{"device":0,"context":1,"stream":7,"correlation":{i},'
            f'"grid":[1,2,3]}}}}']
    return ('{\n"schemaVersion":1,\n"deviceProperties":[\n{"id":0,"name":"SIM"}],\n'
            '"baseTimeNanoseconds":1700000000000000000,\n'
            '"distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},\n"traceEvents":[\n' +
            ",\n".join(rows) + '\n],\n"syncline":{"version":"9.9","counters":{"records":100,'
            '"dropped_ring":0}},\n"traceName":"t"\n}\n').encode()


def frames(data, size):
    return b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(data[i:i + size])
                    for i in range(0, len(data), size))


def frames_as_pzstd(data, size):
    """Compresses data like pzstd. A skippable frame with the length precedes each frame, so the file begins
    with a skippable frame."""
    packed = [frames(data[i:i + size], size) for i in range(0, len(data), size)]
    return b"".join(struct.pack("<III", 0x184D2A50, 4, len(frame)) + frame for frame in packed)


def events_before(data, at):
    """Returns the number of complete events in the first `at` bytes. This is a second
    implementation, in Python, to compare the tool with."""
    decoder = json.JSONDecoder()
    text = data.decode()
    position = text.index('"traceEvents"')
    position = text.index("[", position) + 1
    count = 0
    while True:
        while text[position] in " \n,":
            position += 1
        if text[position] == "]":
            return count
        _, position = decoder.raw_decode(text, position)
        if position > at:
            return count
        count += 1


# Tests with real traces

@real
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
@pytest.mark.sanitize
def test_real_trace(path, tmp_path):
    text = gzip.decompress(path.read_bytes())
    trace = json.loads(text)
    events = trace["traceEvents"]
    report = check(path)
    assert report["valid"] and report["whole"] and not report["syncline"]
    assert report["events"] == len(events)
    assert report["rank"] == trace["distributedInfo"]["rank"]
    for name, counted in report["categories"].items():
        assert counted["events"] == sum(
            e.get("cat", "(metadata)" if e["ph"] == "M" else "(none)") == name for e in events)
    for lane in report["streams"]:
        on_it = [e for e in events if e.get("cat") in GPU and
                 (e["args"]["device"], e["args"]["stream"]) == (lane["device"], lane["stream"])]
        assert lane["operations"] == len(on_it)
        assert abs(lane["busy_ns"] - sum(e["dur"] for e in on_it) * 1000) < 1
    assert sum(lane["operations"] for lane in report["streams"]) == report["gpu_operations"] == sum(
        e.get("cat") in GPU for e in events)
    arrows = {p: {e["id"] for e in events if e.get("cat") == "ac2g" and e["ph"] == p} for p in "sf"}
    other = {p: {e["id"] for e in events if e.get("cat") == "fwdbwd" and e["ph"] == p} for p in "sf"}
    found = problems(report)
    for problem, lonely in (("flow_no_end", "sf"), ("flow_no_start", "fs")):
        wanted = sum(len(ids[lonely[0]] - ids[lonely[1]]) for ids in (arrows, other))
        assert found.get(problem, {"count": 0})["count"] == wanted
    assert all(p["severity"] == "note" for p in report["problems"])
    # The trace is converted to every format and back. The bytes are the same.
    plain, packed, last = tmp_path / "a.json", tmp_path / "b.json.zst", tmp_path / "c.json.gz"
    run("convert", path, "--to", "kineto", "-o", plain)
    assert plain.read_bytes() == text
    run("convert", plain, "--to=kineto-zst", "-o", packed, "--level", "9")
    run("convert", packed, "-t", "kineto-gz", "-o", last, "-l", 1)
    assert gzip.decompress(last.read_bytes()) == text
    assert check(last)["categories"] == report["categories"]


DAMAGE = {
    "none": lambda text: text,
    "cut": lambda text: text[:len(text) * 3 // 4],
    "a quote in a name": lambda text: text.replace(b'"f<', b'"f"<', 3500).replace(b'"f"<', b'"f<', 3490),
    "a bracket": lambda text: text[:len(text) // 2] + b"{" + text[len(text) // 2:],
    "a lost line": lambda text: text[:len(text) // 2] + text[len(text) // 2 + 150:],
    "a long row": lambda text: text.replace(b'"correlation":3000,"grid":[',
                                            b'"correlation":3000,"grid":[' + b" " * 5_000_000),
}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor gives one parser")
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.sanitize
def test_two_parsers_give_the_same_as_one(damage, tmp_path):
    """If the process may use two processors, a second thread parses."""
    path, outputs = tmp_path / "t.json", []
    path.write_bytes(DAMAGE[damage](make_trace(4000)))
    for processors in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
        for arguments in (["check", "--json"], ["check", "--verbose"], ["edges", "--json"], ["report", "--json"],
                          ["convert", "--to", "kineto", "--force", "-o", tmp_path / "out"]):
            done = subprocess.run([TOOL, *arguments, path], capture_output=True, timeout=120, check=False,
                                  preexec_fn=lambda: os.sched_setaffinity(0, processors))
            outputs.append((done.returncode, done.stdout, done.stderr))
        outputs.append((tmp_path / "out").read_bytes())
    assert outputs[:len(outputs) // 2] == outputs[len(outputs) // 2:]


# Tests with complete traces in syncline's format

@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda d: frames(d, 1000),
                                  lambda d: frames_as_pzstd(d, 1000),
                                  lambda d: gzip.compress(d[:999]) + gzip.compress(d[999:])],
                         ids=["plain", "gzip", "zstd-frames", "pzstd", "gzip-members"])
@pytest.mark.sanitize
def test_own_trace(pack, tmp_path):
    path = tmp_path / "trace"  # the name does not show the type
    path.write_bytes(pack(make_trace()))
    report = check(path)
    assert report["valid"] and report["whole"] and report["syncline"]
    assert report["version"] == "9.9" and report["rank"] == 5 and report["world_size"] == 8
    assert report["problems"] == []
    assert report["categories"]["kernel"] == {"events": 50, "total_ns": 250000}
    assert report["streams"] == [{"device": 0, "stream": 7, "operations": 50, "busy_ns": 250000}]
    text = run("check", path)[0]
    assert "valid and complete Kineto trace, written by syncline 9.9" in text
    assert "GPU 0 SIM" in text and "5 of 8" in text and text.count("\n") <= 10
    verbose = run("check", "--verbose", path)[0]
    assert "stream   7" in verbose and "syncline's counters" in verbose
    out = tmp_path / "out.json"
    run("convert", path, "--to", "kineto", "-o", out)
    assert out.read_bytes() == make_trace()
    assert out.stat().st_mode & 0o777 == 0o600


def test_losses_make_a_trace_incomplete(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace().replace(b'"dropped_ring":0', b'"dropped_ring":7'))
    report = check(path, status=1)
    assert problems(report)["lost"]["count"] == 7
    assert "dropped_ring is 7" in problems(report)["lost"]["first"]


def test_several_files(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(make_trace())
    bad.write_bytes(make_trace()[:-30])
    out, _ = run("check", "--json", good, bad, status=1)
    assert [json.loads(line)["valid"] for line in out.splitlines()] == [True, False]
    run("check", bad, good, tmp_path / "missing", status=2)
    assert run("check", "-q", good)[0] == ""


def test_standard_input(tmp_path):
    done = subprocess.run([TOOL, "check", "--json", "-"], input=gzip.compress(make_trace()),
                          capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["events"] == 202
    out = tmp_path / "o.json"
    subprocess.run([TOOL, "convert", "-", "--to", "kineto", "-o", out], input=frames(make_trace(), 500),
                   timeout=60, check=True)
    assert out.read_bytes() == make_trace()


def test_execution_trace_from_standard_input(tmp_path):
    trace, nodes = tmp_path / "t.json", tmp_path / "t.0.et"
    trace.write_bytes(make_trace())
    run("convert", trace, "--to", "chakra", "-o", nodes)
    for pack in (bytes, gzip.compress, zstandard.compress):
        done = subprocess.run([TOOL, "check", "-"], input=pack(nodes.read_bytes()), capture_output=True,
                              timeout=60, check=True)
        assert b"-: Chakra execution trace" in done.stdout
    for words in (["edges"], ["convert", "--to", "chakra", "-o", tmp_path / "o.et"]):
        done = subprocess.run([TOOL, *words, "-"], input=nodes.read_bytes(), capture_output=True,
                              timeout=60, check=False)
        assert done.returncode == 2 and b"is not a Kineto trace: it is a Chakra execution trace" in done.stderr


def test_recorded_trace(go):
    """A trace that the library recorded passes every check of the tool."""
    done = go("context stream kernel:5 copy memset event sync graph:3 stream:0 kernel:2 syncall")
    path = done.trace().path
    report = check(path)
    assert report["syncline"] and report["whole"]
    assert [p for p in report["problems"] if p["severity"] != "note"] == []
    assert report["gpu_operations"] == len(done.operations()) > 0
    out = path.with_name("converted.json.gz")
    run("convert", path, "--to", "kineto-gz", "-o", out)
    assert gzip.decompress(out.read_bytes()) == harness.decompress(path)


# Tests with truncated and damaged traces

@pytest.mark.full(seconds=6.2)
def test_cut_at_every_byte(tmp_path):
    """A trace is truncated at every possible length. `convert` makes a valid trace with all
    complete events."""
    data = make_trace(3)
    cut, out = tmp_path / "cut.json", tmp_path / "out.json"
    first_field = data.index(b",\n")
    for size in range(1, len(data) - 1):
        cut.write_bytes(data[:size])
        done = subprocess.run([TOOL, "convert", cut, "--to", "kineto", "-o", out, "--force"],
                              capture_output=True, text=True, timeout=60)
        if size <= first_field:  # the text has no complete field, so nothing can be converted
            assert done.returncode == 2 and not out.exists()
            continue
        assert done.returncode == (0 if size == len(data) - 1 else 1), (size, done.stderr)
        one_line(done.stderr)
        closed = json.loads(out.read_bytes())
        assert len(closed["traceEvents"]) == events_before(data, size), size
        assert closed["schemaVersion"] == 1
    report = check(cut, status=1)
    assert list(problems(report)) == ["truncated"] and problems(report)["truncated"]["byte"] == size


@pytest.mark.parametrize("pack", [lambda d: frames(d, 700), gzip.compress], ids=["zstd", "gzip"])
@pytest.mark.sanitize
def test_cut_compressed(pack, tmp_path):
    """A compressed trace is truncated, as in the .part file of a killed process. `convert` recovers
    every event of the complete frames."""
    data = make_trace(40)
    packed = pack(data)
    cut, out = tmp_path / "cut.part", tmp_path / "out.json.gz"
    kept = []
    for size in range(len(packed) // 3, len(packed), len(packed) // 37):
        cut.write_bytes(packed[:size])
        report = check(cut, status=1)
        assert not report["whole"] and "truncated" in problems(report)
        _, error = run("convert", cut, "--to", "kineto-gz", "-o", out, "-f", status=1)
        assert "truncated or damaged" in one_line(error)
        assert check(out)["events"] == report["events"]
        kept.append(len(json.loads(gzip.decompress(out.read_bytes()))["traceEvents"]))
        assert kept[-1] == report["events"]
    assert kept == sorted(kept) and kept[-1] > 100


def test_frames_that_ended_between_rows(tmp_path):
    """The file has only complete frames, but the end of the text is missing, as in the .part file
    of a killed process."""
    data = make_trace(40)
    middle = data.index(b',\n{"ph"', len(data) // 2) + 1
    path, out = tmp_path / "0.json.zst.part", tmp_path / "0.json.zst"
    path.write_bytes(frames(data[:middle], 512))
    report = check(path, status=1)
    assert problems(report)["truncated"]["byte"] == middle
    run("convert", path, "--to", "kineto-zst", "-o", out, status=1)
    assert check(out)["events"] == report["events"] == events_before(data, middle)


@pytest.mark.parametrize("pack", [lambda d: frames(d, 2000), gzip.compress], ids=["zstd", "gzip"])
@pytest.mark.sanitize
def test_damaged_checksum(pack, tmp_path):
    packed = bytearray(pack(make_trace()))
    packed[-5 if pack is gzip.compress else -1] ^= 0x40
    path = tmp_path / "t"
    path.write_bytes(packed)
    report = check(path, status=1)
    assert "damaged" in problems(report) and "damaged" in problems(report)["damaged"]["first"]
    assert report["events"] == 202  # the whole text was readable


def damage(data, generator, more):
    """Changes the data in up to five places: replaces a byte, removes bytes, or inserts the bytes
    that `more()` returns."""
    for _ in range(generator.randint(1, 5)):
        at = generator.randrange(len(data))
        what = generator.randrange(3)
        if what == 0:
            data[at] = generator.randrange(256)
        elif what == 1:
            del data[at:at + generator.randint(1, 40)]
        else:
            data[at:at] = more()


@pytest.mark.sanitize
def test_random_damage(tmp_path):
    """A trace has random damage. The tool reports the damage and never crashes. The files that
    `convert` writes are valid traces."""
    generator = random.Random(7)
    path, out = tmp_path / "t", tmp_path / "o.json"
    for round_ in range(120):
        data = bytearray([make_trace(5), frames(make_trace(9), 600),
                          gzip.compress(make_trace(9))][round_ % 3])
        damage(data, generator, lambda: generator.randbytes(generator.randint(1, 9)))
        path.write_bytes(data)
        done = subprocess.run([TOOL, "check", "--json", path], capture_output=True, timeout=60)
        assert done.returncode in (0, 1, 2), (round_, done.stderr)
        if done.returncode != 2:
            report = json.loads(done.stdout)
            assert report["valid"] == (done.returncode == 0)
        done = subprocess.run([TOOL, "convert", path, "--to", "kineto", "-o", out, "-f"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1, 2), (round_, done.stderr)
        if done.returncode != 2:
            json.loads(out.read_bytes())


# Requests that cannot be fulfilled: the tool prints one clear line and exits with status 2.

@pytest.mark.parametrize("content, words", [
    (b"", "empty"),
    (b"hello world", "not a Kineto trace"),
    (b"[1, 2, 3]", "not a Kineto trace"),
    (b"{}", "without traceEvents"),
    (b'{"traceEvents": 1}', "not a Kineto trace"),
    (b"\x28\xb5\x2f\xfd garbage", "damaged"),
    (b"\x1f\x8b garbage", "damaged"),
    (b"\x7fELF\x02\x01\x01\x00", "not a Kineto trace"),
])
@pytest.mark.sanitize
def test_not_a_trace(content, words, tmp_path):
    path, out = tmp_path / "thing", tmp_path / "out"
    path.write_bytes(content)
    assert words in one_line(run("check", path, status=2)[1])
    assert words in one_line(run("convert", path, "--to", "kineto", "-o", out, status=2)[1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["thing"]


def test_unreadable(tmp_path):
    assert "No such file" in one_line(run("check", tmp_path / "none", status=2)[1])
    assert "no trace" in one_line(run("check", tmp_path, status=2)[1])
    path = tmp_path / "secret"
    path.write_bytes(make_trace())
    path.chmod(0)
    # Root ignores permissions unless it drops that capability.
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = subprocess.run([*before, TOOL, "check", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "Permission denied" in one_line(done.stderr)


def test_wrong_usage(tmp_path):
    assert "did you mean check?" in one_line(run("chekc", status=2)[1])
    assert "did you mean --json?" in one_line(run("check", "--jsno", "x", status=2)[1])
    assert "did you mean kineto-gz?" in one_line(
        run("convert", "x", "--to", "kineto-gzip", "-o", "y", status=2)[1])
    assert "1 to 9" in one_line(
        run("convert", "x", "--to", "kineto-gz", "-l", "12", "-o", "y", status=2)[1])
    assert "-o FILE or --out-dir FOLDER is missing" in one_line(run("convert", "x", "--to", "kineto", status=2)[1])
    assert "PATH is missing: syncline critical-path PATH" in one_line(run("critical-path", status=2)[1])
    assert "2 traces" in one_line(run("convert", "x", "y", "--to", "kineto", "-o", "z", status=2)[1])
    assert "at least one" in one_line(run("check", status=2)[1])
    run(status=2)
    out, _ = run("--version")
    assert out.startswith("syncline ") and out.count(".") == 2
    for command in ("check", "convert", "doctor", "edges"):
        assert command in run("--help")[0]
        text = run(command, "--help")[0]
        assert f"Usage: syncline {command}" in text and "Exit status:" in text and "Examples:" in text


def test_output_is_never_harmed(tmp_path):
    path, out = tmp_path / "t.json", tmp_path / "out.json"
    path.write_bytes(make_trace())
    out.write_bytes(b"precious")
    assert "--force" in one_line(run("convert", path, "--to", "kineto", "-o", out, status=2)[1])
    assert out.read_bytes() == b"precious"
    assert "is the input" in one_line(
        run("convert", path, "--to", "kineto", "-o", path, "--force", status=2)[1])
    assert "not a regular file" in one_line(
        run("convert", path, "--to", "kineto", "-o", "/dev/full", "--force", status=2)[1])
    assert "directory" in one_line(
        run("convert", path, "--to", "kineto", "-o", tmp_path, "--force", status=2)[1])
    run("convert", path, "--to", "kineto", "-o", out, "--force")
    assert out.read_bytes() == make_trace()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "t.json"]


def test_no_room_for_the_output(tmp_path):
    """A limit on file sizes imitates a full disk: writing fails half way, and no file is left."""
    path, out = tmp_path / "t.json", tmp_path / "out.json"
    path.write_bytes(make_trace(5000))
    _, error = run("convert", path, "--to", "kineto", "-o", out, status=2,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
    assert "cannot write" in one_line(error)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.json"]


def test_report_that_cannot_be_written(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace())
    with open("/dev/full", "w") as full:
        done = subprocess.run([TOOL, "check", path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "standard output: No space left" in one_line(done.stderr)


def test_no_progress_without_a_terminal(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace(20000))
    assert run("check", path)[1] == ""
    assert run("convert", path, "--to", "kineto-gz", "-o", tmp_path / "o", "-l", 9)[1] == ""


# Tests of `syncline doctor`

def doctor(status, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SYNCLINE_", "CUDA_", "KINETO"))}
    return run("doctor", status=status, env={**clean, **environment})[0]


def test_doctor_names_each_problem(tmp_path):
    (tmp_path / "file").write_text("")
    text = doctor(1, SYNCLINE_WINDWO="run", SYNCLINE_MEMORY="lots", SYNCLINE_DETAIL="lean",
                  SYNCLINE_OUTPUT=str(tmp_path / "file" / "x"), KINETO_USE_DAEMON="1",
                  CUDA_INJECTION64_PATH="/nonexistent/libother.so")
    lines = text.splitlines()
    assert any(x.startswith("problem") and "SYNCLINE_WINDWO is not an option" in x for x in lines)
    assert "did you mean SYNCLINE_WINDOW?" in text
    assert any(x.startswith("problem") and "SYNCLINE_MEMORY=lots" in x for x in lines)
    assert any(x.startswith("ok") and x.endswith("SYNCLINE_DETAIL=lean") for x in lines)
    assert any(x.startswith("problem") and "output" in x for x in lines)
    assert any(x.startswith("problem") and "/nonexistent/libother.so" in x for x in lines)
    assert any(x.startswith("note") and "KINETO_USE_DAEMON" in x for x in lines)
    assert "problems: recording would fail" in lines[-1]


def test_doctor_says_what_an_invalid_value_means(tmp_path):
    text = doctor(1, SYNCLINE_WINDOW="steps:3", SYNCLINE_KINDS="kernel,gemm", SYNCLINE_OPS="",
                  SYNCLINE_MEMORY="lots")
    assert "SYNCLINE_WINDOW=steps:3 is not valid (expected steps:COUNT/PERIOD); recording waits for " \
        "start()" in text
    assert "no GPU work and no CUDA calls are recorded" in text
    assert "SYNCLINE_OPS=lean (default)" in text
    assert "SYNCLINE_MEMORY=lots is not valid (expected 16MiB to 64GiB); the default 64MiB is used" \
        in text
    assert "SYNCLINE_WINDOW is off: nothing is recorded" in doctor(1, SYNCLINE_WINDOW="off")
    text = doctor(1, SYNCLINE_ENABLED="maybe")
    assert "SYNCLINE_ENABLED=maybe is not valid (expected 0 or 1); recording is off" in text


def test_doctor_counts_unknown_names_past_eight(tmp_path):
    text = doctor(1, **{f"SYNCLINE_UNKNOWN_{i}": "1" for i in range(1000)})
    assert text.count("is not an option of syncline and is ignored") == 8
    assert "992 more SYNCLINE_* variables are not options and are ignored" in text


def test_doctor_without_a_driver(tmp_path):
    with contextlib.suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("an NVIDIA driver is on the loader's path")
    text = doctor(1)
    assert "problem  driver      there is no NVIDIA driver here: libcuda.so.1 was not found\n" in text
    assert "--gpus all" in text
    assert "note     cupti       not checked, because there is no driver\n" in text
    assert "install CUPTI" not in text and "1 problem:" in text


def doctor_on_the_simulated_gpu(tmp_path, *options, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SYNCLINE_", "CUDA_", "KINETO"))}
    return subprocess.run([harness.SIMGPU, "--build", harness.BUILD, *options, TOOL, "doctor"], capture_output=True,
                          text=True, timeout=60, cwd=tmp_path, env={**clean, **env})


def test_doctor_with_a_cupti_that_is_too_old(tmp_path):
    old = harness.BUILD / "tests" / "e2e" / "old_cupti" / "libcupti.so.12"
    done = doctor_on_the_simulated_gpu(tmp_path, "--cupti", "none", LD_PRELOAD=str(old))
    assert done.returncode == 1 and f"problem  cupti       {old} " in done.stdout, done.stdout
    # CUPTI's package for CUDA 13 on PyPI has no suffix such as -cu12.
    assert "`pip install nvidia-cuda-cupti`" in done.stdout and "nvidia-cuda-cupti-cu12" in done.stdout


def test_doctor_on_the_simulated_gpu(tmp_path):
    done = doctor_on_the_simulated_gpu(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for topic in ("driver", "devices", "cupti", "library", "output", "python", "nvtx", "profilers"):
        assert any(x.split()[:2] == ["ok", topic] for x in lines), (topic, done.stdout)
    assert lines[-1] == "recording would work here"
    assert list(tmp_path.iterdir()) == []  # the command has changed nothing


def test_doctor_looks_at_python(tmp_path):
    """`python3` says which PyTorch and which NCCL it has. Their observer is searched where the library searches."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text("#!/bin/sh\necho /x/python3\necho 2.99.1+cu99\necho 2.27.5\n")
    python.chmod(0o755)
    with_python = ("env", f"PATH={tmp_path / 'bin'}:{os.environ['PATH']}")
    out = doctor_on_the_simulated_gpu(tmp_path, *with_python).stdout
    assert "note     torch       PyTorch 2.99.1+cu99 of /x/python3 has no observer" in out
    assert "observers /x/python3\n" in out and "PyTorch's NCCL 2.27.5" in out
    home = tmp_path / "home"
    assert "SYNCLINE_HOME=home is a relative path" in doctor_on_the_simulated_gpu(tmp_path, SYNCLINE_HOME="home").stdout
    out = doctor_on_the_simulated_gpu(tmp_path, SYNCLINE_HOME=str(home)).stdout
    assert f"problem  python      no Python package in {home}: " in out
    for name in ("python/syncline/_boot.py", "observers/torch-2.99.so"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("")
    out = doctor_on_the_simulated_gpu(tmp_path, *with_python, SYNCLINE_HOME=str(home)).stdout
    assert f"ok       python      the package is in {home}/python (SYNCLINE_HOME)" in out
    assert f"ok       torch       PyTorch 2.99.1+cu99 of /x/python3: observer {home}/observers/torch-2.99.so" in out
    (home / "python" / "syncline").chmod(0o777)
    done = doctor_on_the_simulated_gpu(tmp_path, SYNCLINE_HOME=str(home))
    assert done.returncode == 1 and "_boot.py is not loaded: other users can write it" in done.stdout


def test_doctor_names_limits_and_other_tools(tmp_path):
    limited = f"ulimit -v {1 << 20}; exec {harness.SIMGPU} --build {harness.BUILD} {TOOL} doctor"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "memory      the limit on its address space (ulimit -v) is 1073.7 MB" in done.stdout
    out = doctor_on_the_simulated_gpu(tmp_path, NVTX_INJECTION64_PATH="/x/other.so",
                                      NSYS_PROFILING_SESSION_ID="1").stdout
    assert "note     nvtx        NVTX_INJECTION64_PATH=/x/other.so: another tool receives NVTX ranges" in out
    assert "note     profilers   Nsight Systems is profiling this session" in out
    under_run = subprocess.run([harness.SIMGPU, "--build", harness.BUILD, TOOL, "run", TOOL, "doctor", "-q"],
                               capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "NVTX" not in under_run.stdout and "profilers" not in under_run.stdout, under_run.stdout


def test_the_options_of_the_simulated_gpu_stand_apart():
    """A long value does not run into the text behind it."""
    done = subprocess.run([harness.SIMGPU, "--help"], capture_output=True, text=True, check=True)
    assert re.search(r"--nccl \S+\|2\.28-fork +which NCCL version", done.stdout)
