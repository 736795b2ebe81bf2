"""Measures `syncline report`, `critical-path` and `diff` against `syncline check`, and `report` against
HolisticTraceAnalysis; see report_bench.sh."""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

from tool_cost import Cost, Table, least

BENCH = pathlib.Path(__file__).parent
GB = 10**9

options = argparse.ArgumentParser()
options.add_argument("--json")
options.add_argument("--tool", type=pathlib.Path)
options.add_argument("--source", type=pathlib.Path)
options.add_argument("--folder", type=pathlib.Path)
options.add_argument("--hta", help="Python interpreter that has HTA")
options.add_argument("--events", type=int)
options = options.parse_args()
row = Table("report", options.json).row


def costs(name, cost):
    row(f"{name}: CPU time", cost.cpu, "s")
    row(f"{name}: wall time", cost.wall, "s")
    row(f"{name}: peak memory", cost.peak, "MB")


def big(events):
    """Returns the path of a trace with about this number of events."""
    path = options.folder / f"{events}.json"
    subprocess.run([sys.executable, BENCH / "big_trace.py", options.source, str(events), path], check=True)
    return path


def report(path, *more):
    return [options.tool, "report", *more, path]


def against_hta(path, json_cost):
    folder = options.folder / "hta"
    folder.mkdir()
    with open(path, "rb") as f, gzip.open(folder / "rank0.json.gz", "wb", compresslevel=1) as out:
        shutil.copyfileobj(f, out)
    with open(options.folder / "hta.out", "wb") as out:
        hta = Cost([options.hta, BENCH / "report_hta.py", folder], out)
    costs("HTA", hta)
    seconds = json.loads((options.folder / "hta.out").read_text().splitlines()[-1])
    failed = [name for name, value in seconds.items() if value is None]
    print(f"  {'':46} HTA loads for {seconds['load']} s; raises an error in: {', '.join(failed) or 'none'}")
    row("CPU time of HTA / of report --json", hta.cpu / json_cost.cpu, "times", 30, True)
    row("wall time of HTA / of report --json", hta.wall / json_cost.wall, "times", 50, True)
    row("peak memory of HTA / of report --json", hta.peak / json_cost.peak, "times", 20, True)


def main():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # the goals are for two cores
    print(f"report: {options.events} events of {options.source.name}, load {os.getloadavg()[0]:.1f}; wall times are valid "
          "only if nothing else runs")
    print(f"  {'':46} {'value':>10}  {'unit':8} {'goal':>8}  met")
    path = big(options.events)
    page = options.folder / "page.html"
    check, as_json, as_page = (least([options.tool, "check", path]), least(report(path, "--json")),
                               least(report(path, "--html", page)))
    costs("check", check)
    costs("report --json", as_json)
    costs("report --html", as_page)
    row("CPU time of report --json / of check", as_json.cpu / check.cpu, "times", 1.6)
    row("CPU time of --html, more than --json", as_page.cpu - as_json.cpu, "s", 0.3)
    critical = least([options.tool, "critical-path", path])
    costs("critical-path", critical)
    row("CPU time of critical-path / of check", critical.cpu / check.cpu, "times", 1.6)
    # Not compared with one check, because it reads two traces.
    row("CPU time of diff / of check of both", least([options.tool, "diff", path, path]).cpu / (2 * check.cpu), "times", 1.6)
    if options.hta:
        against_hta(path, as_json)
    bytes_per_event = path.stat().st_size / options.events
    path.unlink()
    path = big(int(GB / bytes_per_event))
    row("1 GB of JSON: wall time", least(report(path, "--json")).wall, "s", 5)
    path.unlink()
    each = {options.events: as_json.cpu / options.events}
    for events in (options.events // 10, options.events * 5):
        path = big(events)
        each[events] = least(report(path, "--json"), 5 if events < options.events else 1).cpu / events
        path.unlink()
    for events, seconds in sorted(each.items()):
        row(f"{events} events: CPU time of one", seconds * 1e9, "ns")
    row("the largest of the three / the smallest", max(each.values()) / min(each.values()), "times", 1.3)


main()
