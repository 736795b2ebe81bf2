# shellcheck shell=bash
# Sourced by tests/run.sh and samples/common.sh: checks that the packages for the build and the tests
# are installed, on Debian 12 and later and Ubuntu 22.04 and later.
#
#   source tests/setup.sh
#   sl_setup build           packages for the build
#   sl_setup build check     also those for the checks of tests/run.sh
#
# If packages are missing, sl_setup installs them as root; as another user it prints their names on
# one line and stops. If no package is missing, it prints nothing and takes a few milliseconds.

# On a terminal, shows the newest line of stdin, and overwrites the line before.
sl_setup_progress() {
    local line
    while IFS= read -r line; do
        [[ ! -t 1 ]] || printf '\r      %-70.70s' "$line"
    done
    [[ ! -t 1 ]] || printf '\r%76s\r' ''
}

# sl_setup_missing GROUP...: prints the missing packages, one a line. The function searches for the
# command, header or module that is needed from a package, so a machine that has these files from
# another source needs no package.
sl_setup_missing() {
    local group
    sl_setup_command() { command -v "$1" >/dev/null 2>&1 || echo "$2"; }
    sl_setup_header() {
        printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\n' "$1" |
            cc -E -x c - >/dev/null 2>&1 || echo "$2"
    }
    for group in "$@"; do
        case $group in
        build)
            sl_setup_command gcc gcc
            sl_setup_command g++ g++
            sl_setup_header stdlib.h libc6-dev
            sl_setup_command cmake cmake
            sl_setup_command ninja ninja-build
            sl_setup_command python3 python3
            python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || echo python3-venv
            [[ -e /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
            sl_setup_header cmocka.h libcmocka-dev
            ;;
        check)
            sl_setup_command nm binutils
            sl_setup_command pkg-config pkg-config
            sl_setup_command git git
            sl_setup_command python3-config python3-dev
            python3 -c 'import ctypes; ctypes.CDLL("libzstd.so.1")' >/dev/null 2>&1 || echo libzstd1
            ;;
        esac
    done
}

# sl_setup_install PACKAGE...: runs in a subshell, so that the caller's environment is unchanged.
# dpkg needs the sbin folders in PATH. apt waits for its lock, because a machine that has just
# booted is often installing updates.
sl_setup_install() (
    export DEBIAN_FRONTEND=noninteractive PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
    apt-get update -o Acquire::Retries=2 &&
        apt-get install -y --no-install-recommends -o Acquire::Retries=2 \
            -o DPkg::Lock::Timeout=300 "$@"
)

# Callers must have set pipefail.
sl_setup() {
    local missing
    missing=$(sl_setup_missing "$@" | sort -u | tr '\n' ' ')
    missing=${missing% }
    if [[ -z $missing ]]; then
        return 0
    fi
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "missing packages: install them with: sudo apt-get install $missing" >&2
        return 1
    fi
    echo "set-up: installing $missing"
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086 # a list of packages
    if ! sl_setup_install $missing 2>&1 </dev/null | tee "$log" | sl_setup_progress; then
        grep '^[EW]:' "$log" | tail -n 3 >&2
        echo "set-up: apt-get could not install $missing (no network? its output is in $log)" >&2
        return 1
    fi
    rm -f "$log"
    missing=$(sl_setup_missing "$@" | sort -u | tr '\n' ' ')
    if [[ -n $missing ]]; then
        echo "set-up: still missing after the installation: $missing" >&2
        return 1
    fi
}
