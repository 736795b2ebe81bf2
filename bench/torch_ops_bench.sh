#!/usr/bin/env bash
# What recording an operator of PyTorch's costs the thread that runs it, beside torch.profiler in the
# same run: a small operator bare, with the observer lean and full, and under torch.profiler without
# and with shapes, one after the other, several times; the least of each counts.
#   torch_ops_bench.sh [--json FILE]        needs PyTorch (tests/venv.sh torch-2.11)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
json=
[[ ${1:-} == --json ]] && json=$(realpath -m "${2:?--json needs a file}")
build=${SL_BENCH_BUILD:-build/release}
python=$(tests/venv.sh torch-2.11)
[[ -e build/observers/torch-2.11.so ]] || python_hook/build_observers.sh "$python"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run() { # MODE [VARIABLE=VALUE]...
    local mode=$1
    shift
    env "$@" OMP_NUM_THREADS=1 SYNCLINE_OUTPUT="$out" SYNCLINE_LOG=off tests/simgpu/run --cupti 13.0 \
        --build "$build" "$python" bench/torch_ops.py "$mode" 2>/dev/null | tail -n 1
}

library=$(realpath "$build/runtime/libsyncline.so")
declare -A least
note() { # NAME VALUE
    least[$1]=$(awk -v a="${least[$1]:-1e9}" -v b="$2" 'BEGIN { print (b < a) ? b : a }')
}
for _ in 1 2 3 4 5; do
    note bare "$(run bare)"
    note off "$(run syncline CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=off)"
    note lean "$(run syncline CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=lean)"
    note full "$(run syncline CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=full)"
    note profiler "$(run profiler)"
    note shapes "$(run profiler-shapes)"
done

more() { awk -v a="${least[bare]}" -v b="${least[$1]}" 'BEGIN { printf "%.0f", b - a }'; }

row() { # METRIC VALUE GOAL AGAINST
    local met=null mark=
    if [[ $3 != 0 ]]; then
        met=$(awk -v v="$2" -v g="$3" 'BEGIN { print (v <= g) ? "true" : "false" }')
        mark="goal at most $3 ns: $([[ $met == true ]] && echo met || echo missed)"
    fi
    printf '%-42s %8s ns   %s\n' "$1" "$2" "$mark"
    [[ -z $json ]] || printf '{"bench":"torch_ops","metric":"%s","value":%s,"unit":"ns","goal":%s,"met":%s,"against":"%s"}\n' \
        "$1" "$2" "$3" "$met" "$4" >>"$json"
}

echo "torch_ops: an operator of PyTorch's (aten::add_ of 16 numbers: ${least[bare]} ns bare)"
row "observer off, more an operator" "$(more off)" 0 "bare"
row "observer lean, more an operator" "$(more lean)" 700 "bare"
row "observer full, more an operator" "$(more full)" 3000 "bare"
row "torch.profiler, more an operator" "$(more profiler)" 0 "bare"
row "torch.profiler with shapes, more" "$(more shapes)" 0 "bare"
row "observer full, twice" "$((2 * $(more full)))" "$(more shapes)" "torch.profiler with shapes"
