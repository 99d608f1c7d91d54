/* Prints the MPI library and the size of MPI_COMM_WORLD; makes every kind of call that the tracer wraps. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, length, sum = 0, one = 1;
    MPI_Comm row;
    MPI_Request request;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &row);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, row, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(row);
    MPI_Comm_free(&row);
    printf("%s: rank %d of %d, sum %d\n", version, rank, size, sum);
    return MPI_Finalize();
}
