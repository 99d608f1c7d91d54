#!/usr/bin/env bash
# Runs the test suite on every MPI library that can be had here. Further words go to pytest: tools/test.sh tests/study
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

exec .venv/bin/python -m pytest -p skipped_tests "$@" </dev/null
