/* MPI_Reduce_scatter in place with an operation that joins the digits of numbers, which is not commutative. */
#include <mpi.h>
#include <stdio.h>

enum { N = 1059, MOST = 9 };
static void join_digits(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) {
        double right = ((double *)inout)[i], shift = 1;
        while (shift <= right)
            shift *= 10;
        ((double *)inout)[i] = ((double *)in)[i] * shift + right;
    }
}

int main(int argc, char **argv) {
    static double numbers[N * MOST];
    int rank, size, wrong = 0, counts[MOST];
    MPI_Op join;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(join_digits, 0, &join);
    for (int i = 0; i < size; i++)
        counts[i] = N;
    for (int i = 0; i < N * size; i++)
        numbers[i] = 1 + (rank + i) % 9;
    MPI_Reduce_scatter(MPI_IN_PLACE, numbers, counts, MPI_DOUBLE, join, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        double expected = 0;
        for (int from = 0; from < size; from++)
            expected = 10 * expected + 1 + (from + rank * N + i) % 9;
        wrong += numbers[i] != expected;
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Op_free(&join);
    MPI_Finalize();
    return wrong != 0;
}
