/* MPI_Bcast of 1,879 numbers from rank 2. */
#include <mpi.h>
#include <stdio.h>

enum { N = 1879, ROOT = 2 };
int main(int argc, char **argv) {
    static double numbers[N];
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        numbers[i] = rank == ROOT ? i : -1;
    MPI_Bcast(numbers, N, MPI_DOUBLE, ROOT, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        wrong += numbers[i] != i;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
