#!/usr/bin/env python3
"""Makes tables.h, tables.c, event/call_names.c and sync/call_class.c from NVIDIA's own headers and libraries.

    generate_tables.py --write             fetch every version's package and write the files
    generate_tables.py --write-docs        write which calls are recorded by default into
                                           docs/trace-format-details.md (--write does it too)
    generate_tables.py --check INCLUDE...  compare the committed tables with the CUPTI headers in
                                           those folders, and the tables and the documentation with
                                           tables_calls.py (the build's test; needs no network)
    generate_tables.py --check-all         compare the tables with every version's package

Packages come from PyPI through pip, pinned by version and sha256, into --cache (default
build/cupti-packages), and are reused. Record layouts are not parsed but compiled: a C program per
version prints offsetof and sizeof. Which structure belongs to which kind is read from the
documentation comments in NVIDIA's enum. This file checks that a field's width, an attribute's value
and the meaning of a callback id do not change between versions, because the decoder relies on that.
The script needs only Python's standard library, a C compiler ($CC, else cc) and nm."""
import argparse
import pathlib
import re
import textwrap

import tables_calls
from tables_version import CUDA_PACKAGES, PACKAGES, Version, fail, fetch, folder_of
from tables_wanted import ENUMS, FAMILIES, FUNCTIONS, SELECTIONS, selection

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
NAMES = HERE.parent.parent / "event" / "call_names.c"
CLASSES = HERE.parent.parent / "sync" / "call_class.c"
DOCUMENT = ROOT / "docs" / "trace-format-details.md"


def braces(cells) -> str:
    """Returns a C initializer, with lines wrapped here, because versions of a formatter differ."""
    return "{\n" + textwrap.fill(", ".join(cells), 96, initial_indent="    ", subsequent_indent="    ") + "}"


def plain_name(name: str) -> str:
    """Returns the name without the suffix of a per-thread default stream."""
    return re.sub(r"_pt[sd][sz]$", "", name)


def bits(name: str) -> str:
    """Returns the flags of a call for call_names.c."""
    plain = plain_name(name)
    if tables_calls.LAUNCHING.match(plain):
        return "W | L"
    return "W" if tables_calls.WANTED.match(plain) else "0"


def classes(callbacks: dict) -> str:
    """Returns the text of call_class.c."""
    out = [CLASSES_TOP]
    for domain, names in callbacks.items():
        out.append(f"\nstatic const uint8_t {domain}[] = {{\n")
        for i, name in sorted(names.items()):
            out += [f"    [{i}] = SL_CALL_{c}, /* {name} */\n" for c, pattern in tables_calls.CLASS_OF.items()
                    if name and pattern.match(plain_name(name))]
        out.append("};\n")
    return "".join(out) + CLASSES_END


