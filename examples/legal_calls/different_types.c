/* MPI_Bcast: the root sends n integers, the others receive one element of n integers: the signatures are
 * equal. */
#include <mpi.h>
#include <stdio.h>

enum { N = 16384 };
int main(int argc, char **argv) {
    static int numbers[N];
    int rank, wrong = 0;
    MPI_Datatype row;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(N, MPI_INT, &row);
    MPI_Type_commit(&row);
    for (int i = 0; i < N; i++)
        numbers[i] = rank ? -1 : i;
    MPI_Bcast(numbers, rank ? 1 : N, rank ? row : MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += numbers[i] != i;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&row);
    MPI_Finalize();
    return wrong != 0;
}
