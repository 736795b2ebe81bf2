#!/usr/bin/env bash
# Builds syncline and runs its tests on a simulated GPU.
#
#   tests/run.sh [--quick | --full | --long] [--without-torch] [--only PATTERN]
#     --quick         Builds only the release build. Runs the unit tests, the tests of the simulated
#                     GPU and of the library, and the end-to-end tests.
#     (default)       Runs everything of --quick, and also:
#                     - one test of each kind with PyTorch: one of each PyTorch job, and some tests of
#                       operators, of source lines and of the hooks;
#                     - AddressSanitizer on the unit tests and on some end-to-end tests;
#                     - ThreadSanitizer on the unit tests that start threads;
#                     - static analysis of changed files;
#                     - checks of formatting, of line lengths and of commit subjects (tests/lint.py).
#                     Takes at most 15 minutes on two processors without other work, from an empty
#                     folder.
#     --full          Runs everything of the default, and also:
#                     - all tests marked full (tests/pytest.ini): every case of every parameter sweep,
#                       all Python versions and simulated CUPTI versions, all PyTorch tests, and the
#                       comparison with libkineto;
#                     - both sanitizers on all tests in which they can find errors;
#                     - static analysis of all files.
#                     Takes at most 60 minutes. Run it before you close an issue.
#     --long          Runs everything of --full, and also:
#                     - the tests marked long (10,000 random programs);
#                     - tests with PyTorch 2.4, 2.7 and 2.15;
#                     - the build of the observers of all PyTorch versions (9 GB of wheels, downloaded
#                       one after the other);
#                     - a comparison of the record tables with the package of every CUPTI version;
#                     - coverage.
#                     Takes hours.
#     --without-torch Leaves out the tests that run PyTorch (a wheel of 0.5 GB, 2 GB on disk).
#     --only PATTERN  Builds only the release build. Runs the tests of all tiers except long whose
#                     name matches PATTERN (ctest -R, pytest -k).
#
# Random tests begin at a seed that is computed from the commit's hash. SL_TEST_SEED=N repeats a run.
#
# build/test-logs holds the log of each stage and times.json, which has the wall and CPU seconds of
# each stage and the 25 slowest tests. The last printed line is `N passed, N failed`, followed by
# `, N skipped` if tests were skipped. Each case of cmocka and pytest counts as one test. A build or
# an analysis also counts as one.
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
        sed -n '2,/^set /s/^# \{0,1\}//p' tests/run.sh
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

# Root may test a clone that belongs to another user, as in a container. Without this setting, git
# would refuse to list the files of such a clone.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD

logs=$PWD/build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
if [[ -z ${SL_TEST_SEED:-} ]]; then
    SL_TEST_SEED=$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1)))
fi
export SL_TEST_SEED
echo "random tests begin at seed $SL_TEST_SEED"
jobs=$(nproc)
workers=$((jobs * 3))       # pytest processes; end-to-end tests mostly wait for their programs
torch_workers=$((jobs + 1)) # fewer, because PyTorch uses the processors itself
passed=0 failed=0 skipped=0
failures=() left_out=()
SECONDS=0