class Tables:
    def __init__(self, versions: dict):
        self.rows = {}  # first API version -> (CUDA versions, Version); 12.0 and 12.1 share number 18
        for cuda, v in versions.items():
            # From 13.0 on, the last two digits are the patch. All patches of a minor version have
            # the same layouts. (All versions on PyPI were compared. Only GREEN_CONTEXT grew within
            # 13.2.)
            first = v.api if v.api < 100000 else v.api // 100 * 100
            if first in self.rows:
                names, other = self.rows[first]
                if v.sizes != other.sizes or v.fields != other.fields:
                    fail(f"CUDA {names[-1]} and {cuda} both say API version {v.api}, but differ in layout")
                # both versions have the callback ids of the version with fewer ids
                self.rows[first] = (names + [cuda], other)
            else:
                self.rows[first] = ([cuda], v)
        self.kinds, self.enums = {}, {}
        for cuda, v in versions.items():
            for name, (value, _) in v.structs.items():
                if self.kinds.setdefault(name, value) != value:
                    fail(f"kind {name} changed its value in CUDA {cuda}")
            for name, value in v.enums.items():
                if self.enums.setdefault(name, value) != value:
                    fail(f"{name} changed its value in CUDA {cuda}")
        self.ids = {}
        for cuda, v in versions.items():
            for name, value in v.ids.items():
                if self.ids.setdefault(name, value) != value:
                    fail(f"{name} changed its value in CUDA {cuda}")
        if any(value for name, value in self.ids.items() if name.endswith("_FIELD_KIND")):
            fail("a kind's first field is not its kind")
        self.functions = {}
        for f in FUNCTIONS:
            have = [v.api for v in versions.values() if f"cupti{f}" in v.functions]
            missing = [v.api for v in versions.values() if f"cupti{f}" not in v.functions]
            if not have or (missing and max(missing) > min(have)):
                fail(f"cupti{f} comes and goes: in {have}, not in {missing}")
            self.functions[f] = min(have) if missing else 0
        self.callbacks = {}
        for domain in ("runtime", "driver"):
            names = self.callbacks[domain] = {}
            for v in versions.values():  # oldest first: the newest real name stays
                for i, n in v.callbacks[domain].items():
                    names[i] = n or names.get(i)

    def header(self) -> str:
        out = [HEADER_TOP]
        out.append("enum sl_cupti_kind {\n")
        out += [f"    SL_CUPTI_KIND_{n} = {v},\n" for n, v in sorted(self.kinds.items(), key=lambda x: x[1])]
        out.append(f"    SL_CUPTI_KIND_COUNT = {max(self.kinds.values()) + 1}\n}};\n")
        for ours, (theirs, names) in ENUMS.items():
            tag = {"SL_CUPTI_": "result"}.get(ours, ours[len("SL_CUPTI_"):-1].lower())
            out.append(f"\nenum sl_cupti_{tag} {{ /* {theirs}* */\n")
            out += [f"    {ours}{n} = {self.enums[ours + n]},\n" for n in names]
            out.append("};\n")
        types = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "16 bytes"}
        out.append("\n/* Offsets in bytes; the comment is the field's type, the same in every version. */\n")
        for family, (kinds, fields) in FAMILIES.items():
            out.append(f"struct sl_cupti_{family}_layout {{ /* {', '.join(kinds)} */\n    uint16_t size;\n")
            for ours, (theirs, width) in fields.items():
                note = ", not in every version" if ours.endswith("?") else ""
                out.append(f"    uint16_t {ours.rstrip('?')}; /* {types[width]} {theirs}{note} */\n")
            out.append("};\n\n")
        out.append("/* One CUPTI version. */\nstruct sl_cupti_layout {\n    uint32_t version; /* first version "
                   "of this layout, see cuptiGetVersion */\n    const char *cuda;\n    /* bytes of a record, indexed by "
                   "kind; 0: this version has no such kind */\n    const uint16_t *record_size;\n")
        out += [f"    const struct sl_cupti_{f}_layout *{f};\n" for f in FAMILIES]
        out.append("    /* numbers of callback ids: all ids are below these */\n"
                   "    uint16_t runtime_callbacks, driver_callbacks;\n};\n")
        out.append(HEADER_END)
        return "".join(out)

    def source(self) -> str:
        out = [SOURCE_TOP]
        pointers = {api: [] for api in self.rows}

        def deduplicated(title: str, ctype: str, value_of, show):
            known = {}
            for api, (_, v) in self.rows.items():
                value = value_of(v)
                if value not in known:
                    known[value] = f"{title}_{api}"
                    out.append(f"static const {ctype.format(name=known[value])} = {show(value)};\n")
                pointers[api].append(known[value])

        top = max(self.kinds.values()) + 1
        deduplicated("sizes", "uint16_t {name}[SL_CUPTI_KIND_COUNT]",
                     lambda v: tuple(v.sizes.get(k, 0) for k in range(top)),
                     lambda s: braces(map(str, s)))
        for family, (_, fields) in FAMILIES.items():
            names = ["size", *(f.rstrip("?") for f in fields)]
            out.append("\n")
            deduplicated(family, f"struct sl_cupti_{family}_layout {{name}}", lambda v, f=family: v.layout(f),
                         lambda s, n=names: braces(f".{a} = {b}" for a, b in zip(n, s)))
        out.append("\nconst struct sl_cupti_layout sl_cupti_tables_layouts[] = {\n")
        for api, (cuda, v) in sorted(self.rows.items()):
            sizes, *families = pointers[api]
            counts = v.callback_counts()
            cells = [str(api), f'"{", ".join(cuda)}"', sizes, *("&" + f for f in families), *map(str, counts)]
            out.append("    " + braces(cells).replace("\n", "\n    ") + ",\n")
        out.append("};\nconst unsigned sl_cupti_tables_layout_count =\n"
                   "    sizeof sl_cupti_tables_layouts / sizeof *sl_cupti_tables_layouts;\n")
        for family in SELECTIONS:
            out.append(f"\nstatic const struct sl_cupti_field {family}_fields[] = {{\n")
            out += [f"    {{{self.ids[c]}, {width}, {within}, offsetof(struct sl_cupti_{family}_layout, {ours})}},\n"
                    for ours, c, width, within in selection(family)]
            out.append("};\n")
        out.append("\nconst struct sl_cupti_selection sl_cupti_tables_selections[] = {\n")
        for family in SELECTIONS:
            out += [f"    {{SL_CUPTI_KIND_{kind}, sizeof {family}_fields / sizeof *{family}_fields, {family}_fields,\n"
                    f"     offsetof(struct sl_cupti_layout, {family})}},\n" for kind in FAMILIES[family][0] if kind != "KERNEL"]
        out.append("};\nconst unsigned sl_cupti_tables_selection_count =\n"
                   "    sizeof sl_cupti_tables_selections / sizeof *sl_cupti_tables_selections;\n")
        out.append("\nconst struct sl_cupti_function sl_cupti_tables_functions[] = {\n")
        out += [f'    {{"{f}", {since}}},\n' for f, since in self.functions.items()]
        out.append("};\nconst unsigned sl_cupti_tables_function_count =\n"
                   "    sizeof sl_cupti_tables_functions / sizeof *sl_cupti_tables_functions;\n")
        return "".join(out)

    def names(self) -> str:
        out = [NAMES_TOP]
        for domain, names in self.callbacks.items():
            out.append(f"\nconst struct sl_call_name_row sl_call_names_{domain}[] = {{\n")
            out += [f'    [{i}] = {{"{n}", {bits(n)}}},\n' for i, n in sorted(names.items()) if n]
            out.append(f"}};\nconst unsigned sl_call_names_{domain}_count =\n    sizeof sl_call_names_{domain} "
                       f"/ sizeof *sl_call_names_{domain};\n")
        return "".join(out)


