/* MPI_Alltoall with MPI_IN_PLACE of MPI_SHORT_INT, a predefined type of pairs. */
#include <mpi.h>
#include <stdio.h>

enum { N = 26212, MOST = 8 };
int main(int argc, char **argv) {
    static struct {
        short value;
        int index;
    } pairs[N * MOST];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N * size; i++)
        pairs[i].value = (short)rank, pairs[i].index = i;
    MPI_Alltoall(MPI_IN_PLACE, N, MPI_SHORT_INT, pairs, N, MPI_SHORT_INT, MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += pairs[i].value != i / N || pairs[i].index != rank * N + i % N;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
