/* MPI_Allreduce of a type that begins 1 MiB after the address of the buffer, with a user-defined sum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096, GAP = 1 << 20 };
static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    const int *a = (const int *)((char *)in + GAP);
    int *b = (int *)((char *)inout + GAP);
    for (int i = 0; i < *count; i++)
        b[i] += a[i];
}

int main(int argc, char **argv) {
    int rank, size, wrong = 0, length = 1;
    MPI_Aint displacement = GAP;
    MPI_Datatype far;
    MPI_Op sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_hindexed(1, &length, &displacement, MPI_INT, &far);
    MPI_Type_commit(&far);
    MPI_Op_create(add, 1, &sum);
    char *sent = calloc(1, GAP + N * sizeof(int)), *received = calloc(1, GAP + N * sizeof(int));
    int *numbers = (int *)(sent + GAP), *sums = (int *)(received + GAP);
    for (int i = 0; i < N; i++)
        numbers[i] = rank + i;
    MPI_Allreduce(sent, received, N, far, sum, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += sums[i] != size * i + size * (size - 1) / 2;
    printf("rank %d: %d wrong\n", rank, wrong);
    free(sent);
    free(received);
    MPI_Op_free(&sum);
    MPI_Type_free(&far);
    MPI_Finalize();
    return wrong != 0;
}