HEADER_TOP = """\
/*
 * tables.h - CUPTI's record layouts, values and calls, version by version.
 *
 * Generated by generate_tables.py from NVIDIA's headers and libraries: do not edit. Constant data:
 * any thread.
 */
// clang-format off
#ifndef SL_CUPTI_TABLES_H
#define SL_CUPTI_TABLES_H

#include <stddef.h>
#include <stdint.h>

"""
HEADER_END = """\

/* Ascending by version. */
extern const struct sl_cupti_layout sl_cupti_tables_layouts[];
extern const unsigned sl_cupti_tables_layout_count;

/* A field of user-defined records: its id and size in NVIDIA's headers, the offset of our value
 * within it (in a union), and the member of the family's layout that holds its offset. */
struct sl_cupti_field {
    uint8_t id, bytes, within, slot;
};

/* The fields to request for a kind, without the kind field itself, whose id is 0. */
struct sl_cupti_selection {
    uint8_t kind, count;
    const struct sl_cupti_field *fields;
    size_t family; /* offset of the family's member in struct sl_cupti_layout */
};
extern const struct sl_cupti_selection sl_cupti_tables_selections[];
extern const unsigned sl_cupti_tables_selection_count;

/* A function's name without "cupti", and the first version that has it (0: every version). */
struct sl_cupti_function {
    const char *name;
    uint32_t since;
};
extern const struct sl_cupti_function sl_cupti_tables_functions[];
extern const unsigned sl_cupti_tables_function_count;

#endif
"""
SOURCE_TOP = """\
/*
 * tables.c - CUPTI's record layouts, values and calls, version by version.
 *
 * Generated by generate_tables.py from NVIDIA's headers and libraries: do not edit. Constant data:
 * any thread. Layouts and sizes that several versions share are named after the first.
 */
// clang-format off
#include "collect/cupti/tables.h"

"""
NAMES_TOP = """\
/*
 * call_names.c - CUDA's calls by callback id, of every version.
 *
 * Generated by collect/cupti/generate_tables.py from NVIDIA's headers and libraries: do not edit.
 * Constant data: any thread.
 */
// clang-format off
#include "event/call_name.h"

#define W SL_CALL_NAME_WANTED
#define L SL_CALL_NAME_LAUNCHES
"""
CLASSES_TOP = """\
/*
 * call_class.c - classifies CUDA calls by how they wait, from the callback id.
 *
 * Generated by collect/cupti/generate_tables.py from NVIDIA's headers and libraries: do not edit.
 * Constant data: any thread. Ids that are not named are SL_CALL_OTHER.
 */
// clang-format off
#include "sync/call_class.h"

#include <stddef.h>
"""
CLASSES_END = """
enum sl_call_class sl_call_class_of(enum sl_event_kind domain, uint32_t cbid)
{
    const uint8_t *class = domain == SL_EV_RUNTIME ? runtime : driver;
    size_t count = domain == SL_EV_RUNTIME ? sizeof runtime : sizeof driver;

    return cbid < count ? (enum sl_call_class)class[cbid] : SL_CALL_OTHER;
}
"""


def load_all(cache: pathlib.Path) -> Tables:
    cuda = [folder_of(fetch(*p, cache), h) for p, h in zip(CUDA_PACKAGES, ("cuda.h", "crt/host_defines.h"))]
    cuda[1] = cuda[1].parent
    versions = {}
    for name, package in PACKAGES.items():
        folder = fetch(*package, cache)
        (library,) = folder.glob("nvidia/*/lib/libcupti.so.*")
        versions[name] = Version(folder_of(folder, "cupti_activity.h"), cuda, library)
    return Tables(versions)


