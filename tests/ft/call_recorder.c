/*
 * Preloaded into offbeat-ft: records its collective calls through MPI's profiling interface.
 *
 * Each rank writes a line for each collective and number of bytes to FT_CALLS.<rank> ("MPI_Alltoall 65536
 * 7"), and the shortest time between the end of an MPI_Alltoall and the start of the next ("gap 0.0123"). If
 * FT_CORRUPT is set, every MPI_Alltoall returns a wrong number on rank 0.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_COUNTERS = 32 };

static struct {
    const char *name;
    long bytes, calls;
} counters[MAX_COUNTERS];

static double ended_s = -1.0, gap_s = 1e9;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void count_call(const char *name, int count, MPI_Datatype type) {
    int size = 0, i = 0;
    if (count > 0)
        PMPI_Type_size(type, &size);
    long bytes = (long)count * size;
    while (counters[i].name && (strcmp(counters[i].name, name) != 0 || counters[i].bytes != bytes))
        i++;
    counters[i].name = name;
    counters[i].bytes = bytes;
    counters[i].calls++;
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int received,
                 MPI_Datatype received_type, MPI_Comm comm) {
    int rank;
    count_call("MPI_Alltoall", count, type);
    if (ended_s >= 0.0 && now_s() - ended_s < gap_s)
        gap_s = now_s() - ended_s;
    int status = PMPI_Alltoall(send, count, type, receive, received, received_type, comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0 && getenv("FT_CORRUPT"))
        ((double *)receive)[0] += 1.0;
    ended_s = now_s();
    return status;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    count_call("MPI_Bcast", count, type);
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    count_call("MPI_Reduce", count, type);
    return PMPI_Reduce(send, receive, count, type, op, root, comm);
}

int MPI_Gather(const void *send, int count, MPI_Datatype type, void *receive, int received,
               MPI_Datatype received_type, int root, MPI_Comm comm) {
    count_call("MPI_Gather", count, type);
    return PMPI_Gather(send, count, type, receive, received, received_type, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    count_call("MPI_Barrier", 0, MPI_BYTE);
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    count_call("MPI_Allreduce", count, type);
    return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int received,
                  MPI_Datatype received_type, MPI_Comm comm) {
    count_call("MPI_Allgather", count, type);
    return PMPI_Allgather(send, count, type, receive, received, received_type, comm);
}

int MPI_Finalize(void) {
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("FT_CALLS"), rank);
    FILE *file = fopen(path, "w");
    if (file) {
        for (int i = 0; counters[i].name; i++)
            fprintf(file, "%s %ld %ld\n", counters[i].name, counters[i].bytes, counters[i].calls);
        fprintf(file, "gap %.9f\n", gap_s);
        fclose(file);
    }
    return PMPI_Finalize();
}
