#!/usr/bin/env bash
# Runs clang-tidy (checks in .clang-tidy) on the sources of the library and the tool. Fails if
# clang-tidy reports something. Needs the compile commands of build/release.
#
#   tests/analyse.sh [--all] [FOLDER_OF_CLANG_TIDY]     default: the folder that tests/venv.sh lint makes
#
# Without --all, the script analyses only files that changed since the branch left the main branch,
# including uncommitted changes. On the main branch these are the files of its last commit. A
# changed header is analysed in the source of the same name, or in the first source that includes
# the header. All files are analysed if git cannot list the changes, or if the checks or clang-tidy
# itself changed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

all=0
if [[ ${1:-} == --all ]]; then
    all=1
    shift
fi
bin=${1:-}
if [[ -z $bin ]]; then
    python=$(tests/venv.sh lint) || exit 1
    bin=${python%/*}
fi
if [[ ! -f build/release/compile_commands.json ]]; then
    echo "tests/analyse.sh: no build/release/compile_commands.json: cmake --preset release" >&2
    exit 1
fi

# Prints the commit with which the files are compared. Fails if there is no such commit.
find_base() {
    local ref base=''
    for ref in origin/HEAD origin/main main; do
        base=$(git merge-base HEAD "$ref" 2>/dev/null) && break
    done
    [[ -n $base ]] || return
    if [[ $base == "$(git rev-parse HEAD)" ]]; then
        base=$(git rev-parse --verify --quiet HEAD^) || return
    fi
    echo "$base"
}

# Reads paths from stdin. For each path, prints the source file in which clang-tidy analyses the
# path.
sources_of() {
    local path
    while read -r path; do
        case $path in
        runtime/*.c | tools/*.c | tools/*.cpp)
            echo "$path"
            ;;
        runtime/*.h | tools/*.h | include/*.h)
            if [[ -e ${path%.h}.c ]]; then
                echo "${path%.h}.c"
            else
                # Paths in include lines are relative to runtime/ or tools/.
                git grep -lF "#include \"${path#*/}\"" -- 'runtime/*.c' 'tools/*.c' 'tools/*.cpp' | head -n 1
            fi
            ;;
        esac
    done
}

mapfile -t sources < <(find runtime tools -name '*.c' -o -name '*.cpp' | sort)
if ((!all)) && base=$(find_base); then
    mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" && git ls-files -o --exclude-standard)
    if ! printf '%s\n' "${changed[@]}" | grep -xE '\.clang-tidy|tests/python/lint\.txt' >/dev/null; then
        mapfile -t sources < <(printf '%s\n' "${changed[@]}" | sources_of | sort -u)
        echo "${#sources[@]} sources changed since ${base:0:10}"
    fi
fi
printf '%s\n' "${sources[@]}" |
    xargs -r -P "$(nproc)" -n 4 "$bin/clang-tidy" -p build/release --quiet
