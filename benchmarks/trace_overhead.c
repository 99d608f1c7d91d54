/*
 * Times MPI_Allreduce of 8 bytes in turns: batches through MPI_Allreduce, which a tracer sees, and batches
 * of the MPI library's own function, which it doesn't; in one process, so that both have the same cores and
 * the same memory.
 *
 * Usage: trace_overhead BATCHES CALLS. Rank 0 prints a line a batch: "pair" (MPI_COMM_WORLD) or "alone"
 * (MPI_COMM_SELF), the nanoseconds a call that is seen takes, and one that isn't.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double seen_ns(int calls, MPI_Comm comm) {
    double mine = 1.0, sum, began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (now_ns() - began_ns) / calls;
}

static int (*unseen)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* The library's own PMPI_Allreduce, past a tracer that stands in front of that name, too. */
static void find_unseen(void) {
    Dl_info library;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_version"), &library) == 0)
        abort();
    *(void **)&unseen = dlsym(dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD), "PMPI_Allreduce");
}

static double unseen_ns(int calls, MPI_Comm comm) {
    double mine = 1.0, sum, began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        unseen(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (now_ns() - began_ns) / calls;
}

/* Until the processor's speed, the library and the tracer have settled: a tracer that fits its clock needs
 * milliseconds for that. */
enum { CALLS_BEFORE = 200000 };

/* Which one comes first alternates, too. */
static void measure(const char *name, int batches, int calls, MPI_Comm comm, int prints) {
    for (int i = -CALLS_BEFORE / calls; i < batches; i++) {
        double seen = i % 2 ? seen_ns(calls, comm) : 0.0;
        double unseen = unseen_ns(calls, comm);
        if (i % 2 == 0)
            seen = seen_ns(calls, comm);
        if (i >= 0 && prints)
            printf("%s %.2f %.2f\n", name, seen, unseen);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    find_unseen();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int batches = argc > 1 ? atoi(argv[1]) : 200, calls = argc > 2 ? atoi(argv[2]) : 1000;
    measure("pair", batches, calls, MPI_COMM_WORLD, rank == 0);
    measure("alone", batches, calls, MPI_COMM_SELF, rank == 0);
    MPI_Finalize();
    return 0;
}
