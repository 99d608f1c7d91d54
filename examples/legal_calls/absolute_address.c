/* MPI_Alltoall from and to MPI_BOTTOM, with datatypes that hold the absolute addresses of the numbers. */
#include <mpi.h>
#include <stdio.h>

enum { N = 176, MOST = 16 };
static MPI_Datatype number_at(const void *memory) {
    MPI_Aint address;
    MPI_Datatype number;
    int length = 1;
    MPI_Get_address(memory, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_LONG, &number);
    MPI_Type_commit(&number);
    return number;
}

int main(int argc, char **argv) {
    static long sent[N * MOST], received[N * MOST];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Datatype from = number_at(sent), to = number_at(received);
    for (int i = 0; i < N * size; i++)
        sent[i] = rank * N * MOST + i;
    MPI_Alltoall(MPI_BOTTOM, N, from, MPI_BOTTOM, N, to, MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += received[i] != i / N * N * MOST + rank * N + i % N;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    MPI_Finalize();
    return wrong != 0;
}
