/* A program with its own profiler: MPI functions that call the PMPI functions of the library; and direct
 * calls of PMPI functions. */
#include <mpi.h>
#include <stdio.h>

static int counted;

int MPI_Init(int *argc, char ***argv) {
    return PMPI_Init(argc, argv);
}
int MPI_Allreduce(const void *sent, void *got, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
    counted++;
    return PMPI_Allreduce(sent, got, count, type, operation, comm);
}
int MPI_Finalize(void) {
    return PMPI_Finalize();
}

__attribute__((noinline)) int norm(int x) {
    int sum;
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum % 7;
}

int main(int argc, char **argv) {
    int x = 1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++)
        x = norm(x);
    PMPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d calls counted\n", counted);
    MPI_Finalize();
    return 0;
}
