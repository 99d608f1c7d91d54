/* MPI_Gather of MPI_SHORT_INT, a predefined type of pairs with a gap after the first number. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pair {
    short value;
    int index;
} pair;

enum { N = 8192 };
int main(int argc, char **argv) {
    static pair sent[N];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pair *received = calloc((size_t)(size * N), sizeof *received);
    for (int i = 0; i < N; i++)
        sent[i] = (pair){(short)rank, i};
    MPI_Gather(sent, N, MPI_SHORT_INT, received, N, MPI_SHORT_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * N; i++)
        wrong += received[i].value != i / N || received[i].index != i % N;
    printf("rank %d: %d wrong\n", rank, wrong);
    free(received);
    MPI_Finalize();
    return wrong != 0;
}
