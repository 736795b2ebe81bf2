#!/usr/bin/env bash
# Runs bench/nccl_bench with the real NCCL (tests/nccl.sh), if it can be had. If PyTorch is there
# (tests/venv.sh torch-2.11), also prints the share of a step that the plugin takes in
# tests/simgpu/jobs/ddp.py on two ranks.
#   nccl_bench.sh [--json FILE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /s/^# \{0,1\}//p' bench/nccl_bench.sh
    exit 0
fi
build=${SL_BENCH_BUILD:-build/release}
options=("$@")
if nccl=$(tests/nccl.sh 2.28.9); then
    options+=(--nccl "$nccl")
fi

python=$PWD/build/venv/torch-2.11/bin/python
if [[ -x $python ]]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    CUDA_INJECTION64_PATH=$(realpath "$build/runtime/libsyncline.so") SYNCLINE_NCCL=calls SYNCLINE_OUTPUT=$out \
        SYNCLINE_COMPRESSION=gzip SYNCLINE_LOG=off OMP_NUM_THREADS=1 \
        tests/simgpu/run --cuda 13 --devices 2 --build "$build" "$python" -m torch.distributed.run \
        --nproc-per-node 2 tests/simgpu/jobs/ddp.py >"$out/log" 2>&1
    read -r collectives step_us < <(python3 - "$out" <<'PYTHON'
import gzip, json, pathlib, statistics, sys
durations, described = [], 0
for path in pathlib.Path(sys.argv[1]).rglob("*.pt.trace.json.gz"):
    rows = json.load(gzip.open(path))["traceEvents"]
    steps = [(row["ts"], row["ts"] + row["dur"]) for row in rows
             if row.get("cat") == "user_annotation" and row["name"].startswith("ProfilerStep#")]
    kernels = [row["ts"] for row in rows if row.get("cat") == "kernel" and "NCCL call" in row["args"]]
    described += sum(start <= at < end for start, end in steps for at in kernels)
    durations += [end - start for start, end in steps]
print(described / len(durations), statistics.median(durations))
PYTHON
    )
    options+=(--collectives "$collectives" --step-us "$step_us")
else
    echo "nccl_bench.sh: no PyTorch (tests/venv.sh torch-2.11): the share of a step is left out"
fi
"$build/bench/nccl_bench" "${options[@]}"
