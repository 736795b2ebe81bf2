#!/usr/bin/env bash
# Records a first trace, starting from a clean clone. The script installs what the build needs,
# builds syncline, and records a program that behaves like a training (or PyTorch training a small
# transformer). Then it checks the trace, converts it, and prints a summary of its contents.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
gpu=auto
steps=
torch=0
out=

usage() {
    cat <<END
usage: samples/demo.sh [options]
  --torch        PyTorch trains a small transformer (on the simulated GPU in an environment of its
                 own below build/venv: 0.5 GB from PyPI, once; on the real one python3's PyTorch)
  --steps N      training steps to record (60, about half a second; with --torch 20)
  --real         on the real GPU, or not at all
  --simulated    on the simulated GPU even where there is a real one
  --out DIR      where the trace goes (a new folder below build/demo)
END
}

fail() {
    echo "demo.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --steps | --out)
            [ $# -gt 1 ] || fail "$1 needs a value (see --help)"
            if [ "$1" = --steps ]; then steps=$2; else out=$2; fi
            shift
            ;;
        --torch) torch=1 ;;
        --real) gpu=real ;;
        --simulated) gpu=simulated ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
[ -n "$steps" ] || steps=$((torch ? 20 : 60))
case $steps in 0 | *[!0-9]*) fail "--steps takes a whole number above 0, not '$steps'" ;; esac

# quietly FILE COMMAND... runs a long command and writes its output to FILE. If the command fails,
# the end of the output is shown.
quietly() {
    local log=$1
    shift
    "$@" 2>&1 | tee "$log" | sl_setup_progress || {
        tail -n 20 "$log" >&2
        fail "that failed; everything it said is in $log"
    }
}

# shellcheck source=../tests/setup.sh
. "$root/tests/setup.sh"
sl_setup build || exit 1
echo "[1/5] Building (the first time takes a minute or two)"
mkdir -p "$build"
quietly "$build/configure.log" cmake -S "$root" --preset release
quietly "$build/build.log" cmake --build "$build" -j "$(nproc)"
PATH=$build/tools:$PATH

echo "[2/5] Choosing a GPU"
run=()
if [ "$gpu" != simulated ] && found=$("$build/samples/probe_gpu"); then
    echo "      the real one: $found"
elif [ "$gpu" = real ]; then
    fail "no GPU that CUDA can use: ${found:-no answer}"
else
    run=("$root/tests/simgpu/run")
    echo "      the simulated one (${found:-as asked}): what follows is made up, in real formats"
fi

# The recorded program.
job=("$build/samples/train_like")
if [ "$torch" = 1 ]; then
    python=python3
    if [ ${#run[@]} -gt 0 ]; then
        python=$("$root/tests/venv.sh" torch-2.11) || exit 1
    elif ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        fail "--torch on a real GPU takes python3 with a PyTorch that can use it: install one" \
            "(pip install torch), or add --simulated"
    fi
    job=("$python" "$root/samples/train_transformer.py")
    # The library that records operators is built against PyTorch's headers.
    quietly "$build/observer.log" "$root/python_hook/build_observers.sh" "$python"
fi

# The default is a new folder, so that the demo changes no earlier trace and no other file.
if [ -z "$out" ]; then
    mkdir -p "$root/build/demo"
    out=$(mktemp -d "$root/build/demo/$(date +%Y%m%d-%H%M%S)-XXXX")
fi
out=$(mkdir -p "$out" && cd "$out" && pwd)

echo "[3/5] Recording $steps training steps"
library=$build/runtime/libsyncline.so
echo "      CUDA_INJECTION64_PATH=$library SYNCLINE_OUTPUT=$out ${job[*]##*/} --steps $steps"
CUDA_INJECTION64_PATH=$library SYNCLINE_OUTPUT=$out \
    "${run[@]}" "${job[@]}" --steps "$steps" | sed 's/^/      /'
trace=$(find "$out" -name '*.pt.trace.json.zst' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
[ -n "$trace" ] || fail "no trace below $out: what the library said stands above"

echo "[4/5] Checking and converting"
converted=${trace%.zst}.gz
checked=$(syncline check "$trace") || fail "$checked"
checked=${checked%%$'\n'*}
echo "      ${checked#"$trace": }"
syncline convert "$trace" --to kineto-gz -o "$converted"
syncline check "$converted" >/dev/null
python3 - "$converted" <<'END'
import gzip, json, sys
with gzip.open(sys.argv[1], "rt") as file:
    print(f"      Python's json reads {len(json.load(file)['traceEvents'])} events")
END

echo "[5/5] What is in it"
"$root/samples/summary.py" "$converted"
syncline edges --summary "$trace"
echo
syncline report --html "$out/report.html" "$trace"

# Quotes a path for the commands that the demo prints, because a path may contain a space.
quoted() { printf '%q' "$1"; }

cat <<END

The trace:   $trace ($(du -h "$trace" | cut -f1))
As gzip:     $converted
In detail:   $(quoted "$build/tools/syncline") check $(quoted "$trace")
The report:  $out/report.html (a page with charts, for any browser)
             $(quoted "$build/tools/syncline") report $(quoted "$trace")
Each wait:   $(quoted "$build/tools/syncline") edges $(quoted "$trace")
To look at:  $(quoted "$build/tools/syncline") open $(quoted "$trace")
             or open the gzip file at https://ui.perfetto.dev (it stays in your browser), or load the
             folder it is in with HolisticTraceAnalysis: TraceAnalysis(trace_dir="$(dirname "$converted")")
Your own:    CUDA_INJECTION64_PATH=$(quoted "$library") your-program
END
