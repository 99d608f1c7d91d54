/*
 * MPI_Alltoallw on MPI_COMM_SELF of numbers that begin 16 bytes behind the addresses of the buffers.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 16386, FIRST = 2 };

int main(int argc, char **argv) {
    static double sent[FIRST + N], received[FIRST + N];
    int count = N, displacement = FIRST * sizeof(double), wrong = 0;
    MPI_Datatype number = MPI_DOUBLE;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < N; i++)
        sent[FIRST + i] = i + 1;
    MPI_Alltoallw(sent, &count, &displacement, &number, received, &count, &displacement, &number,
                  MPI_COMM_SELF);
    for (int i = 0; i < N; i++)
        wrong += received[FIRST + i] != i + 1;
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
