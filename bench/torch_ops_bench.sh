#!/usr/bin/env bash
# What recording an operator of PyTorch's costs the thread that runs it, beside torch.profiler in the
# same process: a small operator bare, with the observer, and under torch.profiler without and with
# shapes, in turns; the least of each counts. So for a call with operators inside it, and one with a
# list of tensors. One process with lean detail, one with full, one without
# an observer, where operators come by PyTorch's own ranges of NVTX's. Besides, what a range and a
# step of the user's cost.
#   torch_ops_bench.sh [--turns N] [--json FILE]        needs PyTorch (tests/venv.sh torch-2.11)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
json='' turns=5
while (($#)); do
    case $1 in
    --json) json=$(realpath -m "${2:?--json needs a file}") ;;
    --turns) turns=${2:?--turns needs a number} ;;
    *)
        echo "torch_ops_bench.sh: unknown option '$1'" >&2
        exit 2
        ;;
    esac
    shift 2
done
build=${SL_BENCH_BUILD:-build/release}
python=$(tests/venv.sh torch-2.11)
# One of an older source would be refused, and NVTX's texts be measured in its stead.
for source in python_hook/{torch_ops.cpp,torch_caller.hpp,build_observers.sh} runtime/collect/torch_ops_abi.h; do
    [[ build/observers/torch-2.11.so -nt $source ]] && continue
    python_hook/build_observers.sh "$python"
    break
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
library=$(realpath "$build/runtime/libsyncline.so")

run() { # FILE [VARIABLE=VALUE]...
    local file=$1
    shift
    env "$@" OMP_NUM_THREADS=1 SYNCLINE_OUTPUT="$out/out" SYNCLINE_LOG=off SYNCLINE_LEAD_IN=0 \
        tests/simgpu/run --cupti 13.0 --build "$build" "$python" bench/torch_ops.py "$turns" 2>/dev/null |
        tail -n 1 >"$out/$file"
}

run lean CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=lean
run full CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=full
mkdir "$out/home"
ln -s "$(dirname "$library")/syncline/python" "$out/home/python"
run strings CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=full SYNCLINE_HOME="$out/home"

ns() { # FILE MODE
    "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$out/$1" "$2"
}
more() { # FILE MODE [CALL]
    awk -v a="$(ns "$1" "bare${3:+ $3}")" -v b="$(ns "$1" "$2${3:+ $3}")" 'BEGIN { printf "%.0f", b - a }'
}
of_shapes() { # [CALL]
    awk -v a="$(more full syncline "$@")" -v b="$(more full shapes "$@")" 'BEGIN { printf "%.2f", a / b }'
}

row() { # METRIC VALUE UNIT GOAL AGAINST
    local met=null mark=
    if [[ $4 != 0 ]]; then
        met=$(awk -v v="$2" -v g="$4" 'BEGIN { print (v <= g) ? "true" : "false" }')
        mark="goal at most $4: $([[ $met == true ]] && echo met || echo missed)"
    fi
    printf '%-42s %8s %-3s   %s\n' "$1" "$2" "$3" "$mark"
    [[ -z $json ]] || printf '{"bench":"torch_ops","metric":"%s","value":%s,"unit":"%s","goal":%s,"met":%s,"against":"%s"}\n' \
        "$1" "$2" "$3" "$4" "$met" "$5" >>"$json"
}

echo "torch_ops: an operator of PyTorch's (aten::add_ of 16 numbers: $(ns full bare) ns with no window open)"
row "observer lean, more an operator" "$(more lean syncline)" ns 700 "no window"
row "observer full, more an operator" "$(more full syncline)" ns 3000 "no window"
row "torch.profiler, more an operator" "$(more full profiler)" ns 0 "no window"
row "torch.profiler with shapes, more" "$(more full shapes)" ns 0 "no window"
row "observer full / torch.profiler with shapes" "$(of_shapes)" "" 0.5 "the same process"
for call in linear cat; do
    row "the same of $call" "$(of_shapes $call)" "" 0.5 "the same process"
done
against() { awk -v a="$(ns strings "$1")" -v b="$(ns full bare)" 'BEGIN { printf "%.0f", a - b }'; }
row "NVTX's texts, more an operator" "$(against syncline)" ns 0 "no window, another process"
row "NVTX's texts, with no window open" "$(against bare)" ns 0 "no window, another process"
row "syncline.range(), one" "$(ns full range)" ns 0 "an empty with"
row "torch.profiler.record_function(), one" "$(ns full record_function)" ns 0 "an empty with"
row "syncline.step(), one" "$(ns full step)" ns 0 "an empty function"
