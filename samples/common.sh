# shellcheck shell=bash
# Sourced by demo.sh and ddp.sh: builds syncline, and chooses the GPU, the Python and the folder. The
# script has set `root`, `build`, `gpu` (auto, real or simulated) and `out` (empty: a new folder).

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

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

# Sets `library`, and puts the tool into PATH.
sample_build() {
    # shellcheck source=../tests/setup.sh
    . "$root/tests/setup.sh"
    sl_setup build || exit 1
    echo "$1 Building (the first time takes a minute or two)"
    mkdir -p "$build"
    quietly "$build/configure.log" cmake -S "$root" --preset release
    quietly "$build/build.log" cmake --build "$build" -j "$(nproc)"
    PATH=$build/tools:$PATH
    library=$build/runtime/libsyncline.so
}

# Sets `run`: the command that runs another on the simulated GPU, empty for the real GPU.
sample_choose_gpu() {
    echo "$1 Choosing a GPU"
    run=()
    if [ "$gpu" != simulated ] && found=$("$build/samples/probe_gpu"); then
        echo "      the real one: $found"
    elif [ "$gpu" = real ]; then
        fail "no GPU that CUDA can use: ${found:-no answer}"
    else
        run=("$root/tests/simgpu/run")
        echo "      the simulated one (${found:-as asked}): what follows is made up, in real formats"
    fi
}

# Sets `python` to one with PyTorch, and builds the library that records PyTorch's operators.
sample_torch() {
    python=python3
    if [ ${#run[@]} -gt 0 ]; then
        python=$("$root/tests/venv.sh" torch-2.11) || exit 1
    elif ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        fail "PyTorch on a real GPU takes python3 with a PyTorch that can use it: install one" \
            "(pip install torch), or add --simulated"
    fi
    # This library is built against PyTorch's headers.
    quietly "$build/observer.log" "$root/python_hook/build_observers.sh" "$python"
}

# Makes `out`. The default is a new folder, so that a sample changes no earlier trace and no other
# file.
sample_out() {
    if [ -z "$out" ]; then
        mkdir -p "$root/build/demo"
        out=$(mktemp -d "$root/build/demo/$(date +%Y%m%d-%H%M%S)-XXXX")
    fi
    out=$(mkdir -p "$out" && cd "$out" && pwd)
}
