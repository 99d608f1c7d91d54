/* MPI_Allreduce with MPI_MINLOC on MPI_DOUBLE_INT: on each rank another element is the smallest. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pair {
    double value;
    int index;
} pair;

enum { N = 65536 };
int main(int argc, char **argv) {
    static pair sent[N], smallest[N];
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++)
        sent[i] = (pair){(rank + i) % size, rank};
    MPI_Allreduce(sent, smallest, N, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += smallest[i].value != 0 || smallest[i].index != (size - i % size) % size;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
