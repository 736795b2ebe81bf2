#!/usr/bin/env bash
# Makes the pinned Python environment NAME (default: test) under build/venv and prints its
# interpreter's path, and nothing else, on stdout. tests/python/NAME.txt pins every package by
# version and hash; this command makes NAME.txt from NAME.in:
#   uv pip compile --universal --python-version 3.10 --generate-hashes --no-header \
#       -o tests/python/NAME.txt tests/python/NAME.in
# (For torch-* add --no-deps --no-annotate, because their .in lists all packages; for torch-2.15 use
# --python-version 3.11, because it has no wheel for older versions.) Only the packages in NAME.txt
# are installed. If the environment exists and is complete, it is used unchanged.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /s/^# \{0,1\}//p' "tests/venv.sh"
    exit 0
fi
name=${1:-test}
requirements=tests/python/$name.txt
if [[ ! -f $requirements || $name == nccl ]]; then # tests/nccl.sh reads nccl.txt
    known=$(cd tests/python && ls -- *.txt | grep -vx nccl.txt | xargs)
    echo "tests/venv.sh: no environment '$name'; there are: ${known//.txt/}" >&2
    exit 2
fi

venv=$PWD/build/venv/$name
stamp=$venv/.complete
mkdir -p build/venv
# If two runs start at once, the second run waits and uses the environment that the first run made.
exec 9>"build/venv/.$name.lock"
flock 9
if ! cmp -s "$requirements" "$stamp" || ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "tests/venv.sh: making $venv (once; ${name} needs $(grep -c == "$requirements") packages)" >&2
    rm -rf "$venv"
    if ! python3 -m venv "$venv" >&2; then
        echo "tests/venv.sh: python3 -m venv failed: install python3-venv" >&2
        exit 1
    fi
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --no-deps --only-binary :all: -r "$requirements" >&2; then
        echo "tests/venv.sh: could not install $requirements: this needs PyPI once" \
            "(network, or PIP_INDEX_URL of a mirror)" >&2
        exit 1
    fi
    cp "$requirements" "$stamp"
fi
echo "$venv/bin/python"
