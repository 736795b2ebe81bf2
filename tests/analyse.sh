#!/usr/bin/env bash
# Static analysis as a gate: clang-tidy (checks in .clang-tidy) on what ships: the library, the tool.
#   tests/analyse.sh [FOLDER_OF_CLANG_TIDY]      default: that of tests/venv.sh lint
# Needs the compile commands of build/release.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

bin=${1:-}
if [[ -z $bin ]]; then
    python=$(tests/venv.sh lint) || exit 1
    bin=${python%/*}
fi
if [[ ! -f build/release/compile_commands.json ]]; then
    echo "tests/analyse.sh: no build/release/compile_commands.json: cmake --preset release" >&2
    exit 1
fi
git ls-files 'runtime/*.c' 'tools/*.c' 'tools/*.cpp' |
    xargs -P "$(nproc)" -n 4 "$bin/clang-tidy" -p build/release --quiet
