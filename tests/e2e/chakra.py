"""Reads Chakra execution traces with the standard protobuf library.

The schema was typed here by hand, from the field numbers of MLCommons' et_def.proto. It is not
generated from syncline's chakra.proto, because a test could then not notice an error in
chakra.proto."""
import dataclasses
import functools
import gzip
import io
import pathlib

import zstandard
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.decoder import _DecodeVarint32

PACKAGE = "ChakraProtoMsg"
MESSAGES = {
    "GlobalMetadata": [("version", 1, "string"), ("attr", 2, "*AttributeProto")],
    "IOInfo": [("values", 1, "string"), ("shapes", 2, "string"), ("types", 3, "string")],
    "AttributeProto": [("name", 1, "string"), ("doc_string", 2, "string")],
    "Node": [("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "=NodeType"),
             ("ctrl_deps", 4, "*uint64"), ("data_deps", 5, "*uint64"),
             ("start_time_micros", 6, "uint64"), ("duration_micros", 7, "uint64"),
             ("inputs", 8, "IOInfo"), ("outputs", 9, "IOInfo"), ("attr", 10, "*AttributeProto")],
}
VALUES = {"double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint32": 15,
          "sint64": 17, "fixed32": 19, "fixed64": 21, "sfixed32": 23, "sfixed64": 25, "bool": 27,
          "string": 29, "bytes": 31}  # the field number of a list type is the number of its element type plus 1
NODE_TYPES = ["INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",
              "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"]
COMP, SEND, RECV, COLL = 4, 5, 6, 7

FIELD = descriptor_pb2.FieldDescriptorProto


def _add(message, name, number, kind, oneof=None):
    field = message.field.add(name=name, number=number, label=FIELD.LABEL_OPTIONAL)
    if kind.startswith("*"):
        field.label, kind = FIELD.LABEL_REPEATED, kind[1:]
    if kind.startswith("="):
        field.type, field.type_name = FIELD.TYPE_ENUM, f".{PACKAGE}.{kind[1:]}"
    elif kind[0].isupper():
        field.type, field.type_name = FIELD.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
    else:
        field.type = getattr(FIELD, "TYPE_" + kind.upper())
    if oneof is not None:
        field.oneof_index = oneof


def schema() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="typed.proto", package=PACKAGE, syntax="proto3")
    enum = file.enum_type.add(name="NodeType")
    for number, name in enumerate(NODE_TYPES):
        enum.value.add(name=name, number=number)
    for kind in VALUES:
        _add(file.message_type.add(name=f"{kind.capitalize()}List"), "values", 1, "*" + kind)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add(message, *field)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
            for kind, number in VALUES.items():
                _add(message, f"{kind}_val", number, kind, 0)
                _add(message, f"{kind}_list", number + 1, f"{kind.capitalize()}List", 0)
    return file


@functools.cache
def classes(file_bytes: bytes | None = None) -> dict:
    """Returns the message classes of a schema, by name."""
    file = descriptor_pb2.FileDescriptorProto.FromString(file_bytes) if file_bytes else schema()
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {m.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{m.name}"))
            for m in file.message_type}


def raw(path: pathlib.Path) -> bytes:
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data),
                                                          read_across_frames=True).read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def messages(data: bytes) -> list[bytes]:
    out, at = [], 0
    while at < len(data):
        size, at = _DecodeVarint32(data, at)
        assert at + size <= len(data), "the file ends inside a message"
        out.append(data[at:at + size])
        at += size
    return out


def attributes(message) -> dict:
    """Returns the attributes as a dictionary from the name to the member of the oneof and the value."""
    found = {}
    for a in message.attr:
        assert a.name not in found, f"{a.name} twice in {message}"
        which = a.WhichOneof("value")
        found[a.name] = (which, getattr(a, which))
    return found


@dataclasses.dataclass
class Node:
    proto: object
    attr: dict  # attribute name -> value
    kind: dict  # attribute name -> member of the oneof

    def __post_init__(self):
        self.id, self.name, self.type = self.proto.id, self.proto.name, self.proto.type
        self.deps = list(self.proto.ctrl_deps) + list(self.proto.data_deps)
        self.cpu = self.attr["is_cpu_op"]
        self.start, self.duration = self.attr["start_ns"], self.attr["duration_ns"]
        self.end = self.start + self.duration
        self.delay = self.attr.get("delay_ns", 0)
        self.correlation = self.attr.get("correlation", 0)


