/* MPI_Allgather with MPI_IN_PLACE: each process contributes the block of its rank in the receive buffer. */
#include <mpi.h>
#include <stdio.h>

enum { N = 64, MAX_PROCESSES = 64 };

int main(int argc, char **argv) {
    static int numbers[N * MAX_PROCESSES];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N * size; i++)
        numbers[i] = i / N == rank ? i : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, N, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += numbers[i] != i;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
