/* MPI_MAX on MPI_OFFSET, whose numbers have a sign: the maximum of -2 and 1 is 1. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Offset number = rank ? 1 : -2, largest = 0;
    MPI_Allreduce(&number, &largest, 1, MPI_OFFSET, MPI_MAX, MPI_COMM_WORLD);
    printf("rank %d: %s\n", rank, largest == 1 ? "right" : "WRONG");
    MPI_Finalize();
    return largest != 1;
}
