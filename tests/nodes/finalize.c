/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest program with a collective: shows without offbeat whether a library ends on several nodes. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    printf("ended\n");
    return 0;
}
