/* MPI_MIN on MPI_UNSIGNED_CHAR: the minimum of 200 and 100 is 100. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char number = rank ? 200 : 100, smallest = 0;
    MPI_Allreduce(&number, &smallest, 1, MPI_UNSIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD);
    printf("rank %d: %s\n", rank, smallest == 100 ? "right" : "WRONG");
    MPI_Finalize();
    return smallest != 100;
}
