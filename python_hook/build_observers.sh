#!/usr/bin/env bash
# Builds the observers of PyTorch's operators (torch_ops.cpp), one for each minor version:
#
#   build_observers.sh [--out DIR] [VERSION | WHEEL | PYTHON | TORCH-FOLDER]...
#
#   VERSION       for example 2.11: uses the headers of the newest wheel of that version.
#                 `pip download` gets the wheel, which is large and is deleted; its headers stay in
#                 build/torch-headers
#   WHEEL         torch-2.11.0-*.whl: uses its headers, which are not kept
#   PYTHON        an interpreter (a path, or a name in PATH) whose environment has PyTorch: uses the
#                 headers of that PyTorch. If that PyTorch is not a release, the observer is built
#                 only for its full version
#   TORCH-FOLDER  site-packages/torch
#
# Without arguments, builds all versions from 2.4 to 2.15 that pip finds. The observers are written
# to DIR. The default is build/observers, from where `cmake --install` installs them. Needs a C++
# compiler (CXX), which also gets the options in CXXFLAGS. No PyTorch is linked, because an observer
# uses the PyTorch that is loaded in the process.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$repo/build/observers
cxx=${CXX:-g++}
all=(2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11 2.12 2.13 2.14 2.15)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { echo "build_observers.sh: $*" >&2; }

# An observer is linked with this empty libtorch_cpu.so. At run time the loader uses the
# libtorch_cpu.so that PyTorch has loaded.
make_stub() {
    echo | "${CC:-cc}" -shared -x c - -Wl,-soname,libtorch_cpu.so -o "$scratch/libtorch_cpu.so"
}

# Prints the version of the package in folder $1.
version_of() {
    sed -n "s/^__version__ = '\(.*\)'.*/\1/p" "$1/version.py"
}

# Prints whether this PyTorch was built with the std::string ABI from before C++11.
is_old_abi() {
    grep -qs '_GLIBCXX_USE_CXX11_ABI=0' "$1/share/cmake/Torch/TorchConfig.cmake"
}

build() {
    local torch=$1 version minor name abi=1 suffix="" standard=c++17
    version=$(version_of "$torch")
    [[ $version =~ ^([0-9]+)\.([0-9]+)\. ]] || { say "$torch: no version.py with a version"; return 1; }
    minor=${BASH_REMATCH[1]}.${BASH_REMATCH[2]}
    # A PyTorch that is not a release may have headers that differ from every release. So the name
    # of the observer has the full version of that PyTorch.
    name=$minor
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(\+.*)?$ ]] || name=$version
    if is_old_abi "$torch"; then
        abi=0
        suffix=-old-abi
    fi
    if [[ ${minor#2.} -ge 12 ]]; then
        standard=c++20
    fi
    mkdir -p "$out"
    # shellcheck disable=SC2086 # a list of options
    "$cxx" -std=$standard -O2 -g0 -fPIC -shared -fvisibility=hidden -Wall -Wextra \
        ${CXXFLAGS:-} -DNDEBUG -D_GLIBCXX_USE_CXX11_ABI=$abi -DUSE_DISTRIBUTED \
        "-DBUILT_FOR=\"$name\"" \
        -isystem "$torch/include" -I "$repo/runtime" "$repo/python_hook/torch_ops.cpp" \
        -Wl,--no-as-needed -L "$scratch" -ltorch_cpu -Wl,--as-needed \
        -o "$scratch/observer.so" || return 1
    mv "$scratch/observer.so" "$out/torch-$name$suffix.so"
    say "PyTorch $version: $out/torch-$name$suffix.so"
}

# Unpacks the headers of wheel $1 into folder $2.
unpack() {
    python3 - "$1" "$2" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wanted = ("torch/include/", "torch/version.py", "torch/share/cmake/Torch/TorchConfig.cmake")
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.startswith(wanted)])
PYTHON
}

# Downloads the headers of version $1 to build/torch-headers/$1.
fetch() {
    local headers=$repo/build/torch-headers/$1 wheel
    if [[ ! -f $headers/.complete ]]; then
        rm -rf "$headers"
        mkdir -p "$headers" "$scratch/wheel"
        # The headers do not depend on the Python version, so the first version for which pip finds
        # a wheel is used.
        for python in 3.11 3.9 3.12 3.13; do
            python3 -m pip download --quiet --no-cache-dir --no-deps --only-binary :all: \
                --python-version $python --implementation cp --dest "$scratch/wheel" "torch==$1.*" >&2 2>/dev/null && break
        done
        wheel=$(find "$scratch/wheel" -name 'torch-*.whl' | head -n 1)
        [[ $wheel ]] || return 1
        unpack "$wheel" "$headers"
        rm -rf "$scratch/wheel"
        touch "$headers/.complete"
    fi
    echo "$headers/torch"
}

folder_of() {
    if [[ -f $1/version.py ]]; then
        echo "$1"
    elif [[ $1 =~ ^[0-9]+\.[0-9]+$ ]]; then
        fetch "$1"
    elif [[ $1 == *.whl ]]; then
        rm -rf "$scratch/headers"
        unpack "$1" "$scratch/headers" && echo "$scratch/headers/torch"
    elif command -v -- "$1" >/dev/null; then
        # Finds PyTorch's folder without importing PyTorch, because the import may need a driver.
        "$1" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])'
    else
        return 1
    fi
}

wanted=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --out) out=$(realpath -m "$2"); shift ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
[[ ${#wanted[@]} -gt 0 ]] || wanted=("${all[@]}")

make_stub
failed=0
for one in "${wanted[@]}"; do
    if ! folder=$(folder_of "$one"); then
        say "$one: no PyTorch headers found; name a version, a wheel, a folder or a Python"
        failed=1
    elif ! build "$folder"; then
        say "$one: not built"
        failed=1
    fi
done
exit $failed
