"""Runs the samples on the simulated GPU without syncline. They exit with status 0 and print their results."""

import subprocess

import pytest

OUTPUT = {
    "streams_and_waits": "cuLaunchHostFunc                             ok\n",
    "graph": "captured 6 nodes; nothing has run: 1\nlaunched once: 7 and 1\nlaunched 4 times\n",
    "two_threads": "two_threads: 20 rounds, 40 kernels\n",
    "peer_copy": "peer_copy: 1 device here, two are needed: nothing to do\n",
    "train_like": "train_like: 5 steps of 6 layers, last loss 0.4000\n",
    "runtime_api": "runtime_api: 5 rounds, read back 5\n",
    "windows": "windows: done\n",
    "probe_gpu": "1 x ",
}
ARGUMENTS = {"train_like": ["--steps", "5"]}


def run(build, repo, name, *options):
    folder = "tests/gpu" if name == "windows" else "samples"
    program = build / folder / name
    if name == "runtime_api" and not program.exists():
        pytest.skip("no nvcc: not built")
    return subprocess.run([repo / "tests/simgpu/run", "--build", build, *options, program,
                           *ARGUMENTS.get(name, [])], text=True, capture_output=True, check=False,
                          timeout=120)


@pytest.mark.parametrize("name", OUTPUT)
def test_output(build, repo, name):
    done = run(build, repo, name)
    assert done.returncode == 0, done.stderr
    assert OUTPUT[name] in done.stdout


def test_two_devices(build, repo):
    done = run(build, repo, "peer_copy", "--devices", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "peer_copy: 8388608 bytes, first 42, last 42\n"


def test_a_failing_call_is_named(build, repo):
    # an error that affects only this call
    done = run(build, repo, "train_like", "--fail", "cuStreamSynchronize:2:1")
    assert done.returncode == 1
    assert "cu.StreamSynchronize" in done.stderr and "train_like.c:" in done.stderr
