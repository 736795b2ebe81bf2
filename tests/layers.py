#!/usr/bin/env python3
"""Finds #include lines that name a file in a higher layer, and layers that include each other in a
circle. docs/architecture.md describes the folders; this script has the rules.

    layers.py [ROOT]     prints each breach as FILE:LINE, the included file and the rule; exit
                         status 1

First the script checks itself on a small tree of files that break the rules on purpose."""
import pathlib
import re
import sys
import tempfile

CORE = ["base", "event", "sync", "write", "write/sink"]
OUTPUTS = ["write/kineto", "write/chakra", "write/monitor"]
# The lanes (ring buffers of threads) and the reader of Python frames. Sources may include these layers.
LOW = ["collect/lane", "collect/frames"]
SOURCES = ["collect/cupti", "collect/nvtx", "collect/torch", "collect/python", "collect/nccl"]
COLLECT = [*LOW, *SOURCES, "collect"]
# The table in collect/source.c connects the sources. CUPTI is not in the table: the session uses it directly.
TABLE = ["collect", "collect/lane", "collect/cupti"]
PIPELINE = [*CORE, *OUTPUTS, "control", *TABLE, "pipeline"]
PIPELINE_RULE = ("all < pipeline < session < recorder < process, and only collect/source.c includes a source other "
                 "than CUPTI")
FRAMES = re.compile(r"runtime/collect/python/(frames|code_cache|layout|line_table|memory|text)\.")

TOOLS = ["tools/args", "tools/print", "tools/read"]
SUBCOMMANDS = ["check", "collectives", "convert", "critical", "ctl", "diff", "doctor", "edges", "open", "pipeline", "report"]

# Layer -> the other layers that this layer may include, and the rule as text.
RULES = {
    "base": ([], "base includes nothing above it"),
    "control": (["base"], "base < control"),
    "event": (["base"], "base < event"),
    "sync": (["base", "event"], "base < event < sync"),
    "write/sink": (["base"], "a sink stores bytes, whatever they are"),
    "write": (CORE, "base < event < sync < write, which knows no output and no source"),
    **{name: (CORE, "an output includes no other output and no source") for name in OUTPUTS},
    **{name: (["base", "event", *LOW], "lanes and the frame reader lie below the sources") for name in LOW},
    **{name: (["base", "event", *LOW], "event < collect, and no source includes another") for name in SOURCES},
    "collect": (["base", "event", "control", *COLLECT], "event < collect; the table of sources reads the options"),
    "pipeline": (PIPELINE, PIPELINE_RULE),
    "session": (PIPELINE, PIPELINE_RULE),
    "recorder": ([*PIPELINE, "session"], PIPELINE_RULE),
    "process": ([*PIPELINE, "session", "recorder"], PIPELINE_RULE),
    **{name: ([*CORE, *OUTPUTS, *TOOLS], "tools/args, tools/print and tools/read lie below all other tools")
       for name in TOOLS},
    "tools/replay": ([*CORE, *OUTPUTS, *TOOLS], "tools/read < tools/replay"),
    "tools/align": ([*CORE, *TOOLS], "tools/read < tools/align"),
    **{f"tools/{name}": ([*CORE, *OUTPUTS, "control", *TOOLS, "tools/replay", "tools/align"],
                         "a subcommand includes the core, control and what lies below, and no other subcommand")
       for name in SUBCOMMANDS},
    "tools/diff": ([*CORE, *OUTPUTS, "control", *TOOLS, "tools/replay", "tools/align", "tools/report"],
                   "a comparison is built on the store and the tables of a report"),
    "tools/pipeline": ([*CORE, *OUTPUTS, "control", *TOOLS, "tools/replay", "tools/align", "tools/report"],
                       "pipelines are built on the store and the page of a report"),
    "tools/critical": ([*CORE, *OUTPUTS, "control", *TOOLS, "tools/replay", "tools/align", "tools/report"],
                       "a critical path is built on the store of a report"),
    "tools": ([*CORE, *OUTPUTS, "control", *TOOLS, "tools/replay", "tools/align", *(f"tools/{name}" for name in SUBCOMMANDS)],
              "a command includes its folder, the core and control"),
}

# File -> files that this file may include although a rule forbids it, and the reason. An exception that is no
# longer needed is a breach.
EXCEPTIONS = {
    # `doctor` must find the same CUPTI that a job would find, so it uses the same code.
    "tools/doctor/gpu.c": ["collect/cupti/api.h"],
    # sl_range_push() and its siblings write the same records as the NVTX calls of a program. sl_collectives() and
    # sl_status() set and show a state of one source, at any time and on any thread.
    "runtime/process/api.c": ["collect/nccl/level.h", "collect/nvtx/calls.h", "collect/nvtx/names.h"],
}


