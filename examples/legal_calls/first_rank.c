/*
 * MPI_Reduce_scatter with an operation that keeps its left operand, which is not commutative: each result is
 * the number of rank 0. The type has a gap behind its number.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 37, EXTENT = 2, MAX_PROCESSES = 64 };

static void keep_left(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[EXTENT * i] = ((int *)in)[EXTENT * i];
}

int main(int argc, char **argv) {
    static int numbers[EXTENT * N * MAX_PROCESSES], results[EXTENT * N];
    int rank, size, wrong = 0, counts[MAX_PROCESSES];
    MPI_Datatype gapped;
    MPI_Op first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_resized(MPI_INT, 0, EXTENT * (MPI_Aint)sizeof(int), &gapped);
    MPI_Type_commit(&gapped);
    MPI_Op_create(keep_left, 0, &first);
    for (int i = 0; i < EXTENT * N * size; i++)
        numbers[i] = rank + 1;
    for (int i = 0; i < size; i++)
        counts[i] = N;
    MPI_Reduce_scatter(numbers, results, counts, gapped, first, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += results[EXTENT * i] != 1;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Op_free(&first);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return wrong != 0;
}
