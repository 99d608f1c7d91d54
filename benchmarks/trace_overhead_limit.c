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

#define SENT const void *sent, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define RECEIVED void *got, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm

LIMIT(Allreduce, (const void *sent, void *got, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm),
      (sent, got, count, type, operation, comm))
LIMIT(Iallreduce,
      (const void *sent, void *got, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm,
       MPI_Request *request),
      (sent, got, count, type, operation, comm, request))
LIMIT(Send, (SENT), (sent, count, type, to, tag, comm))
LIMIT(Bsend, (SENT), (sent, count, type, to, tag, comm))
LIMIT(Isend, (SENT, MPI_Request *request), (sent, count, type, to, tag, comm, request))
LIMIT(Recv, (RECEIVED, MPI_Status *status), (got, count, type, from, tag, comm, status))
LIMIT(Irecv, (RECEIVED, MPI_Request *request), (got, count, type, from, tag, comm, request))
LIMIT(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))
LIMIT(Start, (MPI_Request * request), (request))
LIMIT(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
LIMIT(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses))
