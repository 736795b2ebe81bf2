"""Fetches pinned packages from PyPI into a folder, checks their hashes and unpacks what the build
needs. CMake runs this script at configure time. To run it without CMake:
python3 cmake/fetch_deps.py build/deps zstd zlib

Each package is unpacked once. A stamp file with the package's hash shows a later run that the
package is there. Builds that use the same folder wait for each other."""
import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import typing
import zipfile


class Package(typing.NamedTuple):
    requirement: str  # the requirement that pip gets
    source: bool  # True for a source package, False for a wheel
    prefix: str  # the folder in the package; only files below it are unpacked
    sha256: tuple[str, ...]  # allowed hashes, one for each platform


PACKAGES = {
    # zstd 1.5.7 as one C file, because libzstd.a of Debian and Ubuntu is not position independent.
    "zstd": Package(
        "zstandard==0.25.0", True, "zstandard-0.25.0/zstd/",
        ("7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b",)),
    # zlib 1.3.1 with only deflate and inflate (without gzopen). A distribution's libz.a is not
    # position independent.
    "zlib": Package(
        "rapidgzip==0.14.5", True, "rapidgzip-0.14.5/external/zlib/",
        ("faed46013a1a62a5193c49615a896683ea5c14ed4744bcb4bd1869b1420551d8",)),
    # simdjson 3.12.3 as one C++ file, because distributions have older versions (1.0 to 3.6), as a
    # shared library.
    "simdjson": Package(
        "pysimdjson==7.0.2", True, "pysimdjson-7.0.2/simdjson/",
        ("44cf276e48912a3b9c7ca362c14da8420a7ac15a9f1a16ec95becff86db3904a",)),
    # SQLite 3.50.4 as one C file, to read exports of nsys. With a distribution's shared library, a
    # copied `syncline` would run only where that library is installed.
    "sqlite": Package(
        "sqlean.py==3.50.4.5", True, "sqlean_py-3.50.4.5/sqlite/",
        ("9764b565e7ab430ab6e9e43cb2816199c2b39926dffc93c212a52f0019278459",)),
    # uPlot 1.6.16 for the page of a report.
    "uplot": Package(
        "uplot-python==1.1.1", False, "uplot/static/",
        ("07c96cc34ff9107c3751fc31dfad48ccd6e86c6deebb8b41d7ec7d9811722208",)),
    # Headers of CUDA 13.0 for machines without a CUDA toolkit. The first hash is for x86_64, the
    # second for aarch64.
    "cuda-cupti": Package(
        "nvidia-cuda-cupti==13.0.85", False, "nvidia/cu13/include/",
        ("4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
         "796bd679890ee55fb14a94629b698b6db54bcfd833d391d5e94017dd9d7d3151")),
    "cuda-runtime": Package(
        "nvidia-cuda-runtime==13.0.96", False, "nvidia/cu13/include/",
        ("7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
         "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55")),
    "nvtx": Package(
        "nvidia-nvtx==13.0.85", False, "nvidia/cu13/include/",
        ("4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4",
         "cb7780edb6b14107373c835bf8b72e7a178bac7367e23da7acb108f973f157a6")),
    "cuda-crt": Package(
        "nvidia-cuda-crt==13.0.88", False, "nvidia/cu13/include/",
        ("2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
         "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003")),
}


def pip(dest: pathlib.Path) -> list[str]:
    """Returns the command that runs pip. If this Python has no pip, as in some distributions, a
    virtual environment with pip is created."""
    try:
        subprocess.run([sys.executable, "-m", "pip", "--version"], check=True, capture_output=True)
        return [sys.executable, "-m", "pip"]
    except subprocess.CalledProcessError:
        python = dest / ".pip" / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(dest / ".pip")], check=True)
        return [str(python), "-m", "pip"]


def members(package: pathlib.Path, prefix: str) -> typing.Iterator[tuple[str, bytes]]:
    """Yields the path and the content of each file below `prefix`. The paths are relative to
    `prefix`."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as z:
            for name in z.namelist():
                if name.startswith(prefix) and not name.endswith("/"):
                    yield name[len(prefix):], z.read(name)
    else:
        with tarfile.open(package) as t:
            for m in t.getmembers():
                if m.isfile() and m.name.startswith(prefix):
                    yield m.name[len(prefix):], t.extractfile(m).read()


def download(package: Package, dest: pathlib.Path, tmp: str) -> pathlib.Path:
    """Downloads the package and returns its file. Tries three times, because a connection may
    fail."""
    command = [*pip(dest), "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    # pip first builds the metadata of a source package, and may need other packages for this.
    # Wheels of those packages are allowed.
    name = package.requirement.partition("==")[0]
    command += ["--no-binary" if package.source else "--only-binary", name, "-d", tmp]
    for attempt in range(3):
        result = subprocess.run([*command, package.requirement], check=False)
        if result.returncode == 0:
            (file,) = pathlib.Path(tmp).iterdir()
            return file
        time.sleep(2 * attempt)
    sys.exit(f"fetch_deps: pip could not download {package.requirement} (network?)")


def fetch(name: str, dest: pathlib.Path) -> None:
    """Puts the files of package `name` into the folder dest/name."""
    package = PACKAGES[name]
    out = dest / name
    stamp = out / ".sha256"
    if stamp.exists() and stamp.read_text() in package.sha256:
        return
    print(f"fetch_deps: {package.requirement} from PyPI", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as tmp:
        file = download(package, dest, tmp)
        got = hashlib.sha256(file.read_bytes()).hexdigest()
        if got not in package.sha256:
            sys.exit(f"fetch_deps: {file.name}: sha256 is {got}, expected "
                     f"{' or '.join(package.sha256)}: not used")
        part = dest / (name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        for member, data in members(file, package.prefix):
            target = part / member
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        (part / ".sha256").write_text(got)
        shutil.rmtree(out, ignore_errors=True)
        part.rename(out)


def main() -> None:
    names = sys.argv[2:]
    if not names or not set(names) <= set(PACKAGES):
        sys.exit(f"usage: fetch_deps.py DEST {' | '.join(PACKAGES)} ...")
    dest = pathlib.Path(sys.argv[1])
    dest.mkdir(parents=True, exist_ok=True)
    with open(dest / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in names:
            fetch(name, dest)


if __name__ == "__main__":
    main()
