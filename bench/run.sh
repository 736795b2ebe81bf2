#!/usr/bin/env bash
# Builds and runs the benchmarks, each of which prints a table.
#   bench/run.sh [NAME...] [--json FILE]     NAME as in bench/NAME_bench.c or .sh; default: all
# FILE gets a line of JSON for each row of a table:
# {"bench","metric","value","unit","goal","met","against"}. The new rows of a program replace its
# older rows in FILE. The rows of other programs stay.
#
# The exit status is 0 if all programs ran, even if a goal was missed. The tables and rows show
# whether a goal was met.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

json='' names=()
while (($#)); do
    case $1 in
    --json)
        json=${2:?--json needs a file}
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' bench/run.sh
        exit 0
        ;;
    -*)
        echo "bench/run.sh: unknown option '$1' (see --help)" >&2
        exit 2
        ;;
    *) names+=("${1%_bench}") ;;
    esac
    shift
done

known=()
for source in bench/*_bench.c bench/*_bench.sh; do
    [[ -e $source ]] || continue
    [[ $source == *.c && -e ${source%.c}.sh ]] && continue # the script runs the program
    source=${source##*/}
    known+=("${source%_bench.*}")
done
((${#names[@]})) || names=("${known[@]}")
for name in "${names[@]}"; do
    if [[ " ${known[*]} " != *" $name "* ]]; then
        echo "bench/run.sh: no benchmark '$name'; there are: ${known[*]}" >&2
        exit 2
    fi
done

# shellcheck source=tests/setup.sh
source tests/setup.sh
sl_setup build || exit 1
log=build/bench-build.log
mkdir -p build
if ! { cmake --preset release -DSYNCLINE_BENCH=ON && cmake --build --preset release -j "$(nproc)"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "bench/run.sh: the build failed; everything it said is in $log" >&2
    exit 1
fi

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
failed=0
for name in "${names[@]}"; do
    program=build/release/bench/${name}_bench
    [[ -e bench/${name}_bench.sh ]] && program=bench/${name}_bench.sh
    "$program" --json "$rows" || {
        echo "bench/run.sh: $name ended with status $?" >&2
        failed=1
    }
    echo
done

if [[ -n $json ]]; then
    python3 - "$rows" "$json" <<'PYTHON' || exit 1
import json, pathlib, sys
new = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]
target = pathlib.Path(sys.argv[2])
old = [json.loads(line) for line in target.read_text().splitlines() if line.strip()] if target.exists() else []
ran = {row["bench"] for row in new}
rows = [row for row in old if row["bench"] not in ran] + new
target.write_text("".join(json.dumps(row) + "\n" for row in rows))
PYTHON
fi
exit $failed
