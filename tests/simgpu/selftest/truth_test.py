"""truth_test.py SCENARIO-PROGRAM BUILD: tests that the truth file names, for each wait, the
operation that ended the wait.

Every scenario runs in a process of its own under tests/simgpu/run --truth. The expected kernels
below follow from CUDA's ordering rules.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, BUILD = sys.argv[1:3]
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run")


class Truth:
    def __init__(self, scenario):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "truth-%p.json")
            subprocess.run([RUN, "--build", BUILD, "--truth", path, PROGRAM, scenario], check=True)
            (name,) = os.listdir(folder)
            with open(os.path.join(folder, name)) as file:
                lines = [json.loads(line) for line in file]
        self.ops = {line["id"]: line for line in lines if line["t"] == "op"}
        self.waits = [line for line in lines if line["t"] == "wait"]
        self.calls = [line for line in lines if line["t"] == "call"]

    def name(self, op):
        if op == 0:
            return None
        return self.ops[op].get("name", self.ops[op]["kind"])

    def released(self):
        return [(wait["kind"], self.name(wait["released"])) for wait in self.waits]

    def behind(self, name):
        (op,) = [op for op in self.ops.values() if op.get("name") == name]
        return sorted((self.name(link["op"]), link["via"]) for link in op["after"])


class TruthTest(unittest.TestCase):
    def test_device_sync(self):
        truth = Truth("device_sync")
        self.assertEqual(truth.released(), [("context_sync", "b")])
        self.assertEqual(len(truth.waits[0]["sources"]), 2)

    def test_joined_stream(self):
        self.assertEqual(Truth("joined_stream").released(), [("stream_sync", "a")])

    def test_stream_wait(self):
        truth = Truth("stream_wait")
        self.assertEqual(truth.released(), [("stream_sync", "c")])
        self.assertEqual(truth.behind("c"), [("a", "stream_wait")])

    def test_legacy(self):
        truth = Truth("legacy")
        self.assertEqual(truth.behind("b"), [("a", "legacy_default")])
        self.assertEqual(truth.behind("c"), [("a", "stream"), ("b", "legacy_default")])
        self.assertEqual(truth.released(), [("stream_sync", "c")])

    def test_rerecorded(self):
        truth = Truth("rerecorded")
        self.assertEqual(
            truth.released(), [("event_sync", "a"), ("event_sync", "b"), ("event_query", None)]
        )

    def test_blocking_copies(self):
        self.assertEqual(
            Truth("blocking_copies").released(),
            [("copy", "a"), ("copy", "memcpy"), ("free", "c")],
        )

    def test_graph(self):
        truth = Truth("graph")
        self.assertEqual(truth.behind("c"), [("b", "stream")])
        self.assertEqual(truth.released(), [("stream_sync", "c")])

    def test_unfinished(self):
        truth = Truth("unfinished")
        self.assertEqual([op["finished"] for op in truth.ops.values()], [False])

    def test_invariants(self):
        truth = Truth("legacy")
        corrs = [call["corr"] for call in truth.calls]
        self.assertEqual(corrs, sorted(set(corrs)))
        for op in truth.ops.values():
            for link in op["after"]:
                self.assertLess(link["op"], op["id"])
                self.assertLessEqual(link["end"], op["start"])
        for wait in truth.waits:
            for source in wait["sources"]:
                self.assertLessEqual(source["end"], wait["end"])


unittest.main(argv=sys.argv[:1])
