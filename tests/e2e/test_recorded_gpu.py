"""Plays what CUPTI gave on a real GPU (tests/replay/h200), and compares the edges with those that
were checked by hand and by the times of that GPU. After a change of a rule on purpose:

    $(tests/venv.sh test) tests/e2e/test_recorded_gpu.py    writes expected.json anew"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import pytest

import edge_invariants
import harness
from player import played

FOLDER = harness.REPO / "tests" / "replay" / "h200"
EXPECTED = FOLDER / "expected.json"
RECORDINGS = sorted(path.name.removesuffix(".dump.gz") for path in FOLDER.glob("*.dump.gz"))


def found(folder: pathlib.Path, name: str) -> dict:
    """Plays a recording. Returns the number of edges of each kind and basis and their waiting time in
    ns, the number of possible edges left out by reason, and the result of `check`."""
    trace = played(folder, FOLDER / f"{name}.dump.gz", api="all")
    edges = trace.edges()
    assert not edge_invariants.contradictions(edges, edge_invariants.of_trace(trace))
    kinds = collections.defaultdict(lambda: [0, 0])
    for edge in edges:
        kinds[f"{edge['kind']} {edge['basis']}"][0] += 1
        kinds[f"{edge['kind']} {edge['basis']}"][1] += edge["wait_ns"] if edge["released"] else 0
    checked = subprocess.run([harness.TOOL, "check", "--json", trace.path], capture_output=True,
                             text=True, check=False)
    return {"edges": dict(sorted(kinds.items())),
            "left_out": {name.removeprefix("edges_lost_"): count
                         for name, count in sorted(trace.counters.items())
                         if name.startswith("edges_lost_") and count},
            "check": sorted(problem["id"] for problem in json.loads(checked.stdout)["problems"])}


@pytest.mark.parametrize("name", RECORDINGS)
def test_edges_of_a_real_gpu(tmp_path, name):
    assert found(tmp_path, name) == json.loads(EXPECTED.read_text())[name]


if __name__ == "__main__":
    results = {}
    for recording in RECORDINGS:
        with tempfile.TemporaryDirectory() as temporary:
            results[recording] = found(pathlib.Path(temporary), recording)
    EXPECTED.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(0)
