"""Tests `convert --et`, which joins nodes of PyTorch's own execution trace with syncline's nodes by their
record function."""
import gzip
import json
import subprocess

import pytest
import zstandard

import chakra
import harness
from test_chakra_convert import convert, operator_rows, run, write


def et_node(ident, parent, rf_id, name="outer", **io):
    lists = {"values": io.get("values", []), "shapes": io.get("shapes", []), "types": io.get("types", [])}
    return {"id": ident, "name": name, "ctrl_deps": parent, "inputs": lists,
            "outputs": {"values": [[9, 1]], "shapes": [[4]], "types": ["Tensor(float)"]},
            "attrs": [{"name": "rf_id", "type": "uint64", "value": rf_id},
                      {"name": "fw_parent", "type": "uint64", "value": 1},
                      {"name": "seq_id", "type": "int64", "value": -1},
                      {"name": "scope", "type": "uint64", "value": 7},
                      {"name": "tid", "type": "uint64", "value": 1},
                      {"name": "op_schema", "type": "string", "value": "aten::add(\"T\" a) -> \u00e4"},
                      {"name": "kernel_backend", "type": "string", "value": ""}]}


@pytest.mark.sanitize
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_joined_with_pytorch_s_execution_trace(tmp_path, suffix):
    nodes = [et_node(2, 1, 2, values=[[64, 65, 0, 100, 4, "cuda:0"]], shapes=[[2, 3]],
                     types=["Tensor(float)"]), et_node(3, 2, 3, name="inner"), et_node(4, 1, 999)]
    text = json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 5, "nodes": nodes}).encode()
    path = tmp_path / f"et.json{suffix}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[suffix](text))
    et = convert(write(tmp_path / "t.json", operator_rows()), tmp_path, "--et", path)
    assert not chakra.broken(et)
    first, second = (n for n in et.cpu if n.name == "outer")
    assert first.proto.inputs.shapes == "[[2, 3]]" and first.proto.outputs.shapes == "[[4]]"
    assert json.loads(first.proto.inputs.values) == [[64, 65, 0, 100, 4, "cuda:0"]]
    assert first.attr["et_id"] == 2 and first.attr["et_parent"] == 1
    assert first.attr["rf_id"] == 2 and first.attr["seq_id"] == 9
    assert (first.kind["scope"], first.attr["scope"]) == ("uint64_val", 7)
    assert first.attr["op_schema"] == 'aten::add("T" a) -> \u00e4'
    assert "kernel_backend" not in first.attr
    # If an operator has several nodes, only the first node gets these attributes.
    assert not second.proto.HasField("inputs") and "et_id" not in second.attr
    assert not any("et_id" in n.attr for n in et.cpu if n.attr.get("rf_id") in (1, 4, 5))


def test_joined_with_an_older_execution_trace(tmp_path):
    nodes = [{"name": "outer", "id": 12, "rf_id": 2, "parent": 1, "fw_parent": 0, "seq_id": 9,
              "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "", "inputs": [[1, 2]],
              "input_shapes": [[5]], "input_types": ["Tensor(long)"], "outputs": [],
              "output_shapes": [], "output_types": []}]
    path = write(tmp_path / "et.json", [])
    path.write_text(json.dumps({"schema": "1.0.1", "nodes": nodes}))
    et = convert(write(tmp_path / "t.json", operator_rows()), tmp_path, "--et", path)
    first = next(n for n in et.cpu if n.name == "outer")
    assert (first.proto.inputs.values, first.proto.inputs.shapes) == ("[[1, 2]]", "[[5]]")
    assert not first.proto.HasField("outputs") and first.attr["et_parent"] == 1


@pytest.mark.parametrize("nodes, words", [
    ([et_node(2, 1, 1002), et_node(3, 2, 1003)], "0 of its 2 nodes match operators"),
    ([et_node(2, 1, 2), et_node(3, 2, 3, "aten::mm")], "1 have another name")])
def test_an_execution_trace_of_another_run(tmp_path, nodes, words):
    """The execution trace belongs to another run. Each process counts record functions from 1, so
    two nodes are joined only if their names are equal, too."""
    trace, path = write(tmp_path / "t.json", operator_rows()), tmp_path / "et.json"
    for pid, asks in ((1, False), (2, True)):  # the trace is of process 1
        path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": pid, "nodes": nodes}))
        error = run(trace, tmp_path / "o.et", "--et", path, "-f", status=1).stderr
        assert words in error and ("is it from the same run?" in error) == asks
    et = chakra.Et(tmp_path / "o.et")
    assert not chakra.broken(et)
    assert not any(n.proto.HasField("outputs") for n in et.cpu if n.name == "inner")