class Et:
    """An execution trace. Times are in ns since the clock_base_ns of the trace."""

    def __init__(self, path: pathlib.Path, types: dict | None = None):
        self.path = path
        self.messages = messages(raw(path))
        types = types or classes()
        self.metadata = types["GlobalMetadata"].FromString(self.messages[0])
        self.header = {name: value for name, (_, value) in attributes(self.metadata).items()}
        self.nodes = []
        for text in self.messages[1:]:
            proto = types["Node"].FromString(text)
            attrs = attributes(proto)
            self.nodes.append(Node(proto, {k: v for k, (_, v) in attrs.items()},
                                   {k: w for k, (w, _) in attrs.items()}))
        self.by_id = {n.id: n for n in self.nodes}
        self.device = self.header.get("device", 0)

    @property
    def gpu(self) -> list[Node]:
        return [n for n in self.nodes if not n.cpu]

    @property
    def cpu(self) -> list[Node]:
        return [n for n in self.nodes if n.cpu]

    def lane(self, node: Node) -> tuple:
        """Returns the queue in which a simulator runs the node: the node's thread or stream."""
        if node.cpu:
            return ("thread", node.attr["tid"])
        return ("stream", node.attr.get("device", self.device), node.attr.get("context"),
                node.attr["stream"])


# Each attribute, and the member of the protobuf oneof in which trace feeders expect its value.
KINDS = {"is_cpu_op": "bool_val", "tid": "int64_val", "stream": "int64_val", "device": "int64_val",
         "context": "int64_val", "correlation": "int64_val", "rf_id": "int64_val", "seq_id": "int64_val",
         "start_ns": "int64_val", "duration_ns": "int64_val", "delay_ns": "int64_val",
         "overlap_ns": "int64_val", "no_launch": "bool_val", "queries": "int64_val",
         "tensor_size": "uint64_val", "comm_type": "int64_val", "comm_size": "int64_val",
         "comm_src": "int32_val", "comm_dst": "int32_val", "comm_tag": "int32_val",
         "pg_name": "string_val", "collective": "string_val", "num_ops": "int64_val"}
DELAY_MAX_NS = 20000


def broken(et: Et, groups: set[str] | None = None) -> list[str]:
    """Returns a message for each rule of the format that the file breaks, with a node that breaks the rule."""
    found = []

    def rule(holds, what, node=None):
        if not holds:
            found.append(f"{what}: {str(node.proto)[:500] if node else ''}")

    rule(et.metadata.version == "0.0.4", "version")
    for name in ("host", "rank", "clock_base_ns"):
        rule(name in et.header, f"metadata without {name}")
    for number, node in enumerate(et.nodes, 1):
        rule(node.id == number, "ids are dense and in order", node)
        rule(all(0 < d < node.id for d in node.deps), "parents stand before children", node)
        rule(len(set(node.deps)) == len(node.deps), "a parent is named once", node)
        rule(node.type in (COMP, SEND, RECV, COLL), "type", node)
        for name, kind in node.kind.items():
            rule(kind == KINDS.get(name, kind), f"{name} is {kind}", node)
        rule(("tid" in node.attr) == node.cpu and ("stream" in node.attr) != node.cpu, "lane", node)
        rule(node.cpu or node.correlation, "a GPU operation has a correlation id", node)
        micros = (node.proto.start_time_micros, node.proto.duration_micros)
        begin, end = (node.start + 500) // 1000, (node.end + 500) // 1000
        # Of host time that two threads spent at once, only one node has microseconds.
        rule(micros[0] == begin and (micros[1] == end - begin or node.cpu and micros[1] < end - begin),
             "microseconds are rounded ends", node)
        rule(node.cpu == ("delay_ns" not in node.attr) and 0 <= node.delay <= DELAY_MAX_NS,
             "delay_ns", node)
        rule(node.attr.get("overlap_ns", 1) > 0 and not (node.cpu and "overlap_ns" in node.attr),
             "overlap_ns", node)
        if node.type != COMP:
            rule(not node.cpu and "pg_name" in node.attr and "comm_size" in node.attr, "comm", node)
            rule(node.attr.get("pg_name", "") in ({""} | (groups or set())), "pg_name", node)
        if node.type == COLL:
            rule(node.attr.get("comm_type") in (0, 2, 5, 6, 7), "comm_type", node)
    # The nodes of a thread never overlap, and each node depends on the previous node.
    last: dict[tuple, Node] = {}
    for node in et.cpu:
        before = last.get(et.lane(node))
        if before:
            rule(node.start >= before.end, "pieces of a thread overlap", node)
            rule(before.id in node.deps, "pieces of a thread are chained", node)
        last[et.lane(node)] = node
    # The operations of a stream are in order and never overlap.
    last = {}
    for node in et.gpu:
        before = last.get(et.lane(node))
        if before and node.start >= before.start:
            rule(before.id in node.deps, "operations of a stream are chained", node)
        if not before or node.start >= before.start:
            last[et.lane(node)] = node
    return found
