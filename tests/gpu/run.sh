#!/usr/bin/env bash
# Builds syncline and checks it end to end on a real GPU; with --simulated, on the simulated one.
# Needs no network, no root rights and no Python package. If a check is not possible on this
# machine, it is skipped and reported.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${OUT:-$root/build/gpu-results}
build=$root/build/gpu
deps=${SYNCLINE_DEPS:-$root/build/deps}
prebuilt=
simulated=()
pass_on=()

usage() {
    cat <<END
usage: tests/gpu/run.sh [options]
  --simulated      rehearse on the simulated GPU
  --out DIR        where results go (\$OUT, else build/gpu-results); older ones there are kept
  --build DIR      where to build (build/gpu)
  --deps DIR       fetched sources, carried along where there is no network (build/deps)
  --prebuilt DIR   use this build folder if building here fails
  --only GROUP     samples, library, dumps, torch, nccl, measure or random; may be
                   repeated
  --budget SECONDS time for all checks (420); what is left then is skipped
END
}

while [ $# -gt 0 ]; do
    case $1 in
        --simulated) simulated=(--simulated) ;;
        --out) out=$2; shift ;;
        --build) build=$2; shift ;;
        --deps) deps=$2; shift ;;
        --prebuilt) prebuilt=$2; shift ;;
        --only | --budget) pass_on+=("$1" "$2"); shift ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done

mkdir -p "$out"
if [ -e "$out/results.md" ] || [ -e "$out/traces" ]; then
    out=$out/$(date +%Y%m%d-%H%M%S)
    mkdir "$out"
fi

# The simulated GPU is built only together with the tests, which need cmocka. So the tests are built
# only if they are needed.
tests=OFF
[ ${#simulated[@]} -gt 0 ] && tests=ON

build_here() {
    local generator=()
    command -v ninja >/dev/null && generator=(-G Ninja)
    cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSYNCLINE_DEPS="$deps" -DSYNCLINE_TESTS=$tests -DSYNCLINE_BENCH=OFF &&
        cmake --build "$build" -j "$(nproc)"
}

echo "Building in $build (log: $out/build.log)"
if ! build_here >"$out/build.log" 2>&1; then
    tail -n 15 "$out/build.log" >&2
    if [ -z "$prebuilt" ]; then
        echo "run.sh: the build failed. Without a network, carry build/deps (--deps) or a whole" \
            "build folder (--prebuilt)." >&2
        exit 1
    fi
    echo "run.sh: the build failed; using $prebuilt" >&2
    build=$prebuilt
fi

# The checks of PyTorch expect what its observer records.
if [ ${#simulated[@]} -eq 0 ] && python3 -c 'import torch' 2>/dev/null; then
    echo "Building the observer of PyTorch's operators"
    "$root/python_hook/build_observers.sh" python3 >>"$out/build.log" 2>&1 ||
        echo "run.sh: no observer (see $out/build.log): operators come through NVTX" >&2
fi

exec python3 "$root/tests/gpu/checks.py" --build "$build" --out "$out" "${simulated[@]}" \
    "${pass_on[@]}"
