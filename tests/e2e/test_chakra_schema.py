"""Checks the bytes that the Chakra writer encodes by hand. These bytes must be readable with the
schema that was typed by hand in chakra.py, and with syncline's chakra.proto, compiled by protoc.
Both schemas must agree."""
import json
import pathlib
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2

import chakra
import harness

PROTO = harness.REPO / "runtime" / "write" / "chakra" / "chakra.proto"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> descriptor_pb2.FileDescriptorProto:
    out = tmp_path_factory.mktemp("proto") / "chakra.pb"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO.parent}",
                    f"--descriptor_set_out={out}", PROTO.name], check=True, timeout=60)
    return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]


def facts(file: descriptor_pb2.FileDescriptorProto) -> dict:
    """Returns every property of the schema that affects the encoding."""
    found = {(m.name, f.name): (f.number, f.type, f.label, f.type_name.split(".")[-1],
                                f.HasField("oneof_index"))
             for m in file.message_type for f in m.field}
    found.update({(e.name, v.name): v.number for e in file.enum_type for v in e.value})
    return found


def test_our_schema_is_that_of_the_format(compiled):
    ours, typed = facts(compiled), facts(chakra.schema())
    # No message uses this enum, because its values are stored in attributes.
    collectives = {key[1]: ours.pop(key) for key in list(ours) if key[0] == "CollectiveCommType"}
    assert ours == typed
    assert list(collectives) == ["ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER",
                                 "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
                                 "REDUCE_SCATTER_BLOCK", "BARRIER"]
    assert list(collectives.values()) == list(range(10))


def trace(tmp_path: pathlib.Path) -> pathlib.Path:
    rows = []

    def row(category, name, tid, ts, dur, **args):
        rows.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts,
                     "dur": dur, "args": {k.replace("_", " "): v for k, v in args.items()}})

    row("cpu_op", "aten::add \u00e4\u2192\U0001f600 \"q\" \\ \t", 10, 0, 20, Record_function_id=7,
        Input_Dims=[[2, 3], []], Input_type=["float", "Scalar"], Concrete_Inputs=["", "1"],
        Sequence_number=5)
    row("cuda_runtime", "cudaLaunchKernel", 10, 5, 3, cbid=211, correlation=1)
    row("kernel", "k", 7, 12, 4, device=0, context=1, stream=7, correlation=1)
    row("cuda_runtime", "cudaMemcpyAsync", 10, 30, 3, cbid=41, correlation=2)
    row("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 40, 5, device=0, context=1, stream=7,
        correlation=2, bytes=4096)
    row("cuda_runtime", "cudaLaunchKernel", 10, 50, 3, cbid=211, correlation=3)
    row("kernel", "ncclDevKernel_AllReduce", 20, 60, 5, device=1, context=2, stream=20, correlation=3,
        Collective_name="allreduce", dtype="Float", In_msg_nelems=1000, Out_msg_nelems=1000,
        Group_size=2, Process_Group_Name="0", Process_Group_Ranks="[0, 1]")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": 1, "world_size": 2},
                                "traceEvents": rows}))
    return path


def convert(tmp_path) -> pathlib.Path:
    out = tmp_path / "t.1.et"
    subprocess.run([harness.TOOL, "convert", trace(tmp_path), "--to", "chakra", "-o", out],
                   check=True, timeout=60, capture_output=True)
    return out


def test_both_schemas_read_the_same(compiled, tmp_path):
    out = convert(tmp_path)
    types = chakra.classes(compiled.SerializeToString())
    ours, typed = chakra.Et(out, types), chakra.Et(out)
    assert [str(n.proto) for n in ours.nodes] == [str(n.proto) for n in typed.nodes]
    assert not chakra.broken(typed)


def test_bytes_are_as_the_standard_library_writes_them(tmp_path):
    """A file that protobuf reads and serializes again has the same bytes. So fields are in order, default
    values are not written, and lengths are encoded as short as possible."""
    et = chakra.Et(convert(tmp_path))
    assert len(et.nodes) == 10
    for message, node in zip(et.messages[1:], et.nodes, strict=True):
        assert node.proto.SerializeToString(deterministic=True) == message, node.proto
    assert et.metadata.SerializeToString(deterministic=True) == et.messages[0]


def test_what_nodes_carry(tmp_path):
    et = chakra.Et(convert(tmp_path))
    assert (et.header["rank"], et.header["world_size"], et.header["device"]) == (1, 2, 0)
    ops = [n for n in et.nodes if n.attr.get("rf_id") == 7]
    assert len(ops) == 2 and all(n.name == "aten::add \u00e4\u2192\U0001f600 \"q\" \\ \t" for n in ops)
    assert all(n.attr["seq_id"] == 5 and "correlation" not in n.attr for n in ops)
    inputs = ops[0].proto.inputs
    assert (inputs.shapes, inputs.types, inputs.values) == \
        ("[[2, 3], []]", '["float", "Scalar"]', '["", "1"]')
    copy = next(n for n in et.gpu if n.correlation == 2)
    assert copy.attr["tensor_size"] == 4096 and copy.kind["tensor_size"] == "uint64_val"
    nccl = next(n for n in et.gpu if n.correlation == 3)
    assert nccl.type == chakra.COLL and nccl.attr["device"] == 1
    assert (nccl.attr["comm_type"], nccl.attr["comm_size"], nccl.attr["pg_name"]) == (0, 4000, "")
