#!/usr/bin/env bash
# Measures the cost of reading the calling thread's Python line (runtime/collect/python/frames), in
# each Python on the PATH or in pyenv.
#   bench/python_lines_bench.sh [--json FILE]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /s/^# \{0,1\}//p' bench/python_lines_bench.sh
    exit 0
fi
probe=$PWD/build/release/tests/e2e/python_probe.so
if [[ ! -e $probe ]]; then
    echo "bench/python_lines_bench.sh: no $probe: cmake --build --preset release" >&2
    exit 2
fi
declare -A seen
printf '%-44s %14s  %-10s %12s  %-4s\n' python_lines value unit goal met
for python in "$HOME"/.pyenv/versions/3.*/bin/python3 $(type -aP python3); do
    version=$("$python" -c 'import ctypes, sys
if sys.version_info >= (3, 9): print(sys.version.split()[0])' 2>/dev/null)
    [[ -n $version && -z ${seen[$version]:-} ]] || continue
    seen[$version]=1
    "$python" bench/python_lines.py "$probe" "${@:1:2}" || exit 1
done
