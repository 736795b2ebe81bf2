"""Tests libsyncline.so as a shared library: its exports, its dependencies, and the code that runs at load
time. Also tests the library beside a process's own copies of its dependencies."""
import pathlib
import re
import shutil
import subprocess

import pytest

# Libraries that every program uses. syncline may depend on no other library.
LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}


def run(*command) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def defined_symbols(library: pathlib.Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", "--format=posix", library).splitlines()
    # nm lists the name of the symbol version as an absolute symbol.
    return {line.split("@")[0].split()[0] for line in lines if line.split()[1] != "A"}


def test_exports_are_those_of_the_version_script(library, repo):
    script = (repo / "runtime" / "syncline.map").read_text()
    listed = re.search(r"global:(.*?)local:", script, re.S).group(1)
    assert defined_symbols(library) == set(re.findall(r"[A-Za-z_]\w*", listed))


def test_exports_carry_the_version_node(library):
    assert "sl_start@@SYNCLINE_0" in run("nm", "-D", "--with-symbol-versions", library)


def test_needs_libc_alone(library):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-d", library)))
    loader = {name for name in needed if name.startswith("ld-linux")}
    assert needed - loader <= LIBC


def test_soname_and_never_unloaded(library):
    dynamic = run("readelf", "-d", library)
    assert re.search(r"\(SONAME\).*\[libsyncline\.so\.0\]", dynamic)
    assert re.search(r"\(FLAGS_1\).*NODELETE", dynamic)
    assert "TEXTREL" not in dynamic


def test_no_constructor_of_ours(library):
    """Only gcc's own frame_dummy runs when the library is loaded."""
    size = re.search(r"\.init_array\s+\w+\s+\w+\s+\w+\s+(\w+)", run("readelf", "-SW", library))
    assert size is None or int(size.group(1), 16) == 8, ".init_array holds more than crt's entry"
    assert ".ctors" not in run("readelf", "-SW", library)


def test_no_executable_stack_and_read_only_relocations(library):
    headers = run("readelf", "-lW", library)
    assert re.search(r"GNU_STACK.*\bRW\b", headers)
    assert "GNU_RELRO" in headers


@pytest.mark.parametrize("order", ["first", "last"])
def test_beside_the_processs_own_libraries(library, repo, tmp_path, order):
    program = tmp_path / "neighbours"
    run("cc", "-D_GNU_SOURCE", "-o", program, repo / "tests" / "library" / "neighbours.c", "-ldl")
    result = subprocess.run([program, library, order], capture_output=True, text=True, check=False)
    if result.returncode == 77:
        pytest.skip(f"no libzstd or libz here: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert lines["zstd"] == "works" and lines["zlib"] == "works"
    assert "libzstd" in lines["ZSTD_compress"] and "libz" in lines["deflate"]
    assert "libsyncline" not in result.stdout
    assert result.stderr == ""


def test_loading_does_nothing_visible(library, tmp_path):
    """A process loads the library and does not use CUDA. There is no thread, no file and no message."""
    code = ("import ctypes, os, sys; ctypes.CDLL(sys.argv[1]);"
            "print(len(os.listdir('/proc/self/task')), os.listdir('.'))")
    result = subprocess.run(["/usr/bin/env", "python3", "-c", code, library], capture_output=True,
                            text=True, cwd=tmp_path, check=True)
    assert (result.stdout.strip(), result.stderr) == ("1 []", "")


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory) -> pathlib.Path:
    """Returns an installed tree that was moved after the installation, because packages may be relocated."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", build, "--prefix", folder / "before")
    (folder / "before").rename(folder / "after")
    return folder / "after"


def says_how_it_finds_the_library(program, library, prefix):
    assert str(library).startswith(str(prefix)), library
    lines = run("env", "SYNCLINE_ENABLED=0", program, library).splitlines()
    assert lines == ["before -11", "inject 1", "state 0"], "found by its soname; -EAGAIN before"
    assert run(program).splitlines() == ["before -11"]


def test_a_cmake_project_finds_the_package(prefix, repo, tmp_path):
    run("cmake", "-G", "Ninja", "-S", repo / "tests" / "library" / "consumer", "-B", tmp_path,
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    library = pathlib.Path((tmp_path / "library.txt").read_text())
    says_how_it_finds_the_library(tmp_path / "consumer", library.resolve(), prefix)


def test_pkg_config_finds_the_package(prefix, repo, tmp_path):
    (folder,) = [p.parent for p in prefix.rglob("syncline.pc")]
    config = ["env", f"PKG_CONFIG_PATH={folder}", "pkg-config"]
    flags = run(*config, "--cflags", "--libs", "syncline").split()
    program = tmp_path / "consumer"
    run("cc", "-o", program, repo / "tests" / "library" / "consumer" / "consumer.c", *flags)
    injection = pathlib.Path(run(*config, "--variable=injection", "syncline").strip())
    says_how_it_finds_the_library(program, injection.resolve(), prefix)


def test_the_header_is_c99_and_cplusplus(repo, tmp_path):
    source = tmp_path / "use.c"
    source.write_text('#include <syncline/syncline.h>\nint main(void) { return sl_stop() == 0; }\n')
    flags = ["-I", repo / "include", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ldl"]
    run("cc", "-std=c99", "-o", tmp_path / "c", source, *flags)
    shutil.copy(source, tmp_path / "use.cpp")
    run("c++", "-std=c++11", "-o", tmp_path / "cpp", tmp_path / "use.cpp", *flags)
    for program in ("c", "cpp"):
        assert subprocess.run([tmp_path / program], check=False).returncode == 0


LOOKS = """
#define _GNU_SOURCE
#include <syncline/syncline.h>
#include <stdio.h>

static int looks;

void *dlopen(const char *name, int mode)
{
    void *(*theirs)(const char *, int);

    *(void **)&theirs = dlsym(RTLD_NEXT, "dlopen");
    looks++;
    return theirs(name, mode);
}

int main(int argc, char **argv)
{
    int rc = 0;

    for (int i = 0; i < 1000; i++)
        rc |= sl_step() | sl_mark("m");
    printf("%d %d\\n", rc, looks);
    looks = 0;
    dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    rc = sl_status(NULL);
    for (int i = 0; i < 1000; i++)
        sl_step();
    printf("%d %d\\n", rc != 0, looks);
    return argc != 2;
}
"""


def test_the_header_looks_for_the_library_once(library, repo, tmp_path):
    """The public header searches for the library once, and again only after a library was loaded."""
    source = tmp_path / "looks.c"
    source.write_text(LOOKS)
    run("cc", "-o", tmp_path / "looks", source, "-I", repo / "include", "-ldl")
    assert run(tmp_path / "looks", library) == "-11 1\n1 2\n"
