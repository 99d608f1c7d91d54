/* SPDX-License-Identifier: BSD-3-Clause */
/** @file abandon.c  Ending the whole launch where no process could go on alone. */
#include "control/abandon.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

noreturn void offbeat_abandon(const char *why) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "offbeat-driver: fatal error on rank %d: %s\n", rank, why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort is not declared to stay away */
}
