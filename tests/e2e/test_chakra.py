"""Runs `syncline check` on Chakra traces as a user does. The test encodes the traces by its own
code, which follows the schema."""
import gzip
import json
import subprocess

import harness


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(ident: int, *deps: int, kind: int = 4, micros: int = 12) -> bytes:
    is_cpu = field(1, b"is_cpu_op") + field(27, 0)
    return (field(1, ident) + field(2, b"kernel") + field(3, kind)
            + field(5, b"".join(map(varint, deps))) + field(7, micros) + field(10, is_cpu))


# An attribute whose text is not UTF-8. Protobuf readers reject the whole node that has it.
TEXT = field(10, field(1, b"shape") + field(29, b"\xff"))


def trace(*nodes: bytes) -> bytes:
    messages = (field(1, b"0.0.4"), *nodes)
    return b"".join(varint(len(m)) + m for m in messages)


def check(path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([harness.TOOL, "check", *options, path], capture_output=True, text=True, timeout=60)


def test_valid_trace(tmp_path):
    path = tmp_path / "t.0.et"
    path.write_bytes(trace(node(1), node(2, 1), node(3, 1, 2)))
    run = check(path)
    assert run.returncode == 0, run.stderr
    assert "Chakra execution trace 0.0.4" in run.stdout and "3 nodes, 3 dependencies" in run.stdout
    told = json.loads(check(path, "--json").stdout)
    assert told["valid"] and told["nodes"] == 3 and told["types"] == {"COMP": 3}
    assert told["gpu_ns"] == 36000 and told["problems"] == []
    assert check(path, "-q").stdout == ""


def test_metadata_of_mlcommons_converter(tmp_path):
    """The metadata has attributes and no version. MLCommons' converter writes such metadata. The file is
    valid."""
    attributes = [field(1, b"schema") + field(29, b"1.1.1-chakra.0.0.4"), field(1, b"pid") + field(13, 4711)]
    metadata = b"".join(field(2, each) for each in attributes)
    path = tmp_path / "t.0.et"
    path.write_bytes(varint(len(metadata)) + metadata + trace(node(1), node(2, 1))[8:])
    told = json.loads(check(path, "--json").stdout)
    assert told["valid"] and told["nodes"] == 2 and told["problems"] == []
    assert "Chakra execution trace\n" in check(path).stdout
    with path.open("rb") as file:  # standard input has no name that would show the type of the file
        done = subprocess.run([harness.TOOL, "check", "-"], stdin=file, capture_output=True, timeout=60, check=True)
    assert b"-: Chakra execution trace" in done.stdout


def test_compressed_trace(tmp_path):
    path = tmp_path / "t.0.et.gz"
    path.write_bytes(gzip.compress(trace(node(1))))
    assert check(path).returncode == 0


def test_broken_traces(tmp_path):
    path = tmp_path / "t.0.et"
    for data, problem in ((trace(node(1), node(2, 7)), "dep_missing"),
                          (trace(node(1, 2), node(2, 1)), "cycle"),
                          (trace(node(1 << 40), node(1 << 40)), "id_twice"),
                          (trace(node(1), node(2, (1 << 64) - 1)), "dep_missing"),
                          (trace(node(1 << 63, 1 << 62), node(1 << 62, 1 << 63)), "cycle"),
                          (trace(node(1, kind=1)), "type"),
                          (trace(node(1) + TEXT), "text"),
                          (trace(node(1, micros=(1 << 64) - 12)), "duration"),
                          (trace(node(1), node(2, 1))[:-3], "cut"),
                          (trace(node(1)) + b"\x02\x52\x7f", "damaged")):
        path.write_bytes(data)
        run = check(path, "--json")
        assert run.returncode == 1, problem
        assert problem in [p["id"] for p in json.loads(run.stdout)["problems"]]


def test_what_is_called_a_trace_is_checked_as_one(tmp_path):
    """A file whose name ends in .et is checked as a Chakra trace, unless its first bytes are JSON."""
    path = tmp_path / "1.0.et"
    path.write_bytes(b"\x05\x08\x01\x18\x04\x20")
    done = subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "files whose first message is not GlobalMetadata" in done.stdout
    path.write_text('{"traceEvents": []}')
    done = subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True, check=False)
    assert "Chakra" not in done.stdout


def test_parents_behind_children_are_a_warning(tmp_path):
    path = tmp_path / "t.0.et"
    path.write_bytes(trace(node(2, 1), node(1)))
    run = check(path)
    assert run.returncode == 0 and "warning: 1" in run.stdout
