/*
 * Times MPI_Allreduce of 8 bytes, or messages of 8 bytes: batches of calls, which a tracer records, alternate
 * with batches of the MPI library's own function, which a tracer does not record; in one process, so that
 * both use the same cores and the same memory.
 *
 * Usage: trace_overhead BATCHES CALLS [messages|sites]. Rank 0 prints a line a batch: "pair" (MPI_COMM_WORLD)
 * or "alone" (MPI_COMM_SELF), and the nanoseconds of a recorded call and of one that is not recorded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The functions of the MPI library, or those that a tracer puts before them. */
typedef struct functions {
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*waitall)(int, MPI_Request *, MPI_Status *);
} functions;

static functions recorded = {MPI_Allreduce, MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Waitall},
                 unrecorded;

/* The library's own PMPI functions, because a tracer replaces the names PMPI_Allreduce and so on as well. */
static void find_unrecorded(void) {
    Dl_info library;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_version"), &library) == 0)
        abort();
    void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&unrecorded.allreduce = dlsym(handle, "PMPI_Allreduce");
    *(void **)&unrecorded.send = dlsym(handle, "PMPI_Send");
    *(void **)&unrecorded.recv = dlsym(handle, "PMPI_Recv");
    *(void **)&unrecorded.isend = dlsym(handle, "PMPI_Isend");
    *(void **)&unrecorded.irecv = dlsym(handle, "PMPI_Irecv");
    *(void **)&unrecorded.waitall = dlsym(handle, "PMPI_Waitall");
}

static void reduce(const functions *by, MPI_Comm comm) {
    double value = 1.0, sum;
    by->allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* The same from 64 functions in turn: each call has another call path than the ones before it. */
#define SITE(n)                                                                                              \
    static __attribute__((noinline)) void site_##n(const functions *by, MPI_Comm comm) {                    \
        reduce(by, comm);                                                                                    \
        __asm__ volatile("");                                                                                \
    }
#define EIGHT(do, n) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define ALL(do)                                                                                              \
    EIGHT(do, 0) EIGHT(do, 1) EIGHT(do, 2) EIGHT(do, 3) EIGHT(do, 4) EIGHT(do, 5) EIGHT(do, 6) EIGHT(do, 7)
ALL(SITE)
#define ADDRESS(n) site_##n,
static void (*const sites[])(const functions *, MPI_Comm) = {ALL(ADDRESS)};

static void reduce_in_turn(const functions *by, MPI_Comm comm) {
    static unsigned next;
    sites[next++ % (sizeof sites / sizeof *sites)](by, comm);
}

/* Between two ranks a message there and one back; of one process alone a message to itself by requests. */
static void pass(const functions *by, MPI_Comm comm) {
    static int rank = -1;
    double sent = 1.0, got;
    MPI_Request requests[2];
    if (rank < 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (comm == MPI_COMM_SELF) {
        by->irecv(&got, 1, MPI_DOUBLE, 0, 0, comm, &requests[0]);
        by->isend(&sent, 1, MPI_DOUBLE, 0, 0, comm, &requests[1]);
        by->waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 0) {
        by->send(&sent, 1, MPI_DOUBLE, 1, 0, comm);
        by->recv(&got, 1, MPI_DOUBLE, 1, 0, comm, MPI_STATUS_IGNORE);
    } else {
        by->recv(&got, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
        by->send(&sent, 1, MPI_DOUBLE, 0, 0, comm);
    }
}

static void (*work)(const functions *, MPI_Comm) = reduce;

static double time_ns(const functions *by, int calls, MPI_Comm comm) {
    const double began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        work(by, comm);
    return (now_ns() - began_ns) / calls;
}

/* Warm-up: the processor's frequency, the library and the tracer reach a steady state. A tracer that fits its
 * clock needs milliseconds for that. */
enum { CALLS_BEFORE = 200000 };

/* The order of the two alternates as well. */
static void measure(const char *name, int batches, int calls, MPI_Comm comm, int prints) {
    for (int i = -CALLS_BEFORE / calls; i < batches; i++) {
        double recorded_ns = i % 2 ? time_ns(&recorded, calls, comm) : 0.0;
        const double unrecorded_ns = time_ns(&unrecorded, calls, comm);
        if (i % 2 == 0)
            recorded_ns = time_ns(&recorded, calls, comm);
        if (i >= 0 && prints)
            printf("%s %.2f %.2f\n", name, recorded_ns, unrecorded_ns);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    find_unrecorded();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int batches = argc > 1 ? atoi(argv[1]) : 200, calls = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc > 3 && strcmp(argv[3], "messages") == 0)
        work = pass;
    if (argc > 3 && strcmp(argv[3], "sites") == 0)
        work = reduce_in_turn;
    measure("pair", batches, calls, MPI_COMM_WORLD, rank == 0);
    measure("alone", batches, calls, MPI_COMM_SELF, rank == 0);
    MPI_Finalize();
    return 0;
}
