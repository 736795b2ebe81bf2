"""Removes some GPU rows from traces of torch.profiler. Every edge that is `exact` in the shorter
file is also an edge of the whole file. Missing edges are counted."""
import gzip
import json
import pathlib
import random

import pytest

from edges_tool import edges, write
from real_traces import REAL

MADE = sorted(pathlib.Path(__file__).with_name("profiler_traces").glob("*.json.gz"))
OPERATIONS = ("kernel", "gpu_memcpy", "gpu_memset")
CUTS = 20
NOTHING_US = 2  # the tool treats a copy without a row as a copy of 0 bytes if its call is shorter than this


def waited(found, *basis):
    """Returns the edges that have a wait above 0 and one of these bases. A wait of 0 only means that the
    operation had already completed."""
    return {(e["kind"], e["src_correlation"], e["src_stream"], e["dst_correlation"], e["dst_point"],
             e["dst_stream"], e["wait_ns"], e["released"])
            for e in found if e["wait_ns"] and e["basis"] in basis}


def correlation(row, *categories):
    return row["args"].get("correlation") if row.get("cat", "").lower() in categories else None


@pytest.mark.parametrize("path", [*MADE, *REAL], ids=lambda path: path.name)
def test_without_some_operations(tmp_path, path):
    rows = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    whole, counts = edges(path)
    launched = {correlation(row, "cuda_runtime", "cuda_driver") for row in rows
                if row.get("dur", 0) > NOTHING_US or "Launch" in str(row.get("name"))}
    sources = {edge["src_correlation"] for edge in whole if edge["wait_ns"]} & launched
    operations = {correlation(row, *OPERATIONS) for row in rows} & launched - {None}
    choose = random.Random(path.name)
    for _ in range(CUTS):
        more = min(choose.randrange(4), len(operations))
        missing = {choose.choice(sorted(sources or operations)), *choose.sample(sorted(operations), more)}
        found, lost = edges(write(tmp_path / "cut", [row for row in rows
                                                     if correlation(row, *OPERATIONS) not in missing]))
        assert waited(found, "exact") <= waited(whole, "exact"), missing
        gone = waited(whole, "exact", "inferred") - waited(found, "exact", "inferred")
        assert not gone or lost["no_record"] > counts["no_record"], (missing, gone)
