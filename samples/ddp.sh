#!/usr/bin/env bash
# Records two ranks of a PyTorch training with DistributedDataParallel, and prints how fast their
# collectives were and which rank the others waited for. Builds what it needs first. If the machine
# has one GPU, both ranks use it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
gpu=auto
steps=10
ranks=2
out=

usage() {
    cat <<END
usage: samples/ddp.sh [options]
  --steps N      training steps to record (10)
  --ranks N      ranks (2)
  --real         on real GPUs, or not at all, with python3's PyTorch
  --simulated    on simulated GPUs even where there is a real one, with PyTorch in an environment of
                 its own below build/venv (0.5 GB from PyPI, once)
  --out DIR      where the traces go (a new folder below build/demo)
END
}

# shellcheck source=common.sh
. "$root/samples/common.sh"

while [ $# -gt 0 ]; do
    case $1 in
        --steps | --ranks | --out)
            [ $# -gt 1 ] || fail "$1 needs a value (see --help)"
            case $1 in --steps) steps=$2 ;; --ranks) ranks=$2 ;; *) out=$2 ;; esac
            shift
            ;;
        --real) gpu=real ;;
        --simulated) gpu=simulated ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
case $steps in 0 | *[!0-9]*) fail "--steps takes a whole number above 0, not '$steps'" ;; esac
case $ranks in 0 | *[!0-9]*) fail "--ranks takes a whole number above 0, not '$ranks'" ;; esac

sample_build "[1/4]"
sample_choose_gpu "[2/4]"
sample_torch
[ ${#run[@]} -eq 0 ] || run+=(--devices "$ranks")
sample_out

echo "[3/4] Recording $ranks ranks of $steps training steps"
job=(-m torch.distributed.run --standalone --nproc-per-node "$ranks" "$root/samples/train_ddp.py"
    --steps "$steps")
echo "     $(printf ' %q' "CUDA_INJECTION64_PATH=$library" \
    "SYNCLINE_OUTPUT=$out" "${run[@]}" "$python" "${job[@]}")"
CUDA_INJECTION64_PATH=$library SYNCLINE_OUTPUT=$out OMP_NUM_THREADS=1 \
    "${run[@]}" "$python" "${job[@]}" | sed 's/^/      /'

echo "[4/4] What the ranks did together"
syncline check "$out" >/dev/null || fail "$(syncline check "$out")"
syncline collectives "$out"

# Quotes a path for the commands that the sample prints, because a path may contain a space.
quoted() { printf '%q' "$1"; }

cat <<END

Again:       $(quoted "$build/tools/syncline") collectives $(quoted "$out")
Each step:   $(quoted "$build/tools/syncline") report $(quoted "$out")
To look at:  $(quoted "$build/tools/syncline") open $(quoted "$out")
END
