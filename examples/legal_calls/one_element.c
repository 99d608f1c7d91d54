/*
 * MPI_Allgatherv: rank 0 sends one element of n integers, the others send n integers, and all receive
 * integers: the signatures are equal.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 4096, MAX_PROCESSES = 64 };

int main(int argc, char **argv) {
    static int sent[N], received[N * MAX_PROCESSES];
    int rank, size, wrong = 0, counts[MAX_PROCESSES], displacements[MAX_PROCESSES];
    MPI_Datatype row;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(N, MPI_INT, &row);
    MPI_Type_commit(&row);
    for (int i = 0; i < N; i++)
        sent[i] = rank * N + i;
    for (int i = 0; i < size; i++)
        counts[i] = N, displacements[i] = i * N;
    MPI_Allgatherv(sent, rank ? N : 1, rank ? MPI_INT : row, received, counts, displacements, MPI_INT,
                   MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += received[i] != i;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&row);
    MPI_Finalize();
    return wrong != 0;
}
