/*
 * The least that a tracer can do: reads the time before a call and after it, and stores both in two
 * variables. Preloaded with LD_PRELOAD, it is the limit of trace_overhead.py.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

static volatile int64_t enter, leave;

static int64_t now(void) {
#ifdef __x86_64__
    return (int64_t)__rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

/* A function between two readings of the time. */
#define LIMIT(name, parameters, arguments)                                                                   \
    int MPI_##name parameters {                                                                              \
        const int64_t began = now();                                                                         \
        const int code = PMPI_##name arguments;                                                              \
        leave = now();                                                                                       \
        enter = began;                                                                                       \
        return code;                                                                                         \
    }

LIMIT(Allreduce, (const void *sent, void *got, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm),
      (sent, got, count, type, operation, comm))
LIMIT(Send, (const void *sent, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
      (sent, count, type, to, tag, comm))
LIMIT(Recv, (void *got, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),
      (got, count, type, from, tag, comm, status))
LIMIT(Isend,
      (const void *sent, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
      (sent, count, type, to, tag, comm, request))
LIMIT(Irecv,
      (void *got, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
      (got, count, type, from, tag, comm, request))
LIMIT(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses))
