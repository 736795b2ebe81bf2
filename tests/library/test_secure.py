"""A set-user-id program loads the library. The user who starts the program cannot influence the library."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

NOBODY = 65534
ENODEV = -19
SAID = "syncline: a set-user-id or set-group-id program is never recorded, and its " \
    "SYNCLINE_* variables are ignored"


@pytest.fixture
def open_folder():
    """Yields a folder that any user may enter, on a file system that permits set-user-id programs."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sl-set-user-id-", dir="/tmp"))
    folder.chmod(0o755)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        shutil.rmtree(folder)
        pytest.skip("the folder for temporary files is on a file system mounted nosuid")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def program(repo, open_folder):
    path = open_folder / "program"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", path,
                    repo / "tests" / "library" / "set_user_id.c", "-ldl"], check=True)
    return path


def play(program, library, folder):
    """Runs the program as the user nobody, with variables whose effect would be visible. Returns the
    program's output, syncline's messages, and the files."""
    copy = folder / "libsyncline.so"
    shutil.copy(library, copy)  # the user nobody may not be able to enter the build's folder
    copy.chmod(0o755)
    out = folder / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    done = subprocess.run(
        [program, copy], cwd=out, capture_output=True, text=True, check=True, user=NOBODY,
        group=NOBODY, extra_groups=[],
        env={"PATH": "/usr/bin:/bin", "SYNCLINE_OUTPUT": str(out), "SYNCLINE_WINDOW": "steps:3",
             "SYNCLINE_LOG": "debug", "SYNCLINE_NO_SUCH": "1",
             "SYNCLINE_DUMP_CUPTI": str(out / "dump"), "SYNCLINE_HOME": str(out)})
    return done.stdout.splitlines(), done.stderr.splitlines(), list(out.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a program another user's")
@pytest.mark.parametrize("bit", [0o4755, 0o2755], ids=["set-user-id", "set-group-id"])
def test_a_set_user_id_program_is_left_alone(program, library, open_folder, bit):
    program.chmod(bit)
    lines, said, files = play(program, library, open_folder)
    assert lines == ["secure 1", f"nvtx 0 asked 0 inject 1 start {ENODEV}",
                     "threads 1 descriptors 0 environment untouched"]
    assert len(said) == 1 and said[0].startswith(SAID)
    assert files == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run a program as another user")
def test_the_same_program_without_the_bit_is_not(program, library, open_folder):
    lines, said, _ = play(program, library, open_folder)
    assert lines[0] == "secure 0"
    assert any("SYNCLINE_WINDOW=steps:3 is not valid" in line for line in said)
