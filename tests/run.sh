#!/usr/bin/env bash
# Builds everything and runs all tests. From nothing on two cores: about 40 minutes, --quick 10.
#
#   tests/run.sh [--quick | --full | --long] [--without-torch] [--only PATTERN]
#     --quick         release build alone: unit, simulated GPU, library, end-to-end
#     (default)       and PyTorch, AddressSanitizer, ThreadSanitizer, static analysis, formatting
#     --full          and PyTorch 2.7, for CUDA 12; of the oldest and the newest PyTorch that has an
#                     observer (2.4 and 2.15, if there are wheels for this Python) operators, lines
#                     and the Python hook; the observers of all versions of PyTorch (9 GB of wheels, one
#                     after the other), the record tables against every CUPTI version's package, and
#                     coverage
#     --long          and the tests marked long (soak runs)
#     --without-torch leaves out the tests that run PyTorch (a wheel of 0.5 GB, 2 GB on disk)
#     --only PATTERN  release build; tests whose name matches (ctest -R, pytest -k)
#
# Logs are in build/test-logs. The last line is `N passed, N failed`, perhaps `, N skipped`; tests are
# counted one by one (cmocka and pytest cases; a build or an analysis that failed is one).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

level=1 only='' torch=1
while (($#)); do
    case $1 in
    --quick) level=0 ;;
    --full) level=2 ;;
    --long) level=3 ;;
    --without-torch) torch=0 ;;
    --only)
        only=${2:?--only needs a pattern}
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "tests/run.sh: unknown option '$1' (see --help)" >&2
        exit 2
        ;;
    esac
    shift
done

# shellcheck source=tests/setup.sh
source tests/setup.sh
sl_setup build check || exit 1

# root in a clone of somebody else's, as in a container: git would refuse to list the files.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD

logs=$PWD/build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
jobs=$(nproc)
workers=$((jobs + 1)) # of tests that start programs: they mostly wait for them
passed=0 failed=0 skipped=0
failures=() left_out=()
SECONDS=0

# stage NAME COMMAND...: one line of progress; on failure the log's end and what to look at. Tests
# are counted when the command leaves $logs/NAME.xml, else the stage is one test itself.
stage() {
    local name=$1 log=$logs/$1.log xml=$logs/$1.xml began=$SECONDS status counts p f s again
    shift
    printf '[%2d:%02d] %-22s ' $((SECONDS / 60)) $((SECONDS % 60)) "$name"
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [[ -s $xml ]]; then
        counts=$(python3 tests/report.py "$xml")
        read -r p f s <<<"${counts%%$'\n'*}"
        # A runner that fails without a failed test (a crash while collecting) is a failure too.
        ((status != 0 && f == 0)) && f=1
        mapfile -t -O "${#failures[@]}" failures < <(tail -n +2 <<<"$counts" | sed "s|^|$name: |")
    else
        p=$((status == 0)) f=$((status != 0)) s=0
        ((f)) && failures+=("$name (see $log)")
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    again=$(grep -c 'failed while the machine stood still' "$log") # tests/e2e/standstill.py
    printf '%d passed, %d failed%s%s (%d s)\n' "$p" "$f" "$( ((s)) && echo ", $s skipped")" \
        "$( ((again)) && echo ", $again run again: the machine stood still")" $((SECONDS - began))
    if ((f)); then
        echo "--- the end of $log"
        tail -n 40 "$log" | cut -c1-300
        echo "--- to repeat: $*"
    fi
    return $((f > 0))
}

build() {
    cmake --preset "$1" -DSYNCLINE_WERROR=ON && cmake --build --preset "$1" -j "$jobs"
}

# ctest keeps 1 KiB of a test's output unless told otherwise: its cases would be lost.
# unit PRESET NAME [CTEST OPTION...]
unit() {
    local preset=$1 name=$2
    shift 2
    ctest --test-dir "build/$preset" --output-junit "$logs/$name.xml" --output-on-failure \
        --test-output-size-passed 10000000 --test-output-size-failed 10000000 \
        --no-tests=ignore -j "$jobs" ${only:+-R "$only"} "$@"
}

# python_tests PRESET NAME FOLDERS [PYTEST OPTION...]
python_tests() {
    local preset=$1 name=$2 folder=$3 python status
    shift 3
    python=$(tests/venv.sh test) || return
    # shellcheck disable=SC2086 # a list of folders
    SL_TEST_BUILD=$PWD/build/$preset "$python" -m pytest $folder -q -rs --durations=5 \
        -p no:cacheprovider --junitxml "$logs/$name.xml" ${only:+-k "$only"} "$@"
    status=$?
    # 5: nothing matched the pattern.
    [[ $status == 5 && -n $only ]] || return $status
}

format() {
    local python
    python=$(tests/venv.sh lint) || return
    git ls-files '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' |
        xargs "${python%/*}/clang-format" --dry-run -Werror
}

shell_scripts() {
    local script
    git ls-files | while read -r script; do
        if head -c 40 "$script" | head -n 1 | grep -q '^#!.*bash' || [[ $script == *.sh ]]; then
            bash -n "$script" || return
        fi
    done
}

