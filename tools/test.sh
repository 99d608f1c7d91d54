#!/usr/bin/env bash
# Runs the test suite on every MPI library that can be had here: most tests side by side, then those marked 'alone'.
# Words go to pytest, which then runs one test after the other: tools/test.sh tests/study
#
# Debian's Open MPI, MPICH and SimGrid and a browser are installed where apt-get may; the MPI libraries from PyPI are in .mpi.
# Tests whose library, simulator or browser is missing are skipped, counted and named; with CI=true they fail.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/debian_packages.sh openmpi-bin libopenmpi-dev mpich libmpich-dev libsimgrid-dev chromium chromium-driver gdb \
    gfortran pkg-config valgrind otf2-tools hpcc lammps scalapack-mpi-test iproute2

# Builds of the native parts are kept from one run to the next: they are stored under a digest of their sources.
export OFFBEAT_TEST_CACHE=${OFFBEAT_TEST_CACHE:-$PWD/build/test-cache}
export OFFBEAT_MPI_PATH=$PWD/.mpi/openmpi:$PWD/.mpi/mpich:$PWD/.mpi/impi
unset PYTHONUNBUFFERED # hides what happens when a reader of our output leaves early
export PYTHONPATH=$PWD/tools/pytest${PYTHONPATH:+:$PYTHONPATH}

run() { .venv/bin/python -m pytest -p skipped_tests "$@" </dev/null; }

if (($#)); then
    run "$@"
    exit
fi

# A file's tests stay in one process, as they share what they build. Both parts run, whatever the first one says.
cores=$(nproc)
status=0
run -m "not alone" --numprocesses $((cores < 4 ? cores : 4)) --dist loadfile || status=1
run -m alone || status=1
exit "$status"
