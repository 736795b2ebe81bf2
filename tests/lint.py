#!/usr/bin/env python3
"""Checks the form of Markdown files, help texts and commit subjects. Prints one line for each
problem, and fails if there is any.

    tests/lint.py [PATH_OF_THE_SYNCLINE_COMMAND]    default: build/release/tools/syncline

 - Markdown: lines have at most 100 columns. A link's target does not count; tables may be wider.
 - Help texts of the syncline command, its subcommands and each executable script: `--help`
   succeeds, and its lines have at most 100 columns.
 - A file with a `#!` line is executable.
 - Commit subjects, from the commit that added this file on: `area: verb object`, at most 72
   characters. Skipped outside git."""
import os
import pathlib
import re
import subprocess
import sys

COLUMNS, SUBJECT_CHARACTERS = 100, 72
SUBJECT = re.compile(r"^(Merge |Revert |[a-z0-9_./+-]+(, ?[a-z0-9_./+-]+)*: [a-z])")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
REPO = pathlib.Path(__file__).resolve().parents[1]


def output(*command) -> str:
    return subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True).stdout


def in_git() -> bool:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPO, check=False,
                          capture_output=True).returncode == 0


def check_markdown(name: str, text: str) -> list[str]:
    wrong = []
    for number, line in enumerate(text.splitlines(), 1):
        columns = len(LINK.sub(r"\1", line))
        if columns > COLUMNS and not line.lstrip().startswith("|"):
            wrong.append(f"{name}:{number}: {columns} columns, at most {COLUMNS}: {line.strip()[:60]}...")
    return wrong


def check_help(name: str, text: str) -> list[str]:
    return [f"{name}: {len(line)} columns, at most {COLUMNS}: {line}"
            for line in text.splitlines() if len(line) > COLUMNS]


def check_subject(subject: str) -> list[str]:
    wrong = []
    if len(subject) > SUBJECT_CHARACTERS:
        wrong.append(f"commit subject of {len(subject)} characters, at most {SUBJECT_CHARACTERS}: {subject}")
    if not SUBJECT.match(subject):
        wrong.append(f"commit subject is not `area: verb object`: {subject}")
    return wrong


def check_script(path: pathlib.Path) -> list[str]:
    name = str(path.relative_to(REPO))
    done = subprocess.run([path, "--help"], cwd=REPO, check=False, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        return [f"{name} --help: exit status {done.returncode}: {(done.stderr.splitlines() or [''])[-1]}"]
    return check_help(f"{name} --help", done.stdout)


def files(pattern: str) -> list[pathlib.Path]:
    if in_git():
        names = output("git", "ls-files", "-z", "--", pattern).split("\0")[:-1]
        return [REPO / name for name in names if (REPO / name).is_file()]
    return sorted(path for path in REPO.rglob(pattern)
                  if path.is_file() and REPO / "build" not in path.parents)


def check_file(path: pathlib.Path) -> list[str]:
    if os.access(path, os.X_OK):
        return check_script(path)
    with path.open("rb") as file:
        return [f"{path.relative_to(REPO)}: has a #! line, but is not executable"] * (file.read(2) == b"#!")


def help_texts(tool: str) -> dict[str, str]:
    texts = {"syncline": output(tool, "--help")}
    commands = re.search(r"^Commands:\n((?:  .*\n)+)", texts["syncline"], re.MULTILINE)[1]
    for command in re.findall(r"^  ([\w-]+)", commands, re.MULTILINE):
        texts[f"syncline {command}"] = output(tool, command, "--help")
    return texts


def subjects() -> list[str]:
    """Returns the subjects of the commit that added this file and of its descendants. Older commits on other
    branches are not descendants."""
    added = output("git", "log", "--diff-filter=A", "--format=%H", "--", "tests/lint.py").split()[-1:]
    if not added:
        return []
    return [output("git", "show", "--no-patch", "--format=%s", added[0]).strip(),
            *output("git", "log", "--no-merges", "--ancestry-path", "--format=%s",
                    f"{added[0]}..HEAD").splitlines()]


def main() -> None:
    if "--help" in sys.argv:
        sys.exit(print(__doc__))
    tool = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else REPO / "build/release/tools/syncline").resolve())
    wrong = []
    for path in files("*.md"):
        wrong += check_markdown(str(path.relative_to(REPO)), path.read_text(encoding="utf-8"))
    for name, text in help_texts(tool).items():
        wrong += check_help(f"{name} --help", text)
    for path in files("*"):
        wrong += check_file(path)
    if in_git():
        wrong += [line for subject in subjects() for line in check_subject(subject)]
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
