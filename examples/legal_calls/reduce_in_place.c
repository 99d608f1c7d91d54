/* MPI_Reduce with MPI_IN_PLACE at a root that is not rank 0. */
#include <mpi.h>
#include <stdio.h>

enum { N = 7170 };
int main(int argc, char **argv) {
    static double numbers[N];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++)
        numbers[i] = rank + i;
    MPI_Reduce(rank == 1 ? MPI_IN_PLACE : numbers, rank == 1 ? numbers : NULL, N, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    for (int i = 0; i < N && rank == 1; i++)
        wrong += numbers[i] != size * (double)i + size * (size - 1) / 2;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
