#!/usr/bin/env bash
# Usage: tools/python_environment.sh FOLDER PIP-WORD...
#
# Makes a virtual environment in FOLDER if there is none, and installs what the words name. PYTHON is the
# interpreter (default python3). Debian keeps the pip of new environments in a package of its own; where that is
# missing, its pip is fetched into a scratch folder, which needs no root and changes nothing on the system.
# Installing this checkout ('--editable .') compiles the simulator: what that needs is looked for first.
set -euo pipefail

folder=$1
shift
python=${PYTHON:-python3}

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

check_python() {
    command -v "$python" >/dev/null || stop "There is no '$python'. Install Python 3.11 or later, or name one: make PYTHON=..."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        stop "offbeat needs Python 3.11 or later, and '$python' is $("$python" --version). Name another: make PYTHON=python3.11"
}

# Debian's pip wheel, unpacked below $1; prints its path. apt-get can do this without root when it keeps its lists in
# a folder of ours, and when the system's hooks, which clean the system's folders, are left out.
debian_pip() {
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
    printf '%s\n' "Dir::State \"$1/state\";" "Dir::Cache \"$1/cache\";" 'APT::Sandbox::User "";' \
        '#clear APT::Update::Pre-Invoke;' '#clear APT::Update::Post-Invoke;' \
        '#clear APT::Update::Post-Invoke-Success;' '#clear DPkg::Post-Invoke;' >"$1/apt.conf"
    (
        cd "$1"
        apt-get -qq -c apt.conf update && apt-get -qq -c apt.conf download python3-pip-whl &&
            dpkg -x python3-pip-whl_*.deb .
    ) >&2 || return 1
    compgen -G "$1/usr/share/python-wheels/pip-*.whl"
}

# What compiles the simulator; CMake and Ninja come from PyPI where the machine has none.
check_compiler() {
    local compiler=${CXX:-} program headers
    local remedy='Install GCC 11 or Clang 14, or later (Debian: apt-get install g++), or name one: CXX=g++-12 make ...'
    for program in c++ g++ clang++; do
        [[ -z $compiler ]] && command -v "$program" >/dev/null && compiler=$program
    done
    [[ -n $compiler ]] && command -v ${compiler%% *} >/dev/null ||
        stop "offbeat compiles its simulator, and there is no C++ compiler ${CXX:-here}. $remedy"
    # shellcheck disable=SC2086 # CXX may hold words: ccache g++
    printf '#include <ranges>\nint main() { return std::ranges::empty("") ? 1 : 0; }\n' |
        $compiler -std=c++20 -fsyntax-only -x c++ - 2>/dev/null ||
        stop "offbeat compiles its simulator, and '$compiler' does not understand C++20. $remedy"
    headers=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [[ -f $headers/Python.h ]] ||
        stop "offbeat compiles its simulator for Python, and the headers of '$python' are missing: there is no" \
            "$headers/Python.h. On Debian and Ubuntu: apt-get install python3-dev"
}

put_pip_into() {
    local scratch wheel
    if "$python" -m pip --python "$1/bin/python" install --quiet pip 2>/dev/null; then
        return
    fi
    command -v apt-get >/dev/null || return 1
    scratch=$(mktemp -d)
    if wheel=$(debian_pip "$scratch") && "$1/bin/python" "$wheel/pip" install --quiet pip; then
        rm -rf "$scratch"
        return
    fi
    rm -rf "$scratch"
    return 1
}

make_environment() {
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "$folder" || stop "A virtual environment cannot be made in $folder."
        return
    fi
    "$python" -m venv --without-pip "$folder" && put_pip_into "$folder" && return
    rm -rf "$folder"
    stop "'$python' cannot make virtual environments with pip, and pip could not be fetched." \
        "On Debian and Ubuntu: apt-get install python3-venv"
}

if ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    check_python
    echo "Making a Python environment in $folder"
    rm -rf "$folder"
    make_environment
fi
if [[ $1 == --editable ]]; then
    check_compiler
    echo "Installing into $folder and compiling the simulator, which may take some minutes: $*"
else
    echo "Installing into $folder, which may take a minute: $*"
fi
# Python compiles a module when it is imported first; pip would compile all modules, which takes longer than the rest.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "$@"