def committed() -> dict:
    """Reads the committed tables. Returns API version -> {family or "sizes": numbers}, and the names."""
    text = (HERE / "tables.c").read_text()
    arrays = {n: re.sub(r"\s+", " ", b) for n, b in re.findall(r"(\w+_\d+)(?:\[\w+\])? = \{(.*?)\};", text, re.S)}
    numbers = {n: tuple(map(int, re.findall(r"\d+", b))) for n, b in arrays.items()}
    rows = {}
    table = text[text.index("sl_cupti_tables_layouts[]"):text.index("sl_cupti_tables_layout_count")]
    for api, _, rest in re.findall(r'\{\s*(\d+),\s*"([^"]*)",(.*?)\}', table, re.S):
        names = re.findall(r"[a-z_]+_\d+", rest)
        rows[int(api)] = dict(zip(["sizes", *FAMILIES], (numbers[n] for n in names)))
    text = NAMES.read_text()
    callbacks, marked = {}, {}
    for domain in ("runtime", "driver"):
        part = text[text.index(f"sl_call_names_{domain}[]"):text.index(f"sl_call_names_{domain}_count")]
        found = re.findall(r'\[(\d+)\] = \{"(\w+)", ([^}]*)\}', part)
        callbacks[domain] = {int(i): name for i, name, _ in found}
        marked.update((name, mark) for _, name, mark in found)
    return {"rows": rows, "callbacks": callbacks, "bits": marked}


def check_filter():
    """Compares the table's bits and the documentation with the patterns of the default filter."""
    wrong = [name for name, mark in committed()["bits"].items() if mark != bits(name)]
    if wrong:
        fail(f"{NAMES.name} marks other calls than tables_calls.py: {' '.join(wrong)}: run "
             "runtime/collect/cupti/generate_tables.py --write")
    if CLASSES.read_text() != classes(committed()["callbacks"]):
        fail(f"{CLASSES.name} classifies other calls than tables_calls.py: run "
             "runtime/collect/cupti/generate_tables.py --write")
    wrong = [name for names in tables_calls.LEFT_OUT.values() for name in names.split() if bits(name) != "0"]
    if wrong:
        fail(f"said to be left out, but is not: {' '.join(wrong)}")
    if tables_calls.of_document(DOCUMENT.read_text()) != tables_calls.section():
        fail(f"{DOCUMENT.relative_to(ROOT)} lists other calls than tables_calls.py: run "
             "runtime/collect/cupti/generate_tables.py --write-docs")


def check(includes: list):
    """Compares the given headers with the row that the runtime would choose for their version."""
    check_filter()
    include = next((i for i in includes if (i / "cupti_activity.h").exists()), None)
    if not include:
        fail(f"no cupti_activity.h in {' '.join(map(str, includes))}")
    v = Version(include, includes)
    have = committed()
    known = [api for api in have["rows"] if api <= v.api]
    if not known:
        fail(f"{include} is CUPTI {v.api}: older than any known; 12.0 is the oldest supported")
    row = have["rows"][max(known)]
    wrong = [f"{f}: header {v.layout(f)}, table {row[f]}" for f in FAMILIES if row[f] != v.layout(f)]
    wrong += [f"kind {k}: header {s} bytes, table {row['sizes'][k] if k < len(row['sizes']) else 'none'}"
              for k, s in v.sizes.items() if k >= len(row["sizes"]) or row["sizes"][k] != s]
    for domain, names in v.callbacks.items():
        wrong += [f"{domain} callback {i} ({n}) is not in the table" for i, n in names.items()
                  if n and i not in have["callbacks"][domain]]
    if wrong:
        fail(f"the tables do not fit {include} (CUPTI {v.api}):\n  " + "\n  ".join(wrong) +
             "\nAdd this version to PACKAGES in runtime/collect/cupti/tables_version.py and run generate_tables.py --write.")
    print(f"tables.c agrees with {include} (CUPTI {v.api}, row {max(known)})")


def write_docs():
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(text.replace(tables_calls.of_document(text), tables_calls.section()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", metavar="INCLUDE", nargs="+", type=pathlib.Path)
    what.add_argument("--check-all", action="store_true")
    what.add_argument("--write-docs", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "cupti-packages")
    options = parser.parse_args()
    if options.check:
        return check(options.check)
    if options.write_docs:
        return write_docs()
    tables = load_all(options.cache.resolve())
    for path, text in ((HERE / "tables.h", tables.header()), (HERE / "tables.c", tables.source()),
                       (NAMES, tables.names()), (CLASSES, classes(tables.callbacks))):
        if options.write:
            path.write_text(text)
        elif path.read_text() != text:
            fail(f"{path.name} is not what the packages give: run runtime/collect/cupti/generate_tables.py --write")
    if options.write:
        write_docs()
    check_filter()
    print(f"{'wrote' if options.write else 'checked'} {len(tables.rows)} layouts of CUDA {', '.join(PACKAGES)}")


if __name__ == "__main__":
    main()
