#!/usr/bin/env bash
# Runs the test suite on every MPI library that can be had here: most tests side by side, then those marked 'alone'.
# Arguments go to pytest, which then runs one test after the other: tools/test.sh tests/study
# 'tools/test.sh --quick' runs the tests that are quick and need no root, with one MPI library; 'tools/test.sh --packages'
# only installs the packages of Debian below.
#
# Debian's Open MPI, MPICH and SimGrid and a browser are installed where apt-get may; the MPI libraries from PyPI are in .mpi.
# Tests whose library, simulator or browser is missing are skipped, counted and named; with CI=true they fail.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${1:-} == --quick ]] || tools/debian_packages.sh openmpi-bin libopenmpi-dev mpich libmpich-dev libsimgrid-dev chromium chromium-driver gdb \
    gfortran pkg-config valgrind otf2-tools hpcc lammps scalapack-mpi-test iproute2 ccache \
    bash-completion fish zsh man-db mandoc
[[ ${1:-} == --packages ]] && exit

# Builds of the native parts are kept from one run to the next: they are stored under a digest of their sources.
export OFFBEAT_TEST_CACHE=${OFFBEAT_TEST_CACHE:-$PWD/build/test-cache}
export OFFBEAT_MPI_PATH=$PWD/.mpi/openmpi:$PWD/.mpi/mpich:$PWD/.mpi/impi
if command -v ccache >/dev/null; then
    # Several tests compile the same C sources for the same MPI library.
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=$OFFBEAT_TEST_CACHE/ccache CCACHE_NOHASHDIR=1
fi
unset PYTHONUNBUFFERED # hides what happens when a reader of our output leaves early
unset PYTHONDONTWRITEBYTECODE # every command would compile offbeat's modules again
export PYTHONPATH=$PWD/tools/pytest${PYTHONPATH:+:$PYTHONPATH}

run() { .venv/bin/python -m pytest -p skipped_tests "$@" </dev/null; }

# A file's tests stay in one process, as they share what they build. Many tests wait for a time limit or for a launch: four
# processes keep two cores busy.
side_by_side=(--numprocesses 4 --dist loadfile --no-loadscope-reorder)

if [[ ${1:-} == --quick ]]; then
    run -q -m "not alone and not slow" --library openmpi5 --hypothesis-profile quick "${side_by_side[@]}"
    exit
elif (($#)); then
    run "$@"
    exit
fi

# The tests are compiled once, while the native parts are built, and not by each of the processes.
run --collect-only -qq &>/dev/null &

# All parts run, whatever the first one says. Two tests at a time disturb each other's timing on a small machine: a test that
# fails beside others decides by its second run, alone, where its failure is still in the log of the first.
status=0
run -m "not alone" "${side_by_side[@]}" --durations 25 || status=$?
if ((status == 1)); then
    status=0
    run --last-failed --last-failed-no-failures none -m "not alone" || status=$?
fi
run -m alone || status=1
exit "$status"
