#!/usr/bin/env bash
# Measures how much time the recording of a PyTorch operator costs the operator's thread, with
# syncline and with torch.profiler in the same process. A small operator runs bare, with the
# observer, and under torch.profiler without and with shapes, in turn. The minimum of each mode
# counts. A call with operators inside it and a call with a list of tensors are measured in the same
# way. One process records with lean detail, and one with full detail. A third process has no
# observer, so syncline takes the operators from PyTorch's NVTX ranges. The cost without recording
# is the difference between a process without the library and two processes with it, one without an
# open window and one with SYNCLINE_OPS=off. The benchmark also measures a range and a step of the
# user, and `import torch`.
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
# syncline does not load an observer that was built from older sources. The NVTX ranges would be
# measured instead, so the benchmark stops.
for source in python_hook/{torch_ops.cpp,torch_caller.hpp,build_observers.sh} runtime/{collect/torch/ops_abi,event/op_inputs_format}.h; do
    [[ build/observers/torch-2.11.so -nt $source ]] && continue
    python_hook/build_observers.sh "$python"
    break
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
library=$(realpath "$build/runtime/libsyncline.so")

unset CUDA_INJECTION64_PATH
export OMP_NUM_THREADS=1 SYNCLINE_OUTPUT="$out/out" SYNCLINE_LOG=off SYNCLINE_LEAD_IN=0

on_simgpu() { # COMMAND... -> its last line
    tests/simgpu/run --cupti 13.0 --build "$build" "$@" 2>/dev/null | tail -n 1
}
run() { # FILE [VARIABLE=VALUE]...
    on_simgpu env "${@:2}" "$python" bench/torch_ops.py "$turns" >"$out/$1"
}

run without
run off CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=off
run lean CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=lean
run full CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=full
mkdir "$out/home"
ln -s "$(dirname "$library")/syncline/python" "$out/home/python"
run strings CUDA_INJECTION64_PATH="$library" SYNCLINE_OPS=full SYNCLINE_HOME="$out/home"

for ((turn = 0; turn < turns; turn++)); do
    on_simgpu "$python" bench/torch_import.py >>"$out/import"
    on_simgpu env CUDA_INJECTION64_PATH="$library" "$python" bench/torch_import.py >>"$out/import-variable"
    on_simgpu "$build/tools/syncline" run -- "$python" bench/torch_import.py >>"$out/import-run"
done
least() { # FILE KEY: of a turn
    "$python" -c 'import json, sys; print(min(json.loads(line)[sys.argv[2]] for line in open(sys.argv[1])))' "$out/$1" "$2"
}

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
    if [[ $4 != 0 && $2 == -* ]]; then # noise can make a small cost negative
        mark="goal at most $4: the machine was too busy to tell"
    elif [[ $4 != 0 ]]; then
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
against() { # FILE MODE FILE: more than a bare one of the other process
    awk -v a="$(ns "$1" "$2")" -v b="$(ns "$3" bare)" 'BEGIN { printf "%.0f", a - b }'
}
row "NVTX's texts, more an operator" "$(against strings syncline full)" ns 0 "no window, another process"
row "NVTX's texts, with no window open" "$(against strings bare full)" ns 0 "no window, another process"
row "no window open, more an operator" "$(against full bare without)" ns 0 "a process without the library"
row "SYNCLINE_OPS=off, more in a window" "$(against off syncline without)" ns 0 "a process without the library"
row "syncline.range(), one" "$(ns full range)" ns 0 "an empty with"
row "torch.profiler.record_function(), one" "$(ns full record_function)" ns 0 "an empty with"
row "syncline.step(), one" "$(ns full step)" ns 0 "an empty function"
of_import() { # FILE: more than in a process without syncline
    awk -v a="$(least "$1" torch)" -v b="$(least import torch)" 'BEGIN { printf "%.0f", a - b }'
}
row "import torch, of the processor" "$(least import torch)" ms 0 ""
row "import torch with the variable, more" "$(of_import import-variable)" ms 0 "a process without syncline"
row "import torch under syncline run, more" "$(of_import import-run)" ms 0 "a process without syncline"
row "the finder, at any other import" "$(least import-run finder)" ns 0 "no finder"
