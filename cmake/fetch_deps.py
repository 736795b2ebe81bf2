#!/usr/bin/env python3
"""Fetches pinned source packages from PyPI into a folder, checks their hashes and unpacks what the
build needs. Used by CMake at configure time; by hand: cmake/fetch_deps.py zstd build/deps

Each package is unpacked once: a stamp with its hash makes a second run return at once."""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# name -> (PyPI requirement, sha256 of the file, prefix inside it, folder under DEST, kind)
PACKAGES = {
    # zstd 1.5.7 as one C file: Debian's and Ubuntu's libzstd.a cannot be linked into a shared library.
    "zstd": ("zstandard==0.25.0",
             "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b",
             "zstandard-0.25.0/zstd/", "zstd", "sdist"),
}


def fetch(name: str, dest: pathlib.Path) -> pathlib.Path:
    """Returns the folder that holds the unpacked package `name` under `dest`."""
    requirement, digest, prefix, folder, kind = PACKAGES[name]
    out = dest / folder
    stamp = out / ".sha256"
    if stamp.exists() and stamp.read_text() == digest:
        return out
    with tempfile.TemporaryDirectory() as tmp:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--disable-pip-version-check", "-d", tmp]
        command += ["--no-binary", ":all:"] if kind == "sdist" else ["--only-binary", ":all:"]
        subprocess.run([*command, requirement], check=True)
        (package,) = pathlib.Path(tmp).iterdir()
        got = hashlib.sha256(package.read_bytes()).hexdigest()
        if got != digest:
            sys.exit(f"fetch_deps: {package.name}: sha256 is {got}, expected {digest}: not used")
        part = out.with_name(out.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if package.suffix == ".whl":
            with zipfile.ZipFile(package) as z:
                members = [(m, z.read(m)) for m in z.namelist() if m.startswith(prefix) and not m.endswith("/")]
        else:
            with tarfile.open(package) as t:
                members = [(m.name, t.extractfile(m).read()) for m in t.getmembers()
                           if m.isfile() and m.name.startswith(prefix)]
        for member, data in members:
            target = part / member[len(prefix):]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        (part / ".sha256").write_text(digest)
        shutil.rmtree(out, ignore_errors=True)
        part.rename(out)
    return out


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in PACKAGES:
        sys.exit(f"usage: fetch_deps.py {'|'.join(PACKAGES)} DEST")
    print(fetch(sys.argv[1], pathlib.Path(sys.argv[2])))
