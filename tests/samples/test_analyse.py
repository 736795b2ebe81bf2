"""tests/analyse.sh analyses the changed files. It runs in a repository of its own, with a clang-tidy that
prints its arguments."""
import shutil
import subprocess

import pytest

ALL = {"runtime/a.c", "runtime/b.c", "tools/c.cpp"}


class Tree:
    def __init__(self, folder, script):
        self.folder = folder
        for path in (*ALL, "runtime/a.h", "runtime/base/alone.h", ".clang-tidy", "tests/python/lint.txt"):
            self.write(path)
        self.write("runtime/b.c", '#include "base/alone.h"\n')
        shutil.copy(script, folder / "tests")
        self.write("build/release/compile_commands.json")
        self.write("bin/clang-tidy", "#!/bin/sh\necho \"$@\"\n")
        (folder / "bin" / "clang-tidy").chmod(0o755)
        self.write(".gitignore", "build/\nbin/\n")

    def write(self, path, text="x\n"):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=self.folder,
                       check=True, capture_output=True)

    def commit(self, *paths):
        for path in paths:
            self.write(path, "changed\n")
        self.git("add", "-A")
        self.git("commit", "-m", "x")

    def analysed(self, *options):
        out = subprocess.run(["tests/analyse.sh", *options, "bin"], cwd=self.folder, check=True,
                             capture_output=True, text=True).stdout
        return {word for word in out.split() if word.endswith((".c", ".cpp"))}


@pytest.fixture
def tree(repo, tmp_path):
    return Tree(tmp_path, repo / "tests" / "analyse.sh")


def test_without_git_all(tree):
    assert tree.analysed() == ALL


def test_the_first_commit_all(tree):
    tree.git("init", "-b", "main")
    tree.commit()
    assert tree.analysed() == ALL


def test_on_the_main_branch_the_last_commit(tree):
    tree.git("init", "-b", "main")
    tree.commit()
    tree.commit("runtime/a.c")
    tree.commit("tools/c.cpp")
    assert tree.analysed() == {"tools/c.cpp"}
    assert tree.analysed("--all") == ALL


def test_on_a_branch_all_of_it(tree):
    tree.git("init", "-b", "main")
    tree.commit()
    tree.git("checkout", "-b", "other")
    tree.commit("runtime/a.h")
    tree.commit("README")
    assert tree.analysed() == {"runtime/a.c"}
    tree.write("tools/c.cpp", "not yet committed\n")
    tree.write("tools/new.c")
    assert tree.analysed() == {"runtime/a.c", "tools/c.cpp", "tools/new.c"}


def test_a_header_without_a_source(tree):
    tree.git("init", "-b", "main")
    tree.commit()
    tree.commit("runtime/base/alone.h")
    assert tree.analysed() == {"runtime/b.c"}


@pytest.mark.parametrize("path", [".clang-tidy", "tests/python/lint.txt"])
def test_other_checks_all(tree, path):
    tree.git("init", "-b", "main")
    tree.commit()
    tree.commit(path)
    assert tree.analysed() == ALL


def test_nothing_changed(tree):
    tree.git("init", "-b", "main")
    tree.commit()
    tree.commit("README")
    assert tree.analysed() == set()
