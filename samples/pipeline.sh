#!/usr/bin/env bash
# Records a pipeline-parallel job of four processes, draws its schedule, and prints the measured
# bubble beside the one that theory expects. Needs a build (samples/demo.sh makes one).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
gpu=auto
schedule=1f1b
out=

usage() {
    cat <<END
usage: samples/pipeline.sh [options]
  --schedule NAME  1f1b, interleaved or zb-h1 (1f1b)
  --real           on the real GPUs, or not at all
  --simulated      on the simulated GPU even where there is a real one
  --build DIR      the build (build/release)
  --out DIR        where traces and pictures go (a new folder below build/demo)
END
}

fail() {
    echo "pipeline.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --schedule | --build | --out)
            [ $# -gt 1 ] || fail "$1 needs a value (see --help)"
            case $1 in
                --schedule) schedule=$2 ;;
                --build) build=$2 ;;
                *) out=$2 ;;
            esac
            shift
            ;;
        --real) gpu=real ;;
        --simulated) gpu=simulated ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
syncline=$build/tools/syncline
[ -x "$syncline" ] && [ -x "$build/samples/pipeline_like" ] ||
    fail "there is no build in $build: run samples/demo.sh first"

run=()
if [ "$gpu" != simulated ] && found=$("$build/samples/probe_gpu"); then
    echo "On the real GPU: $found"
elif [ "$gpu" = real ]; then
    fail "no GPU that CUDA can use: ${found:-no answer}"
else
    run=("$root/tests/simgpu/run" --build "$build")
    echo "On the simulated GPU: the times are made up, in real formats"
fi
if [ -z "$out" ]; then
    mkdir -p "$root/build/demo"
    out=$(mktemp -d "$root/build/demo/pipeline-$(date +%Y%m%d-%H%M%S)-XXXX")
fi
out=$(mkdir -p "$out" && cd "$out" && pwd)

CUDA_INJECTION64_PATH=$build/runtime/libsyncline.so SYNCLINE_OUTPUT=$out \
    "${run[@]}" "$build/samples/pipeline_like" --schedule "$schedule"
echo
"$syncline" pipeline --svg "$out/pipeline.svg" --html "$out/pipeline.html" "$out"
cat <<END

The picture:  $out/pipeline.svg
To zoom:      $out/pipeline.html
Once more:    $(printf '%q ' "$syncline" pipeline "$out")
END
