"""Tests the exports of inject.c in processes without CUDA. The entry point that the driver calls never makes
the host process fail."""
import subprocess
import sys

import pytest

# Negative errno values
EAGAIN, ENODEV, EINVAL = -11, -19, -22

PRELUDE = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1], use_errno=True)

class Status(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("state", ctypes.c_int32), ("window", ctypes.c_uint32),
                ("counts", ctypes.c_uint64 * 5), ("last_file", ctypes.c_char * 1024),
                ("reason", ctypes.c_char * 256)]

def status():
    s = Status(size=ctypes.sizeof(Status), state=99)
    return library.sl_status(ctypes.byref(s)), s.state, s.reason.decode()

def inject():
    ctypes.set_errno(1234)
    answer = library.InitializeInjection()
    return answer, ctypes.get_errno()
"""


def play(library, code: str, folder, **environment) -> tuple[list[str], str]:
    """Runs the code. Returns the lines that the code printed on stdout and that the library printed on
    stderr."""
    environment = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "", **environment}
    result = subprocess.run([sys.executable, "-c", PRELUDE + code, str(library)], cwd=folder,
                            capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines(), result.stderr


def test_before_the_injection_every_call_says_again_later(library, tmp_path):
    lines, said = play(library, "print(library.sl_start(), library.sl_stop(), status())", tmp_path)
    assert lines == [f"{EAGAIN} {EAGAIN} ({EAGAIN}, 99, '')"]
    assert said == ""


def test_disabled_it_succeeds_and_does_nothing(library, tmp_path):
    lines, said = play(library, "print(*inject()); print(library.sl_start(), library.sl_stop());"
                       "print(*status()); print(len(os.listdir('/proc/self/task')))", tmp_path,
                       SYNCLINE_ENABLED="0")
    assert lines[:2] == ["1 1234", f"{ENODEV} {ENODEV}"], "success, errno kept"
    assert lines[2].startswith("0 0 ") and "SYNCLINE_ENABLED" in lines[2]
    assert lines[3] == "1"
    assert said == "" and not any(tmp_path.iterdir())


def has_driver() -> bool:
    return subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"],
                          capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(has_driver(), reason="an NVIDIA driver is on the loader's path")
def test_without_a_driver_it_succeeds_says_why_once_and_is_passive(library, tmp_path):
    lines, said = play(library, "print(*inject()); print(*inject());"
                       "print(library.sl_start(), library.sl_stop()); print(*status())", tmp_path)
    assert lines[:2] == ["1 1234", "1 1234"], "success both times, errno kept"
    assert lines[2] == f"{ENODEV} {ENODEV}"
    answer, state, reason = lines[3].split(" ", 2)
    assert (answer, state) == ("0", "0") and "libcuda.so.1" in reason
    assert said.startswith("syncline: ") and reason in said and said.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_a_status_that_is_too_small_is_refused(library, tmp_path):
    lines, _ = play(library, "inject(); s = Status(size=8);"
                    "print(library.sl_status(ctypes.byref(s)), library.sl_status(None))", tmp_path,
                    SYNCLINE_ENABLED="0")
    assert lines == [f"{EINVAL} {EINVAL}"]