def test_what_is_too_much_for_a_node_is_said(tmp_path):
    """Each of three nodes exceeds a limit: one has lists and texts above 8 KiB, one has more than
    256 attributes, and one is too large in all. Each loss is reported."""
    long, many, large = et_node(2, 1, 2, values=list(range(4000)), shapes=[[4]]), et_node(3, 1, 3, "inner"), \
        et_node(4, 1, 5, "after")
    long["attrs"].append({"name": "long", "type": "string", "value": "x" * 8193})
    many["attrs"] += [{"name": f"a{i}", "type": "int64", "value": i} for i in range(300)]
    large["attrs"] += [{"name": f"a{i}", "type": "string", "value": "x" * 8000} for i in range(5)]
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": [long, many, large]}))
    done = run(write(tmp_path / "t.json", operator_rows()), tmp_path / "o.et", "--et", path)
    first = {n.name: n for n in reversed(chakra.Et(tmp_path / "o.et").cpu)}
    assert first["outer"].proto.inputs.shapes == "[[4]]" and not first["outer"].proto.inputs.values
    assert "long" not in first["outer"].attr
    missing = 2 + sum(f"a{i}" not in first["inner"].attr for i in range(300)) \
        + sum(f"a{i}" not in first["after"].attr for i in range(5))
    assert missing > 2 + 40 + 1
    assert f"{path}: left out: {missing} texts, lists or attributes: " in done.stderr


def test_an_execution_trace_of_a_part_of_the_run(tmp_path):
    nodes = [et_node(2, 1, 2), et_node(7, 1, 3, "inner"), et_node(8, 1, 3, "inner")]
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes}))
    trace = write(tmp_path / "t.json", operator_rows())
    done = run(trace, tmp_path / "o.et", "--et", path)
    assert f"{path}: 3 of the 5 operators and ranges of {trace} are not in it" in done.stdout
    assert f"{path}: 1 nodes repeat the record function id of an earlier node, which they replace" in done.stderr
    inner = next(n for n in chakra.Et(tmp_path / "o.et").cpu if n.name == "inner")
    assert inner.attr["et_id"] == 8


def test_attributes_that_only_the_writer_tells(tmp_path):
    told = [{"name": "is_cpu_op", "type": "bool", "value": False},
            {"name": "tensor_size", "type": "int64", "value": 7},
            {"name": "start_ns", "type": "int64", "value": 7},
            {"name": "scale", "type": "double", "value": 1.5},
            {"name": "large", "type": "uint64", "value": 2**64 - 1}]
    node = et_node(2, 1, 2)
    node["attrs"] += told
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": [node]}))
    et = convert(write(tmp_path / "t.json", operator_rows()), tmp_path, "--et", path)
    assert not chakra.broken(et)
    subprocess.run([harness.TOOL, "check", et.path], check=True, capture_output=True, timeout=60)
    first = next(n for n in et.cpu if n.name == "outer")
    assert first.attr["is_cpu_op"] is True and "tensor_size" not in first.attr
    assert (first.attr["scale"], first.attr["large"]) == ("1.5", str(2**64 - 1))


def test_an_attribute_that_the_other_trace_has_twice(tmp_path):
    """The execution trace has an attribute twice: as a member of the node (as in traces of 2023)
    and in the list of attributes, or twice in that list. The joined node has the attribute once."""
    node = et_node(2, 1, 2) | {"fw_parent": 9}
    node["attrs"] += [{"name": name, "type": "int64", "value": value}
                      for name, value in [("fw_parent", 8), ("extra", 1), ("extra", 2)]]
    path = tmp_path / "et.json"
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": [node]}))
    et = convert(write(tmp_path / "t.json", operator_rows()), tmp_path, "--et", path)
    first = next(n for n in et.cpu if n.name == "outer")
    names = [attribute.name for attribute in first.proto.attr]
    assert sorted(names) == sorted(set(names))
    assert (first.attr["fw_parent"], first.attr["extra"]) == (9, 1)


@pytest.mark.sanitize
def test_execution_traces_that_are_none_or_broken(tmp_path):
    trace, et = write(tmp_path / "t.json", operator_rows()), tmp_path / "et.json"
    out = tmp_path / "o.et"
    for text in ("", "[]", "{}", '{"nodes": []}', '{"nodes": 3}', "nonsense"):
        et.write_text(text)
        assert len(run(trace, out, "--et", et, status=2).stderr.splitlines()) == 1
    assert "No such file" in run(trace, out, "--et", tmp_path / "none", status=2).stderr
    assert not out.exists()
    et.write_text(json.dumps({"nodes": [et_node(1, 0, 2), 7, "x", [], {"rf_id": "y", "attrs": [3]},
                                        {"rf_id": 3, "inputs": 4, "outputs": {"values": "v"}},
                                        et_node(5, 0, 2**63), et_node(6, 0, 5, "after")]})[:-40])
    assert "is truncated or damaged" in run(trace, out, "--et", et).stderr
    assert not chakra.broken(chakra.Et(out))
    assert "is only for --to chakra" in subprocess.run(
        [harness.TOOL, "convert", trace, "--to", "kineto", "-o", tmp_path / "k.json", "--et", et],
        capture_output=True, text=True, timeout=60).stderr
