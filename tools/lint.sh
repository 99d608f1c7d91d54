#!/usr/bin/env bash
# Everything that can be said about the sources without running them. Runs all checks, then fails if one did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$PWD/.venv/bin:$PATH
failed=()

check() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed+=("$name")
}

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard 'native/*.c' 'native/*.h')
mapfile -t cpp_files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp')

# clang-tidy needs to know how each file is compiled: a build folder that is configured and never built.
clang_tidy() {
    cmake -S native -B build/lint -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DOFFBEAT_BUILD_TESTING=ON \
        -DOFFBEAT_TEST_LAUNCHER=unused -DOFFBEAT_MPI_INCLUDE="$PWD/.mpi/openmpi/include" \
        -DOFFBEAT_MPI_LIBRARY="$PWD/.mpi/openmpi/lib/libmpi.so" >build/lint.log 2>&1 || {
        cat build/lint.log
        return 1
    }
    printf '%s\n' "${c_files[@]}" | grep '\.c$' |
        xargs -P "$(nproc)" -n 8 clang-tidy -p build/lint --quiet 2>&1 |
        { grep -vE 'Processing file|warnings? generated|^\.?$' || true; }
}

# The same for the simulator, without its Python bindings: nanobind is not installed here. Files are checked as a few large
# ones that include them (a unity build), since most of the time goes into the standard library's headers.
clang_tidy_simulator() {
    rm -rf build/lint-simulator
    cmake -S simulator -B build/lint-simulator -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DOFFBEAT_SIMULATOR_PYTHON=OFF \
        -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 >build/lint-simulator.log 2>&1 || {
        cat build/lint-simulator.log
        return 1
    }
    find build/lint-simulator -name 'unity_*.cxx' -print0 |
        xargs -0 -P "$(nproc)" -n 1 timeout 600 clang-tidy -p build/lint-simulator --quiet \
            --checks=-bugprone-suspicious-include --header-filter="simulator/.*" 2>&1 |
        { grep -vE 'Processing file|warnings? generated|^\.?$' || true; }
}

mkdir -p build
check "ruff check" ruff check
check "ruff format" ruff format --check
check "mypy" mypy
check "removed words" python tools/words.py
check "clang-format" clang-format --dry-run -Werror "${c_files[@]}" "${cpp_files[@]}"
check "clang-tidy" clang_tidy
check "clang-tidy of the simulator" clang_tidy_simulator
check "reference pages" python docs/reference_pages --check
check "documentation" sphinx-build -q -W --keep-going -b html docs docs/_build/html

if ((${#failed[@]})); then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "all checks passed"