def layer(path: str) -> str:
    """Returns the layer of a path: runtime/write/kineto/row.c -> write/kineto. The files of the frame reader
    are a layer of their own."""
    if FRAMES.match(path):
        return "collect/frames"
    folders = path.split("/")[:-1]
    if folders[0] == "tools" or len(folders) == 1:
        return "/".join(folders[:2])
    return "/".join(folders[1:3]) if folders[1] in ("collect", "write") else folders[1]


def find(root: pathlib.Path, file: pathlib.Path, quote: str, name: str) -> "str | None":
    """Returns the path of the included file relative to `root`; None if the file is not in runtime/ or
    tools/."""
    for folder in (root / "runtime", root / "tools", *([file.parent] if quote == '"' else [])):
        if (folder / name).is_file():
            return (folder / name).resolve().relative_to(root).as_posix()
    return None


def circle(graph: dict) -> list:
    """Returns layers of which each includes the next, with the first layer again as the last; [] if there is
    no circle."""
    done = set()

    def walk(here: str, path: list) -> list:
        if here in path:
            return [*path[path.index(here):], here]
        if here in done:
            return []
        done.add(here)
        return next(filter(None, (walk(there, [*path, here]) for there in sorted(graph.get(here, ())))), [])

    return next(filter(None, (walk(here, []) for here in sorted(graph))), [])


def breaches(root: pathlib.Path, exceptions: dict) -> list:
    root = root.resolve()
    found, used, graph = [], set(), {}
    for file in sorted([*root.glob("runtime/**/*"), *root.glob("tools/**/*")]):
        if file.suffix not in (".c", ".h", ".cpp", ".hpp"):
            continue
        path = file.relative_to(root).as_posix()
        here = layer(path)
        if here not in RULES:
            found.append(f"{path}: tests/layers.py has no rule for {here}")
            continue
        allowed, rule = RULES[here]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*([<"])(.*?)[>"]', line)
            target = find(root, file, *include.groups()) if include else None
            if not target or layer(target) == here:
                continue
            graph.setdefault(here, {})[layer(target)] = f"{path}:{number}"
            if layer(target) in allowed:
                continue
            if include[2] in exceptions.get(path, []):
                used.add((path, include[2]))
                continue
            found.append(f"{path}:{number}: includes {include[2]}: {rule}")
    if ring := circle(graph):
        found.append("a circle: " + ", ".join(f"{here} includes {there} ({graph[here][there]})"
                                              for here, there in zip(ring, ring[1:])))
    if not graph:
        found.append(f"{root}: no file of runtime/ or tools/ includes another: is this the repository?")
    stale = {(path, name) for path, names in exceptions.items() for name in names} - used
    return found + [f"tests/layers.py: {path} includes {name} no more: end the exception" for path, name in sorted(stale)]


def check_self():
    """Checks that one breach of each type is found at its line, and that allowed includes are not reported."""
    files = {
        "runtime/base/a.h": '\n#include "event/b.h"\n',
        "runtime/event/b.h": '#include "base/a.h"\n#include <stdint.h>\n',
        "runtime/write/c.c": '#include "write/kineto/d.h"\n',
        "runtime/write/kineto/d.h": '#include "event/b.h"\n',
        "runtime/collect/nvtx/e.c": '#include "collect/cupti/f.h"\n#include "collect/python/frames.h"\n',
        "runtime/collect/cupti/f.h": "",
        "runtime/collect/python/frames.h": "",
        "runtime/root.c": "",
        "runtime/session/j.c": '#include <collect/nvtx/k.h>\n#include <string.h>\n#include <collect/cupti/f.h>\n',
        "runtime/collect/nvtx/k.h": "",
        "tools/edges/g.c": '#include "h.h"\n#include "check/i.h"\n',
        "tools/edges/h.h": '#include "collect/cupti/f.h"\n',
        "tools/check/i.h": "",
    }
    want = ["runtime/base/a.h:2: includes event/b.h", "runtime/collect/nvtx/e.c:1: includes collect/cupti/f.h",
            "runtime/root.c: tests/layers.py has no rule for runtime",
            "runtime/session/j.c:1: includes collect/nvtx/k.h",
            "runtime/write/c.c:1: includes write/kineto/d.h", "tools/edges/g.c:2: includes check/i.h",
            "a circle: base includes event (runtime/base/a.h:2), event includes base (runtime/event/b.h:1)",
            "tests/layers.py: tools/edges/h.h includes gone.h no more"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = breaches(root, {"tools/edges/h.h": ["collect/cupti/f.h", "gone.h"]})
    if [next((begin for begin in want if line.startswith(begin)), line) for line in found] != want:
        sys.exit("tests/layers.py does not find what was planted:\n" + "\n".join(found))


def main():
    if "--help" in sys.argv:
        sys.exit(print(__doc__))
    check_self()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = breaches(root, EXCEPTIONS)
    print("\n".join(found) or f"no file includes one above it, but for {sum(map(len, EXCEPTIONS.values()))} exceptions")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
