/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first starts of many receives whose sends do not exist yet, and their matching. Usage, on two
 * processes: partitioned_starts N. Rank 1 prints one line of JSON: the seconds of N first starts, and of all
 * receives to complete after rank 0 began the sends with the last tag first.
 */
#include <mpi.h>
#include <offbeat/partitioned.h>

#include <stdio.h>
#include <stdlib.h>

static void receive(int count, double *starts_s, double *matching_s, offbeat_prequest requests[],
                    int data[]) {
    for (int i = 0; i < count; i++)
        offbeat_precv_init(&data[i], 1, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    const double began_s = MPI_Wtime();
    for (int i = 0; i < count; i++)
        offbeat_pstart(&requests[i]);
    *starts_s = MPI_Wtime() - began_s;
    MPI_Barrier(MPI_COMM_WORLD);
    offbeat_pwaitall(count, requests, MPI_STATUSES_IGNORE);
    *matching_s = MPI_Wtime() - began_s - *starts_s;
}

static void send(int count, offbeat_prequest requests[], int data[]) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = count - 1; i >= 0; i--) {
        data[i] = i;
        offbeat_psend_init(&data[i], 1, 1, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        offbeat_pstart(&requests[i]);
        offbeat_pready(0, requests[i]);
    }
    offbeat_pwaitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 0;
    int rank;
    double starts_s = 0, matching_s = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL);
    offbeat_prequest *requests = calloc((size_t)count, sizeof *requests);
    int *data = calloc((size_t)count, sizeof *data);
    if (rank == 0)
        send(count, requests, data);
    else if (rank == 1)
        receive(count, &starts_s, &matching_s, requests, data);
    for (int i = 0; i < count && rank < 2; i++)
        offbeat_prequest_free(&requests[i]);
    if (rank == 1)
        printf("{\"starts_s\":%.9f,\"matching_s\":%.9f}\n", starts_s, matching_s);
    free(requests);
    free(data);
    MPI_Finalize();
    return 0;
}
