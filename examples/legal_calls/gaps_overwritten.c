/* MPI_Reduce with a user-defined sum of a type of one integer and a gap of 12 bytes, which must stay as it
 * is. */
#include <mpi.h>
#include <stdio.h>

enum { N = 64 };
static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[4 * i] += ((int *)in)[4 * i];
}

int main(int argc, char **argv) {
    static int numbers[4 * N], sums[4 * N];
    int rank, size, wrong = 0;
    MPI_Datatype gapped;
    MPI_Op sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_resized(MPI_INT, 0, 16, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Op_create(add, 1, &sum);
    for (int i = 0; i < 4 * N; i++)
        numbers[i] = i % 4 ? 5 : i, sums[i] = 7;
    MPI_Reduce(numbers, sums, N, gapped, sum, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 4 * N && rank == 0; i++)
        wrong += sums[i] != (i % 4 ? 7 : size * i);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Op_free(&sum);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return wrong != 0;
}
