"""Runs samples/demo.sh as a newcomer does."""

import pathlib
import re
import subprocess


def demo(repo, cwd, *options):
    return subprocess.run([repo / "samples/demo.sh", *options], cwd=cwd, text=True,
                          capture_output=True, check=False, timeout=900)


def trace_of(done):
    return pathlib.Path(re.search(r"^The trace: +(\S+)", done.stdout, re.MULTILINE)[1])


def test_twice_from_anywhere(repo, tmp_path):
    first = demo(repo, tmp_path, "--simulated", "--steps", "10")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "the simulated one" in first.stdout
    for title in ("GPU busy, of", "Top kernels", "by what was waited for", "longest CPU waits"):
        assert title in first.stdout
    # The copy of the loss follows the step's last kernel. On a busy machine another wait may be the longest.
    assert re.search(r" ms  stream_sync +cuStreamSynchronize\n +for adamw_spin_ns\n",
                     first.stdout.split("longest CPU waits")[1])
    assert "gemm_128x128_backward_spin_ns" in first.stdout
    assert "cuStreamSynchronize" in first.stdout
    content = trace_of(first).read_bytes()

    second = demo(repo, tmp_path, "--simulated", "--steps", "10")
    assert second.returncode == 0, second.stdout + second.stderr
    assert trace_of(second) != trace_of(first)
    assert trace_of(first).read_bytes() == content
    assert list(tmp_path.iterdir()) == []


def test_own_folder_keeps_what_is_in_it(repo, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = demo(repo, tmp_path, "--simulated", "--steps", "5", "--out", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tmp_path in trace_of(done).parents
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_wrong_use_is_said(repo, tmp_path):
    assert "--steps" in demo(repo, tmp_path, "--help").stdout
    assert demo(repo, tmp_path, "--nonsense").returncode == 2
    done = demo(repo, tmp_path, "--steps", "many")
    assert done.returncode == 1 and "whole number" in done.stderr


def test_wrong_use_of_ddp_is_said(repo):
    def ddp(*options):
        return subprocess.run([repo / "samples/ddp.sh", *options], text=True, capture_output=True, check=False)

    assert "--ranks" in ddp("--help").stdout
    assert ddp("--nonsense").returncode == 2
    done = ddp("--steps", "many")
    assert done.returncode == 1 and "ddp.sh: --steps takes a whole number" in done.stderr
