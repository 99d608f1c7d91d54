/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Time steps that re-create their communicators: a copy of MPI_COMM_WORLD, halves of that copy, calls on
 * both; then all of them are freed. The last process is late at the call on the copy, by more in every step.
 * Usage: steps STEPS
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* By more than a busy machine delays the others. */
static void be_late(int step) {
    const struct timespec time = {.tv_nsec = 2000000L * (step + 1)};
    nanosleep(&time, NULL);
}

static void do_step(int step, int rank, int size) {
    MPI_Comm copy, half;
    double value = rank, sum;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, 2 * rank < size, rank, &half);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        be_late(step);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, copy);
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; argc > 1 && step < atoi(argv[1]); step++)
        do_step(step, rank, size);
    MPI_Finalize();
    return 0;
}
