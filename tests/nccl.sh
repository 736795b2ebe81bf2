#!/usr/bin/env bash
# Puts the libnccl.so.2 of NCCL's VERSION (such as 2.28.9) under build/nccl and prints its path, and
# nothing else, on stdout. tests/python/nccl.txt pins the wheels of the versions by their hashes.
# They take 200 to 320 MB each, and 220 to 430 MB unpacked.
#
# All libraries are for x86-64. If the library is there already, it is used unchanged.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ $# != 1 || $1 == -h || $1 == --help ]]; then
    sed -n '2,/^set /s/^# \{0,1\}//p' tests/nccl.sh
    exit $(($# != 1))
fi
pinned=$(grep -A1 "==$1 " tests/python/nccl.txt) || {
    echo "tests/nccl.sh: no NCCL $1; there are:" $(grep -o '==[0-9.]*' tests/python/nccl.txt | tr -d =) >&2
    exit 2
}
library=$PWD/build/nccl/$1/libnccl.so.2
mkdir -p "${library%/*}"
# If two runs start at once, the second run waits and uses the library that the first run fetched.
exec 9>"build/nccl/.$1.lock"
flock 9
if [[ ! -e $library ]]; then
    python=$(tests/venv.sh test)
    wheels=$(mktemp -d "build/nccl/.$1.XXXXXX")
    trap 'rm -rf "$wheels"' EXIT
    if ! "$python" -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 20 \
        --require-hashes --no-deps --only-binary :all: --dest "$wheels" -r <(echo "$pinned") >&2; then
        echo "tests/nccl.sh: could not download NCCL $1: this needs PyPI once" \
            "(network, or PIP_INDEX_URL of a mirror)" >&2
        exit 1
    fi
    "$python" -m zipfile -e "$wheels"/*.whl "$wheels"
    mv "$wheels/nvidia/nccl/lib/libnccl.so.2" "$library"
fi
echo "$library"
