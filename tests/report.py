#!/usr/bin/env python3
"""Counts individual tests in JUnit files (from ctest and pytest): prints the three numbers `PASSED
FAILED SKIPPED`, and then one line per failed test. If a ctest entry is a cmocka program, each of
its cases counts as a test. If the program crashed, that counts as one more failure.

    tests/report.py FILE.xml...
    tests/report.py --times FOLDER WALL_S
        makes times.json from stages.tsv and the JUnit files in FOLDER, and prints the totals"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

SLOWEST = 25

CMOCKA = re.compile(r"^\[ *(OK|FAILED|SKIPPED) *\] (\w[^\n,:]*)$", re.M)


def program(name: str, output: str, died: bool) -> list[tuple[str, str]]:
    """Returns (case, verdict) for each case of one ctest entry."""
    # cmocka lists failed cases a second time in its summary, so the last verdict of each case is
    # used.
    verdicts = {case.strip(): verdict for verdict, case in CMOCKA.findall(output)
                if not re.fullmatch(r"\d+ test\(s\).*", case)}
    cases = [(f"{name}: {case}", verdict) for case, verdict in verdicts.items()]
    if not cases or (died and all(verdict != "FAILED" for _, verdict in cases)):
        cases.append((name, "FAILED" if died else "OK"))
    return cases


def read(path: str) -> list[tuple[str, str]]:
    cases = []
    for case in ET.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?")
        died = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None
        if case.get("status") is not None:  # an entry of ctest
            if skipped and case.get("status") == "notrun":
                cases.append((name, "SKIPPED"))
            else:
                cases += program(name, case.findtext("system-out", ""), died)
        else:
            verdict = "FAILED" if died else "SKIPPED" if skipped else "OK"
            cases.append((f"{case.get('classname', '')}::{name}", verdict))
    return cases


def costs(path: pathlib.Path) -> list[dict]:
    """Returns the wall and CPU time of each entry of a JUnit file. A ctest entry is a whole program, for
    which ctest measures only the wall time. For pytest, tests/conftest.py measures the CPU time."""
    entries = []
    for case in ET.parse(path).getroot().iter("testcase"):
        names = [case.get("name", "?")]
        if case.get("status") is None:
            names.insert(0, case.get("classname", ""))
        cpu = case.find("properties/property[@name='cpu_s']")
        entries.append({"stage": path.stem, "test": "::".join(names),
                        "wall_s": float(case.get("time") or 0),
                        "cpu_s": None if cpu is None else float(cpu.get("value"))})
    return entries


def times(folder: pathlib.Path, wall_s: int) -> dict:
    """Returns the times of stages and tests. Each row of stages.tsv has a stage's name, wall seconds and CPU
    seconds, including its children."""
    rows = [line.split("\t") for line in (folder / "stages.tsv").read_text().splitlines()]
    tests = [entry for path in sorted(folder.glob("*.xml")) for entry in costs(path)]
    tests.sort(key=lambda entry: entry["wall_s"] if entry["cpu_s"] is None else entry["cpu_s"],
               reverse=True)
    stages = [{"stage": name, "wall_s": float(wall), "cpu_s": float(cpu)} for name, wall, cpu in rows]
    return {"wall_s": wall_s, "cpu_s": round(sum(stage["cpu_s"] for stage in stages), 1),
            "stages": stages, "slowest": tests[:SLOWEST]}


def main() -> None:
    if sys.argv[1] == "--times":
        path = pathlib.Path(sys.argv[2], "times.json")
        found = times(path.parent, int(sys.argv[3]))
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{found['cpu_s']:.0f} CPU seconds in {found['wall_s']} s; by stage and test: {path}")
        return
    cases = [case for path in sys.argv[1:] for case in read(path)]
    count = {v: sum(1 for _, verdict in cases if verdict == v) for v in ("OK", "FAILED", "SKIPPED")}
    print(count["OK"], count["FAILED"], count["SKIPPED"])
    for name, verdict in cases:
        if verdict == "FAILED":
            print(name)


if __name__ == "__main__":
    main()
