/* Exchanges blocks on the rows and on the columns of a process grid: grid COUNT BYTES COLUMNS. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = atoi(argv[1]), bytes = atoi(argv[2]), columns = atoi(argv[3]);
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / columns, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % columns, rank, &column);
    char *out = calloc((size_t)size, (size_t)bytes), *in = calloc((size_t)size, (size_t)bytes);
    for (int i = 0; i < count; i++) {
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, row);
        MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, column);
    }
    free(out);
    free(in);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Finalize();
    return argc != 4;
}
