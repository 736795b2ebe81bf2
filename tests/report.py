#!/usr/bin/env python3
"""Counts individual tests in JUnit files (ctest's and pytest's): prints `PASSED FAILED SKIPPED`
and then one line per failed test. A ctest entry that is a cmocka program counts as its cases; one
that died on the way counts as one failure more."""
import re
import sys
import xml.etree.ElementTree as ET

CMOCKA = re.compile(r"^\[ *(OK|FAILED|SKIPPED) *\] (\w[^\n,:]*)$", re.M)


def program(name: str, output: str, died: bool) -> list[tuple[str, str]]:
    """(case, verdict) of one ctest entry."""
    # cmocka lists the failed ones a second time in its summary: the last verdict wins.
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
        if case.get("status") is not None:  # ctest
            if skipped and case.get("status") == "notrun":
                cases.append((name, "SKIPPED"))
            else:
                cases += program(name, case.findtext("system-out", ""), died)
        else:
            verdict = "FAILED" if died else "SKIPPED" if skipped else "OK"
            cases.append((f"{case.get('classname', '')}::{name}", verdict))
    return cases


def main() -> None:
    cases = [case for path in sys.argv[1:] for case in read(path)]
    count = {v: sum(1 for _, verdict in cases if verdict == v) for v in ("OK", "FAILED", "SKIPPED")}
    print(count["OK"], count["FAILED"], count["SKIPPED"])
    for name, verdict in cases:
        if verdict == "FAILED":
            print(name)


if __name__ == "__main__":
    main()