# Sets cpu_ms to the CPU time in ms of this shell's ended children, including their own children.
read_cpu_ms() {
    local minutes seconds field file=$logs/.times.$BASHPID
    times >"$file" # no pipe, because a subshell has its own times
    cpu_ms=0
    for field in $(tail -n 1 "$file"); do
        minutes=${field%m*} seconds=${field#*m}
        seconds=${seconds%s}
        cpu_ms=$((cpu_ms + minutes * 60000 + 10#${seconds%[.,]*} * 1000 + 10#${seconds#*[.,]}))
    done
    rm "$file"
}

# note_stage NAME WALL_S CPU_MS: adds a row for tests/report.py --times.
note_stage() {
    printf '%s\t%d\t%d.%03d\n' "$1" "$2" $(($3 / 1000)) $(($3 % 1000)) >>"$logs/stages.tsv"
}

# stage NAME COMMAND...: runs the command and prints one line of progress. On failure, prints the
# end of the log and its path. If the command writes $logs/NAME.xml, the tests in that file are
# counted. Otherwise the stage counts as one test.
stage() {
    local name=$1 log=$logs/$1.log xml=$logs/$1.xml began=$SECONDS status counts p f s again cpu_began_ms
    shift
    printf '[%2d:%02d] %-22s ' $((SECONDS / 60)) $((SECONDS % 60)) "$name"
    read_cpu_ms
    cpu_began_ms=$cpu_ms
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    read_cpu_ms
    note_stage "$name" $((SECONDS - began)) $((cpu_ms - cpu_began_ms))
    if [[ -s $xml ]]; then
        counts=$(python3 tests/report.py "$xml")
        read -r p f s <<<"${counts%%$'\n'*}"
        # If a test runner fails without a failed test (for example because it crashed while it
        # collected the tests), the stage counts as one failure.
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

# build PRESET [CMAKE --BUILD OPTION...]
build() {
    cmake --preset "$1" -DSYNCLINE_WERROR=ON && cmake --build --preset "$1" -j "$jobs" "${@:2}"
}

# By default ctest keeps 1 KiB of a test's output, so cases would be lost.
# unit PRESET NAME EXCLUDED_LABELS
unit() {
    local preset=$1 name=$2 excluded=$3
    ((level >= 2)) || [[ -n $only ]] || excluded=${excluded:+$excluded|}full
    ctest --test-dir "build/$preset" --output-junit "$logs/$name.xml" --output-on-failure \
        --test-output-size-passed 10000000 --test-output-size-failed 10000000 \
        --no-tests=ignore -j "$jobs" ${only:+-R "$only"} ${excluded:+-LE "$excluded"}
}

# python_tests PRESET NAME FOLDERS MARKS [PYTEST OPTION...]
python_tests() {
    local preset=$1 name=$2 folder=$3 marks=$4 python status
    shift 4
    python=$(tests/venv.sh test) || return
    # shellcheck disable=SC2086 # a list of folders
    SL_TEST_BUILD=$PWD/build/$preset "$python" -m pytest $folder -q -rs --durations=5 -m "$marks" \
        -p no:cacheprovider --junitxml "$logs/$name.xml" ${only:+-k "$only"} "$@"
    status=$?
    # pytest exits with 5 if no test matched the pattern.
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
    # shellcheck disable=SC2046 # none or one word
    tests/analyse.sh $( ((level < 2)) || echo --all) "${python%/*}"
}

cupti_versions() {
    python3 runtime/collect/cupti/generate_tables.py --check-all
}

# The log lists the observers that were built.
observers() {
    CXXFLAGS=-Werror python_hook/build_observers.sh --out build/test-observers
}

coverage() {
    local python
    python=$(tests/venv.sh lint) || return
    build coverage && ctest --test-dir build/coverage -j "$jobs" --output-on-failure &&
        "${python%/*}/gcovr" --root . --filter runtime/ --filter tools/ build/coverage \
            --txt build/coverage/coverage.txt --txt-summary
}

# torch_tests ENVIRONMENT [TESTS]: runs unmodified PyTorch on the simulated GPU, in an environment
# of tests/venv.sh.
torch_tests() {
    if ! tests/venv.sh "$1" >&2; then
        echo "tests/run.sh: --without-torch leaves these tests out" >&2
        return 1
    fi
    SL_TEST_TORCH=$1 python_tests release "$1" "${2:-tests/torch}" "$tier_marks" -n "$torch_workers"
}

# torch_hooks VERSION FIRST LAST: runs the tests that most likely differ between versions of
# PyTorch. FIRST and LAST are the first and the last N of the Python versions 3.N that the PyTorch
# version supports.
torch_hooks() {
    if ! python3 -c "import sys; sys.exit(not $2 <= sys.version_info.minor <= $3)"; then
        left_out+=("the tests that run PyTorch $1 (its environment is for Python 3.$2 to 3.$3)")
        return
    fi
    stage "torch-$1" torch_tests "torch-$1" \
        "tests/torch/test_ops.py tests/torch/test_lines.py $(echo tests/torch/test_hook_*.py)"
}

# (intercept_tls_get_addr=0 is needed because of a fault in the interceptor. If a library's thread-local block
# begins 16 bytes into a page, the interceptor mistakes the bytes before the block for a header of an old
# glibc, and the search for leaks crashes. Without the interceptor the blocks are still found, because they
# are memory of the linker.)
asan=abort_on_error=0:detect_leaks=1:strict_string_checks=1:intercept_tls_get_addr=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-$asan}
export LSAN_OPTIONS=${LSAN_OPTIONS:-print_suppressions=0:suppressions=$PWD/tests/lsan.supp}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=0:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp}

# The downloads are started here, so that they run while the build uses the processors. A stage that
# needs an environment waits for the download and reports its errors.
environments=(test hta)
((level > 1 && torch)) && environments+=(tb)
((level > 0 && torch)) && environments+=(torch-2.11)
((level > 0)) && environments+=(lint)
nccl=(2.28.9)
((level > 1)) && nccl+=(2.27.7 2.30.7 2.32.3)
if [[ -z $only ]]; then
    # The download is not a child of this shell, so that its CPU time is not counted for another stage.
    (
        (
            for environment in "${environments[@]}"; do
                tests/venv.sh "$environment"
            done
            for version in "${nccl[@]}"; do
                tests/nccl.sh "$version"
            done
            read_cpu_ms
            note_stage environments $((SECONDS)) "$cpu_ms"
        ) >"$logs/environments.log" 2>&1 </dev/null &
    )
fi

case $level in
0 | 1) tier_marks='not full and not long' ;;
2) tier_marks='not long' ;;
3) tier_marks='' ;;
esac
[[ -z $only ]] || tier_marks='not long'

# The other stages run only if the release build succeeds, because they need it.
if stage build-release build release; then
    stage unit-release unit release unit-release ''
    stage python python_tests release python "tests/samples tests/gpu" "$tier_marks" -n "$jobs" --dist loadfile
    stage library python_tests release library tests/library "$tier_marks"
    stage e2e-release python_tests release e2e-release tests/e2e "$tier_marks" -n "$workers"
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
        stage lint python3 tests/lint.py build/release/tools/syncline
        stage analysis analysis
        if stage build-asan build asan; then
            stage unit-asan unit asan unit-asan ''
            stage e2e-asan python_tests asan e2e-asan tests/e2e \
                "sanitize${tier_marks:+ and $tier_marks}" -n "$workers" $( ((level > 1)) || echo --one-case)
        fi
        if ((level == 1)); then
            if stage build-tsan build tsan --target tests_with_threads; then
                stage unit-tsan unit tsan unit-tsan 'no_threads|simgpu|fuzz'
            fi
        elif stage build-tsan build tsan; then
            # ThreadSanitizer leaves out the tests with damaged input, because AddressSanitizer
            # finds the memory errors that damaged input causes, and leaves out the tests with one
            # thread.
            stage unit-tsan unit tsan unit-tsan 'one_thread|fuzz'
            stage e2e-tsan python_tests tsan e2e-tsan tests/e2e \
                "sanitize${tier_marks:+ and $tier_marks}" -n "$workers"
        fi
    fi
    if [[ $level == 3 && -z $only ]]; then
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
python3 tests/report.py --times "$logs" $SECONDS
echo "$passed passed, $failed failed$( ((skipped)) && echo ", $skipped skipped")"
((failed == 0))
