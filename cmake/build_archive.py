#!/usr/bin/env python3
"""Compiles sources into a static archive, once for all builds that share the folder. Used by CMake at
build time: build_archive.py ARCHIVE AR COMPILER [FLAG...] -- SOURCE...

The archive's name contains a hash of everything that affects its content (cmake/Deps.cmake), so an
existing archive of that name is not built again. If several builds need the same archive at the
same time, one builds it and the others wait."""
import fcntl
import pathlib
import subprocess
import sys
import tempfile


def main() -> None:
    archive, ar = pathlib.Path(sys.argv[1]), sys.argv[2]
    split = sys.argv.index("--")
    command, sources = sys.argv[3:split], sys.argv[split + 1:]
    archive.parent.mkdir(parents=True, exist_ok=True)
    with open(archive.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists():
            return
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            objects = []
            for source in sources:
                objects.append(f"{folder}/{pathlib.Path(source).stem}.o")
                if subprocess.run([*command, "-c", source, "-o", objects[-1]], check=False).returncode:
                    sys.exit(f"build_archive: could not compile {source}")
            part = pathlib.Path(folder, archive.name)
            if subprocess.run([ar, "rcs", part, *objects], check=False).returncode:
                sys.exit(f"build_archive: could not make {archive}")
            part.rename(archive)


if __name__ == "__main__":
    main()
