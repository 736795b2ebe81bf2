"""Runs checks one after the other, isolates their failures, and writes the results.

A check is a function that returns nothing, or a line for the results. A check fails by raising an
exception. The other checks still run. Outcomes are pass, fail, skip (the check does not apply here)
and fact (a measured number or an observation, which cannot fail). All results are written to
results.json and results.md."""

import json
import time
import traceback


class Skip(Exception):
    """Raised if a check does not apply on this machine. The text says why."""


class Suite:
    def __init__(self, budget_s):
        self.deadline = time.monotonic() + budget_s
        self.entries = []
        self.group = ""

    def begin(self, group):
        self.group = group
        print(f"\n{group}", flush=True)

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def check(self, name, function, *arguments):
        """Calls the function. Returns True if it passed."""
        if self.seconds_left() <= 0:
            return self._add("skip", name, "no time left")
        try:
            detail = function(*arguments)
            return self._add("pass", name, detail or "")
        except Skip as reason:
            return self._add("skip", name, str(reason))
        except AssertionError as problem:
            return self._add("fail", name, str(problem) or "assertion failed")
        # pylint: disable=broad-except (the other checks must run even if this check fails)
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            return self._add("fail", name, f"{type(problem).__name__}: {problem} "
                                           f"({where.filename.rsplit('/', 1)[-1]}:{where.lineno})")

    def fact(self, name, value, unit=""):
        return self._add("fact", name, f"{value} {unit}".strip(), value=value, unit=unit)

    def _add(self, outcome, name, detail, **extra):
        self.entries.append({"group": self.group, "name": name, "outcome": outcome,
                             "detail": detail, **extra})
        print(f"  {outcome:4}  {name}{': ' if detail else ''}{detail}", flush=True)
        return outcome == "pass"

    def count(self, outcome):
        return sum(entry["outcome"] == outcome for entry in self.entries)

    def write(self, folder, machine):
        """Writes results.json and results.md to the folder. `machine` is a description of the
        machine, as pairs of name and value."""
        summary = {outcome: self.count(outcome) for outcome in ("pass", "fail", "skip", "fact")}
        with open(folder / "results.json", "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "summary": summary, "results": self.entries}, file,
                      indent=1)
        with open(folder / "results.md", "w", encoding="utf-8") as file:
            file.write(self._markdown(machine, summary))

    def _markdown(self, machine, summary):
        title = "Checks on a simulated GPU (a rehearsal: its times are no measurements)"
        if not machine["simulated"]:
            title = "Checks on a real GPU"
        lines = [f"# {title}", ""]
        lines += [f"- {name}: {value}" for name, value in machine.items()]
        lines += ["", "| Group | Passed | Failed | Skipped | Facts |", "|---|---|---|---|---|"]
        groups = list(dict.fromkeys(entry["group"] for entry in self.entries))
        for group in groups:
            counts = [sum(e["group"] == group and e["outcome"] == outcome for e in self.entries)
                      for outcome in ("pass", "fail", "skip", "fact")]
            lines.append(f"| {group} | " + " | ".join(map(str, counts)) + " |")
        lines.append("| **all** | " + " | ".join(str(n) for n in summary.values()) + " |")
        for group in groups:
            lines += ["", f"## {group}", "", "| | Check | Detail |", "|---|---|---|"]
            for entry in self.entries:
                if entry["group"] == group:
                    detail = entry["detail"].replace("|", "\\|").replace("\n", "<br>")
                    lines.append(f"| {entry['outcome']} | {entry['name']} | {detail} |")
        return "\n".join(lines) + "\n"
