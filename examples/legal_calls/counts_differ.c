/*
 * MPI_Allgather: each process sends six elements of three numbers, and receives nine elements of two numbers
 * from each: the signatures are equal.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 18, MAX_PROCESSES = 64 };

int main(int argc, char **argv) {
    static double sent[N], received[N * MAX_PROCESSES];
    int rank, size, wrong = 0;
    MPI_Datatype three, two;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(3, MPI_DOUBLE, &three);
    MPI_Type_contiguous(2, MPI_DOUBLE, &two);
    MPI_Type_commit(&three);
    MPI_Type_commit(&two);
    for (int i = 0; i < N; i++)
        sent[i] = rank * N + i + 1;
    MPI_Allgather(sent, N / 3, three, received, N / 2, two, MPI_COMM_WORLD);
    for (int i = 0; i < N * size; i++)
        wrong += received[i] != i + 1;
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&three);
    MPI_Type_free(&two);
    MPI_Finalize();
    return wrong != 0;
}
