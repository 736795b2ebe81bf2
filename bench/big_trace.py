"""Makes a large Kineto trace from a small one: repeats its events with later times and other ids.

    python3 bench/big_trace.py SOURCE EVENTS OUT     SOURCE is gzipped; OUT is plain, with about EVENTS events

All ids and the numbers of steps are shifted in each copy, so `syncline check` finds OUT as valid as SOURCE."""
import gzip
import json
import re
import sys

# The numbers that are shifted: the whole microseconds of a time, an id, and the number of a step.
TIME, STEP = '"ts": ', "ProfilerStep#"
IDS = ["id", "correlation", "External id", "Record function id", "Sequence number", "Ev Idx"]
SHIFTED = re.compile(f'({TIME}|"(?:{"|".join(IDS)})": |{STEP})([0-9]+)')


def main() -> None:
    source, events, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with gzip.open(source) as f:
        trace = json.load(f)
    rows = trace.pop("traceEvents")
    pieces = SHIFTED.split(json.dumps(rows)[1:-1])  # text, key, number, text, ...
    text, keys, first = [piece.replace("%", "%%") for piece in pieces[::3]], pieces[1::3], list(map(int, pieces[2::3]))
    form = "".join(before + key + "%d" for before, key in zip(text, keys)) + text[-1]
    slices = [row for row in rows if row.get("ph") in ("X", "i")]
    steps = [number for key, number in zip(keys, first) if key == STEP]
    shift = {TIME: 1 + int(max(row["ts"] + row.get("dur", 0) for row in slices) - min(row["ts"] for row in slices)),
             STEP: 1 + max(steps) - min(steps) if steps else 0}
    ids = 1 + max(number for key, number in zip(keys, first) if key not in shift)
    by = [shift.get(key, ids) for key in keys]
    with open(out, "w", encoding="utf-8") as f:
        f.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        for copy in range(max(1, round(events / len(rows)))):
            f.write((",\n" if copy else "") + form % tuple(number + copy * more for number, more in zip(first, by)))
        f.write("\n]}\n")


main()
