/*
 * Times MPI_Allreduce of 8 bytes: batches of MPI_Allreduce, which a tracer records, alternate with batches of
 * the MPI library's own function, which a tracer does not record; in one process, so that both use the same
 * cores and the same memory.
 *
 * Usage: trace_overhead BATCHES CALLS. Rank 0 prints a line a batch: "pair" (MPI_COMM_WORLD) or "alone"
 * (MPI_COMM_SELF), and the nanoseconds of a recorded call and of one that is not recorded.
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

static double recorded_ns(int calls, MPI_Comm comm) {
    double value = 1.0, sum, began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (now_ns() - began_ns) / calls;
}

static int (*unrecorded)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* The library's own PMPI_Allreduce, because a tracer replaces the name PMPI_Allreduce as well. */
static void find_unrecorded(void) {
    Dl_info library;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_version"), &library) == 0)
        abort();
    *(void **)&unrecorded = dlsym(dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD), "PMPI_Allreduce");
}

static double unrecorded_ns(int calls, MPI_Comm comm) {
    double value = 1.0, sum, began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        unrecorded(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (now_ns() - began_ns) / calls;
}

/* Warm-up: the processor's frequency, the library and the tracer reach a steady state. A tracer that fits its
 * clock needs milliseconds for that. */
enum { CALLS_BEFORE = 200000 };

/* The order of the two alternates as well. */
static void measure(const char *name, int batches, int calls, MPI_Comm comm, int prints) {
    for (int i = -CALLS_BEFORE / calls; i < batches; i++) {
        double recorded = i % 2 ? recorded_ns(calls, comm) : 0.0;
        double unrecorded = unrecorded_ns(calls, comm);
        if (i % 2 == 0)
            recorded = recorded_ns(calls, comm);
        if (i >= 0 && prints)
            printf("%s %.2f %.2f\n", name, recorded, unrecorded);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    find_unrecorded();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int batches = argc > 1 ? atoi(argv[1]) : 200, calls = argc > 2 ? atoi(argv[2]) : 1000;
    measure("pair", batches, calls, MPI_COMM_WORLD, rank == 0);
    measure("alone", batches, calls, MPI_COMM_SELF, rank == 0);
    MPI_Finalize();
    return 0;
}
