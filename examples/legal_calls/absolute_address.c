/* MPI_Alltoall from MPI_BOTTOM, with a datatype that holds the absolute address of the numbers. */
#include <mpi.h>
#include <stdio.h>

enum { N = 44, MOST = 64 };
int main(int argc, char **argv) {
    static int numbers[N * MOST], received[N * MOST];
    int rank, size, wrong = 0, length = 1;
    MPI_Aint address;
    MPI_Datatype at_address, number;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_address(numbers, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &at_address);
    MPI_Type_create_resized(at_address, address, sizeof(int), &number);
    MPI_Type_commit(&number);
    for (int i = 0; i < N * size; i++)
        numbers[i] = rank * N * MOST + i;
    MPI_Alltoall(MPI_BOTTOM, N, number, received, N, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += received[i] != i / N * N * MOST + rank * N + i % N;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&at_address);
    MPI_Type_free(&number);
    MPI_Finalize();
    return wrong != 0;
}
