"""tests/lint.py finds each problem that it checks for."""
import importlib.util
import shutil
import subprocess

import pytest


@pytest.fixture
def lint(repo):
    spec = importlib.util.spec_from_file_location("lint", repo / "tests" / "lint.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("line, is_wrong", [
    ("x" * 100, False), ("x" * 101, True), ("ж" * 100, False), ("| " + "x" * 101 + " |", False),
    (f"{'x' * 94}[text]({'u' * 50})", False), (f"{'x' * 97}[text]({'u' * 50})", True)])
def test_markdown(lint, line, is_wrong):
    assert bool(lint.check_markdown("a.md", f"# Title\n{line}\n")) == is_wrong


@pytest.mark.parametrize("subject, is_wrong", [
    ("tests: give each tier a time", False), ("docs, tools: name the field", False),
    ("runtime/sync: prune completed streams", False), ("Tests: a list", True), ("no area", True),
    ("docs: Upper case", True), ("docs: " + "x" * 66, False), ("docs: " + "x" * 67, True)])
def test_subject(lint, subject, is_wrong):
    assert bool(lint.check_subject(subject)) == is_wrong


def test_scripts(lint, tmp_path, monkeypatch):
    """Each script must be executable and print a help text that is not too wide."""
    for name, text in {"good": "echo usage", "wide": f"echo {'x' * 101}", "fails": "echo unknown >&2; exit 2",
                       "silent": "", "plain": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o644 if name == "plain" else 0o755)
    monkeypatch.setattr(lint, "REPO", tmp_path)
    assert [line[:35] for path in lint.files("*") for line in lint.check_file(path)] == [
        "fails --help: exit status 2: unknow", "plain: has a #! line, but is not ex", "silent --help: exit status 0: ", "wide --help: 101 columns, at most 1"]


def test_subjects_from_the_commit_that_added_the_check(lint, repo, tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=tmp_path,
                       check=True, capture_output=True)

    def commit(subject):
        git("add", "-A")
        git("commit", "--allow-empty", "-m", subject)

    git("init", "-b", "main")
    commit("Before")
    git("checkout", "-b", "other")
    commit("Beside")
    git("checkout", "main")
    (tmp_path / "tests").mkdir()
    shutil.copy(repo / "tests" / "lint.py", tmp_path / "tests")
    commit("tests: add the check")
    git("merge", "other", "-m", "Merge other")
    commit("After")
    monkeypatch.setattr(lint, "REPO", tmp_path)
    assert lint.subjects() == ["tests: add the check", "After"]
