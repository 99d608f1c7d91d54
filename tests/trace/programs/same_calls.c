/*
 * The calls of same_calls.F90, in C and (the same text) in C++: a tracer must record the same for all of
 * them.
 */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, flag = 0, index, counts[16], places[16], sent[64] = {0}, got[64] = {0};
    MPI_Comm half, copy;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 16; i++) {
        counts[i] = 2;
        places[i] = 2 * i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(sent, 5, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(sent, got, 7, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, got, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 2, MPI_INT, 1, MPI_COMM_WORLD);
    else
        MPI_Gather(sent, 2, MPI_INT, got, 2, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Alltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    MPI_Reduce(sent, got, 4, MPI_INT, MPI_SUM, 0, half);
    MPI_Comm_dup(half, &copy);
    MPI_Scan(sent, got, 6, MPI_INT, MPI_SUM, copy);
    MPI_Iallreduce(sent, got, 8, MPI_INT, MPI_SUM, half, &requests[0]);
    MPI_Ibarrier(copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Ibcast(sent, 9, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
