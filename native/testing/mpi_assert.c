/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing/mpi_assert.h"

#include <stdarg.h>
#include <stdio.h>

void mpi_assert(int condition, const char *message, ...) {
    int rank;
    if (condition)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    va_list arguments;
    va_start(arguments, message);
    fprintf(stderr, "rank %d: ", rank);
    vfprintf(stderr, message, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void mpi_assert_success(int rc, const char *call) {
    mpi_assert(rc == MPI_SUCCESS, "%s returned MPI error code %d.", call, rc);
}
