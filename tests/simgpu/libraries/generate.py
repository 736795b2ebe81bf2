#!/usr/bin/env python3
"""Lists the symbols that PyTorch imports from NVIDIA's libraries, and makes the stubs from this
list.

    generate.py FOLDER... >symbols-cudaNN.txt  the list for torch wheels (FOLDER is a wheel's torch/lib)
    generate.py --stubs LIST SONAME FILE       C source: a weak function for each symbol of a library
    generate.py --missing FOLDER LIBRARIES     the imports of the wheel that the stand-ins lack

Each line of a list is `soname version-node symbol`. The version node is `-` if the library has no
symbol versions."""
import os
import re
import subprocess
import sys

# Prefix -> library, for symbols without a version. For the other symbols, the version node is the
# library's name.
PLAIN = {"nccl": "libnccl.so.2", "cuFile": "libcufile.so.0", "cusparseLt": "libcusparseLt.so.0"}
NAMED_NODES = {"NVSHMEM": "libnvshmem_host.so.3", "nvshmem": "libnvshmem_host.so.3"}
# These libraries have complete stand-ins in other folders and need no stubs.
WRITTEN = ("libcudart.", "libcupti.", "libcuda.")
NVIDIA = re.compile(r"lib(cuda|cudart|cupti|cublas|cublasLt|cudnn|cufft|curand|cusparse|cusparseLt|"
                    r"cusolver|cufile|nccl|nvshmem_host|nvrtc|nvJitLink|nvToolsExt)\.so\.\d+")


def shared_objects(folder):
    for name in sorted(os.listdir(folder)):
        if ".so" in name and os.path.isfile(os.path.join(folder, name)):
            yield os.path.join(folder, name)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(folder):
    """Returns the NVIDIA libraries that the wheel's libraries depend on."""
    found = set()
    for path in shared_objects(folder):
        for soname in re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-dW", path)):
            if NVIDIA.fullmatch(soname):
                found.add(soname)
    return found


def imports(folder):
    """Returns {(soname, node, symbol)} of the wheel's imports, without those from the C library and torch."""
    found = set()
    for path in shared_objects(folder):
        for line in run("nm", "-D", "--undefined-only", path).splitlines():
            kind, symbol = line.split()[-2:]
            symbol, _, node = symbol.partition("@")
            node = node.lstrip("@")
            if node in NAMED_NODES:
                found.add((NAMED_NODES[node], node, symbol))
            elif NVIDIA.fullmatch(node):
                found.add((node, node, symbol))
            elif not node and kind == "U":
                if re.match(r"cu[A-Z]", symbol) and not symbol.startswith("cuFile"):
                    found.add(("libcuda.so.1", "-", symbol))
                for prefix, soname in PLAIN.items():
                    if symbol.startswith(prefix):
                        found.add((soname, "-", symbol))
    return found


def exports(path):
    found = set()
    for line in run("nm", "-D", "--defined-only", path).splitlines():
        symbol, _, node = line.split()[-1].partition("@")
        found.add((symbol, node.lstrip("@") or "-"))
    return found


def write_list(folders):
    rows = sorted(row for row in set().union(*map(imports, folders))
                  if not row[0].startswith(WRITTEN))
    print("# Made by generate.py from torch wheels: soname, version node, symbol.")
    for soname in sorted(set().union(*map(needed, folders)) - {row[0] for row in rows}):
        if not soname.startswith(WRITTEN):
            print(soname, "-", "-")
    for row in rows:
        print(*row)


def write_stubs(path, soname, target):
    with open(path) as file, open(target, "w") as out:
        out.write("/* Made by generate.py: what is asked for, and never usefully called. */\n"
                  "int sim_library_absent(const char *name);\n")
        for line in file:
            row = line.split()
            if row[0] == soname and row[2] != "-":
                out.write(f'__attribute__((weak)) int {row[2]}(void) '
                          f'{{ return sim_library_absent("{row[2]}"); }}\n')


def print_missing(folder, places):
    libraries = {}
    for place in places.split(":"):
        for path in shared_objects(place):
            libraries.setdefault(os.path.basename(path), path)
    for soname in sorted(needed(folder) - set(libraries)):
        print(soname)
    have = {soname: exports(path) for soname, path in libraries.items()}
    for soname, node, symbol in sorted(imports(folder)):
        if (symbol, node) not in have.get(soname, set()):
            print(soname, node, symbol)


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "--stubs":
        write_stubs(*arguments[1:])
    elif len(arguments) == 3 and arguments[0] == "--missing":
        print_missing(*arguments[1:])
    elif arguments and all(map(os.path.isdir, arguments)):
        write_list(arguments)
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
