"""Measures `syncline collectives` against `syncline check`; see collectives_bench.sh."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

from tool_cost import Table, least

BENCH = pathlib.Path(__file__).parent
FILE_BYTES = 50 * 10**6
COLLECTIVES = 2000
MOST_MIB = 500

options = argparse.ArgumentParser()
options.add_argument("--json")
options.add_argument("--tool", type=pathlib.Path)
options.add_argument("--source", type=pathlib.Path)
options.add_argument("--folder", type=pathlib.Path)
options.add_argument("--ranks", type=int)
options = options.parse_args()
row = Table("collectives", options.json).row


def body():
    """Returns the events of a file, as text. The collectives of the source have no description, because they are
    those of another number of ranks."""
    path, events = options.folder / "body.json", 200000
    for _ in range(2):  # the first file tells the size of an event
        subprocess.run([sys.executable, BENCH / "big_trace.py", options.source, str(events), path], check=True)
        events = max(1, int(events * FILE_BYTES / path.stat().st_size))
    text = path.read_text(encoding="utf-8").replace('"Collective name"', '"Collective kind"')
    path.unlink()
    return text[text.index('"traceEvents": [') + len('"traceEvents": ['):text.rindex("]")]


def collectives(rank, chance):
    """Yields the rows of this rank: each collective ends on all ranks at once, and one rank is late."""
    args = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "dtype": "Float",
            "Group size": options.ranks, "Process Group Name": "0", "Process Group Description": "default_pg",
            "Process Group Ranks": str(list(range(options.ranks)))}
    for n in range(COLLECTIVES):
        late = 200 * (n % options.ranks == rank) + chance.random()
        start, end = 1000 * n + 100 + late, 1000 * n + 400
        ident = {"correlation": 10**9 + n}
        yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start - 10,
               "dur": 5, "args": ident}
        yield {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20,
               "ts": start, "dur": end - start, "args": {**args, **ident, "device": 0, "stream": 20, "Seq": n}}


def main():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # the goals are for two cores
    events, chance, paths = body(), random.Random(1), []
    for rank in range(options.ranks):
        header = {"schemaVersion": 1, "baseTimeNanoseconds": 10**18, "host_name": f"node{rank // 8}",
                  "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": options.ranks}}
        rows = json.dumps(list(collectives(rank, chance)))[1:-1]
        paths.append(options.folder / f"rank{rank}.json")
        paths[-1].write_text(f'{json.dumps(header)[:-1]}, "traceEvents": [{rows}, {events}]}}', encoding="utf-8")
    size = sum(path.stat().st_size for path in paths)
    print(f"collectives: {len(paths)} files of {size / len(paths) / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")
    print(f"  {'':46} {'value':>10}  {'unit':8} {'goal':>8}  met")
    found = json.loads(subprocess.run([options.tool, "collectives", "--json", *paths], stdout=subprocess.PIPE,
                                      check=True).stdout)
    timed = sum(row["timed"] for row in found["collectives"])
    assert timed == COLLECTIVES, f"{timed} of {COLLECTIVES} collectives are timed"
    check, command = (least([options.tool, name, *paths]) for name in ("check", "collectives"))
    row("check: CPU time", check.cpu, "s")
    row("collectives: CPU time", command.cpu, "s")
    row("collectives: wall time", command.wall, "s")
    row("CPU time of collectives / of check", command.cpu / check.cpu, "times", 1.6)
    row("collectives: peak memory", command.peak * 1e6 / (1 << 20), "MiB", MOST_MIB)


main()
