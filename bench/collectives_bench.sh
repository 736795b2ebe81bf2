#!/usr/bin/env bash
# Measures CPU time and peak memory of `syncline collectives` on the traces of 64 ranks, of 50 MB of
# JSON each, against `syncline check` of the same files. All runs use two cores.
#   collectives_bench.sh [--ranks N] [--json FILE]
#
# The traces are made as those of report_bench.sh. The folder TMPDIR needs 3.5 GB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
json='' ranks=64
while (($#)); do
    case $1 in
    --json)
        json=$(realpath -m "${2:?--json needs a file}")
        shift
        ;;
    --ranks)
        ranks=${2:?--ranks needs a number}
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' bench/collectives_bench.sh
        exit 0
        ;;
    *)
        echo "collectives_bench.sh: unknown option '$1'" >&2
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
python3 bench/collectives_bench.py --tool "$build/tools/syncline" --source "$source" \
    --folder "$folder" --ranks "$ranks" ${json:+--json "$json"}
