#!/usr/bin/env bash
# Measures CPU time, wall time and peak memory of `syncline report` on a trace of 2 million events,
# against `syncline check` and, in the same run, the analyzers of HTA (tests/venv.sh hta). Also runs
# it on 1 GB of JSON and on a tenth and five times of the events, and measures `critical-path` and
# `diff` against `check`. All runs use two cores.
#   report_bench.sh [--events N] [--without-hta] [--json FILE]
#
# The trace is made by big_trace.py from shared/traces/nccl_3steps.json.gz, or, if that file is not
# there, from a small trace of the tests. The folder TMPDIR needs 3 GB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
json='' events=2030000 hta=1
while (($#)); do
    case $1 in
    --json)
        json=$(realpath -m "${2:?--json needs a file}")
        shift
        ;;
    --events)
        events=${2:?--events needs a number}
        shift
        ;;
    --without-hta) hta='' ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' bench/report_bench.sh
        exit 0
        ;;
    *)
        echo "report_bench.sh: unknown option '$1'" >&2
        exit 2
        ;;
    esac
    shift
done
build=${SL_BENCH_BUILD:-build/release}
source=${SL_TEST_TRACES:-../shared/traces}/nccl_3steps.json.gz
[[ -e $source ]] || source=tests/e2e/profiler_traces/torch-2.15.json.gz
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 bench/report_bench.py --tool "$build/tools/syncline" --source "$source" --folder "$folder" \
    --events "$events" ${hta:+--hta "$(tests/venv.sh hta)"} ${json:+--json "$json"}