analysis() {
    local python
    python=$(tests/venv.sh lint) || return
    tests/analyse.sh "${python%/*}"
}

cupti_versions() {
    python3 runtime/collect/cupti/generate_tables.py --check-all
}

# Which were built is in the log.
observers() {
    python_hook/build_observers.sh --out build/test-observers
}

coverage() {
    local python
    python=$(tests/venv.sh lint) || return
    build coverage && ctest --test-dir build/coverage -j "$jobs" --output-on-failure &&
        "${python%/*}/gcovr" --root . --filter runtime/ --filter tools/ build/coverage \
            --txt build/coverage/coverage.txt --txt-summary
}

# Unmodified PyTorch on the simulated GPU: torch_tests ENVIRONMENT (of tests/venv.sh) [TESTS].
torch_tests() {
    if ! tests/venv.sh "$1" >&2; then
        echo "tests/run.sh: --without-torch leaves these tests out" >&2
        return 1
    fi
    SL_TEST_TORCH=$1 python_tests release "$1" "${2:-tests/torch}" -n "$workers"
}

# What is most likely to differ from one PyTorch to the next: torch_hooks VERSION FIRST LAST, of the
# Pythons 3.N that its environment is for.
torch_hooks() {
    if ! python3 -c "import sys; sys.exit(not $2 <= sys.version_info.minor <= $3)"; then
        left_out+=("the tests that run PyTorch $1 (its environment is for Python 3.$2 to 3.$3)")
        return
    fi
    stage "torch-$1" torch_tests "torch-$1" \
        "tests/torch/test_ops.py tests/torch/test_lines.py $(echo tests/torch/test_hook_*.py)"
}

# (intercept_tls_get_addr=0: where a library's thread-local block begins 16 bytes into a page, the
# interceptor takes what stands before it for a header of old glibc, and the search for leaks dies of
# it. The blocks are found without it, as the linker's.)
asan=abort_on_error=0:detect_leaks=1:strict_string_checks=1:intercept_tls_get_addr=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-$asan}
export LSAN_OPTIONS=${LSAN_OPTIONS:-print_suppressions=0:suppressions=$PWD/tests/lsan.supp}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=0:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp}

# What comes from the network comes while the processors build. The stage that needs an environment
# waits for it, and says what went wrong: here it is only early.
environments=(test hta)
((level > 0 && torch)) && environments+=(torch-2.11)
((level > 0)) && environments+=(lint)
if [[ -z $only ]]; then
    for environment in "${environments[@]}"; do
        tests/venv.sh "$environment"
    done >"$logs/environments.log" 2>&1 </dev/null &
fi

e2e_marks='not long'
((level == 3)) && e2e_marks=''

# What everything else stands on: without it there is nothing to run.
if stage build-release build release; then
    stage unit-release unit release unit-release
    stage python python_tests release python "tests/samples tests/gpu"
    stage library python_tests release library tests/library
    stage e2e-release python_tests release e2e-release tests/e2e -n "$workers" -m "$e2e_marks"
    if [[ $level != 0 && $torch == 1 ]]; then
        if [[ -z $only || -e build/venv/torch-2.11/.complete ]]; then
            stage torch-2.11 torch_tests torch-2.11
        else
            left_out+=("the tests that run PyTorch (--only takes what is there: tests/venv.sh torch-2.11)")
        fi
    fi
    if [[ $level != 0 && -z $only ]]; then
        stage format format
        stage shell-scripts shell_scripts
        stage analysis analysis
        for sanitizer in asan tsan; do
            if stage build-$sanitizer build $sanitizer; then
                # Where one thread runs there is no race (tests/CMakeLists.txt), and what damaged
                # input does to memory AddressSanitizer tells.
                threads=()
                [[ $sanitizer == tsan ]] && threads=(-LE 'one_thread|fuzz')
                stage unit-$sanitizer unit $sanitizer unit-$sanitizer "${threads[@]}"
                stage e2e-$sanitizer python_tests $sanitizer e2e-$sanitizer tests/e2e -n "$workers" \
                    -m 'sanitize and not long'
            fi
        done
    fi
    if [[ $level -ge 2 && -z $only ]]; then
        if [[ $torch == 1 ]]; then
            stage torch-2.7 torch_tests torch-2.7
            torch_hooks 2.4 10 12
            torch_hooks 2.15 11 13
            stage observers observers
        fi
        stage cupti-versions cupti_versions
        stage coverage coverage
    fi
fi

printf '[%2d:%02d] done\n' $((SECONDS / 60)) $((SECONDS % 60))
if ((failed)); then
    echo "failed:"
    printf '  %s\n' "${failures[@]}"
    echo "look at the logs in $logs"
fi
if [[ $torch == 0 ]]; then
    left_out+=("the tests that run PyTorch (--without-torch)")
elif [[ $level == 0 ]]; then
    left_out+=("the tests that run PyTorch (--quick)")
fi
((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
echo "$passed passed, $failed failed$( ((skipped)) && echo ", $skipped skipped")"
((failed == 0))
