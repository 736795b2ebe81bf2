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

# shellcheck source=common.sh
. "$root/samples/common.sh"

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

sample_build "[1/5]"
sample_choose_gpu "[2/5]"

# The recorded program.
job=("$build/samples/train_like")
if [ "$torch" = 1 ]; then
    sample_torch
    job=("$python" "$root/samples/train_transformer.py")
fi

sample_out

echo "[3/5] Recording $steps training steps"
echo "     $(printf ' %q' "CUDA_INJECTION64_PATH=$library" "SYNCLINE_OUTPUT=$out" "${run[@]}" \
    "${job[@]}" --steps "$steps")"
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
