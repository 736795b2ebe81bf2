"""Runs the commands of README.md one after the other, as a new user pastes them, twice in one folder.

What is substituted, because it needs the network, root, PyTorch or the user's program:
  - samples/demo.sh and the build: the folder has the tested build. tests/torch/test_demo.py runs the demo;
  - build_observers.sh: it needs PyTorch, for which the tests in tests/torch build the observer;
  - /usr/local: a folder of the test;
  - train.py: a small program that waits for the GPU, which runs on the simulated GPU. The first time it has two
    ranks, as under torchrun."""
import gzip
import json
import os
import re
import subprocess
import sys

import harness

SKIPPED = ["samples/demo.sh", "cmake --preset release && cmake --build build/release",
           'python_hook/build_observers.sh "$(which python3)"']
TRAIN = """\
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
for _ in range(3):
    assert cuda.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1 << 20), None) == 0
    assert cuda.cuCtxSynchronize() == 0
"""


def blocks() -> list[tuple[str, str]]:
    """Returns the language and the text of each block of commands."""
    return re.findall(r"^```(sh|python)\n(.*?)^```$", (harness.REPO / "README.md").read_text(),
                      re.MULTILINE | re.DOTALL)


def substituted(text: str, prefix, ranks: int) -> str:
    for command in SKIPPED:
        text = text.replace(command, ":")
    text = text.replace("/usr/local", str(prefix))
    if ranks > 1:
        text = re.sub(r"^(.*python train\.py)$", rf"for rank in $(seq 0 {ranks - 1}); do RANK=$rank "
                      rf"WORLD_SIZE={ranks} \1 & done; wait", text, flags=re.MULTILINE)
    return text


def ranks_in(folder) -> list[int]:
    found = []
    for path in folder.iterdir():
        with gzip.open(path, "rt") as file:
            found.append(json.load(file)["distributedInfo"]["rank"])
    return sorted(found)


def test_the_commands_of_the_readme_work_twice(tmp_path):
    home, prefix = tmp_path / "clone", tmp_path / "usr"
    (home / "build").mkdir(parents=True)
    (home / "build" / "release").symlink_to(harness.BUILD)
    (home / "train.py").write_text(TRAIN)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    env = harness.environment({"PATH": f"{prefix}/bin:{tmp_path}/bin:{os.environ['PATH']}"})
    assert all(any(command in text for _, text in blocks()) for command in SKIPPED)
    for ranks in (2, 1):
        said = ""
        for language, text in blocks():
            command = ["bash", "-e", "-c", substituted(text, prefix, ranks)] if language == "sh" else \
                [sys.executable, "-c", text]
            done = subprocess.run([harness.SIMGPU, "--build", harness.BUILD, *command], cwd=home, env=env,
                                  capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, text + done.stdout + done.stderr
            said += done.stdout + done.stderr
        assert said.count("valid and complete Kineto trace") == ranks
        assert said.count("recording would work here") == 1
        assert f"{ranks} rank" in said and "memset" in said.lower()
        assert ranks_in(home / "hta") == list(range(ranks))
