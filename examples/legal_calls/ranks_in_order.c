/* MPI_Allreduce with an operation that joins the digits of numbers, which is not commutative: on four
 * processes each result is 1234. */
#include <mpi.h>
#include <stdio.h>

enum { N = 276 };
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
    static double numbers[N], joined[N];
    int rank, size, wrong = 0;
    double expected = 0;
    MPI_Op join;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(join_digits, 0, &join);
    for (int i = 0; i < size; i++)
        expected = 10 * expected + i + 1;
    for (int i = 0; i < N; i++)
        numbers[i] = rank + 1;
    MPI_Allreduce(numbers, joined, N, MPI_DOUBLE, join, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += joined[i] != expected;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Op_free(&join);
    MPI_Finalize();
    return wrong != 0;
}
