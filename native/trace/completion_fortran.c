/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of what starts, completes and frees requests, for Fortran: mpi_wait_ and mpi_wait_f08_.
 * MPI_UNDEFINED is what it is in C.
 */
#include "trace/completion.h"
#include "trace/next.h"

#include <pthread.h>

static offbeat_given_requests these(int count, const MPI_Fint *fortrans) {
    return (offbeat_given_requests){.count = count, .fortrans = fortrans};
}

/* Indices count from 1, but for those that mpi_f08 of MPICH 4.0 gives, which count from 0. */
enum { FIRST = 1 };

static int first_of_f08 = FIRST;

/* Asks for the index of a single request that is complete. */
static void ask_f08(void) {
    static offbeat_next_function next;
    MPI_Request request;
    MPI_Fint index = FIRST, code = MPI_SUCCESS;
    const MPI_Fint count = 1;
    int status[64]; /* a type(MPI_Status) has 5 to 8 */
    if (PMPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS)
        return;
    MPI_Fint fortran = PMPI_Request_c2f(request);
    ((void (*)(const MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *))offbeat_next(
        &next, "mpi_waitany_f08_"))(&count, &fortran, &index, status, &code);
    first_of_f08 = index;
}

/* What mpi_f08 calls the first of several requests. */
static int first_in_f08(const offbeat_awaited *awaited) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (awaited->count > 0)
        pthread_once(&once, ask_f08);
    return first_of_f08;
}

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* A function in both bindings: its parameters, their names, which requests it is given, what it does with
 * them after the call. */
#define WRAPPER(symbol, by, parameters, names, given, finish)                                                \
    void symbol parameters;                                                                                  \
    void symbol parameters {                                                                                 \
        static offbeat_next_function next;                                                                   \
        offbeat_awaited awaited;                                                                             \
        MPI_Fint failed = MPI_SUCCESS;                                                                       \
        if (code == NULL)                                                                                    \
            code = &failed;                                                                                  \
        offbeat_await(&awaited, by, given, OFFBEAT_CALLER);                                                  \
        awaited.flags |= OFFBEAT_TRACE_FORTRAN;                                                              \
        ((void(*) parameters)offbeat_next(&next, #symbol)) names;                                            \
        finish;                                                                                              \
    }
#define BOTH(name, by, parameters, names, given, finish)                                                     \
    WRAPPER(mpi_##name##_, by, parameters, names, given, finish)                                             \
    WRAPPER(mpi_##name##_f08_, by, parameters, names, given, finish)
/* The same for functions that give indices. */
#define BOTH_OF_SOME(name, by, parameters, names, given, count, indices)                                     \
    WRAPPER(mpi_##name##_, by, parameters, names, given,                                                     \
            offbeat_arrived_some(&awaited, *code, count, indices, FIRST))                                    \
    WRAPPER(mpi_##name##_f08_, by, parameters, names, given,                                                 \
            offbeat_arrived_some(&awaited, *code, count, indices, first_in_f08(&awaited)))

BOTH(wait, OFFBEAT_TRACE_BY_WAIT, (MPI_Fint * request, void *status, MPI_Fint *code), (request, status, code),
     these(1, request), offbeat_arrived_all(&awaited, *code, 1))

BOTH(waitall, OFFBEAT_TRACE_BY_WAITALL,
     (const MPI_Fint *count, MPI_Fint *requests, void *statuses, MPI_Fint *code),
     (count, requests, statuses, code), these(*count, requests), offbeat_arrived_all(&awaited, *code, 1))

BOTH_OF_SOME(waitany, OFFBEAT_TRACE_BY_WAITANY,
             (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, void *status, MPI_Fint *code),
             (count, requests, index, status, code), these(*count, requests), 1, index)

BOTH_OF_SOME(waitsome, OFFBEAT_TRACE_BY_WAITSOME,
             (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *indices, void *statuses,
              MPI_Fint *code),
             (count, requests, done, indices, statuses, code), these(*count, requests), *done, indices)

BOTH(test, OFFBEAT_TRACE_BY_TEST, (MPI_Fint * request, MPI_Fint *flag, void *status, MPI_Fint *code),
     (request, flag, status, code), these(1, request), offbeat_arrived_all(&awaited, *code, *flag != 0))

BOTH(testall, OFFBEAT_TRACE_BY_TESTALL,
     (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, void *statuses, MPI_Fint *code),
     (count, requests, flag, statuses, code), these(*count, requests),
     offbeat_arrived_all(&awaited, *code, *flag != 0))

BOTH_OF_SOME(testany, OFFBEAT_TRACE_BY_TESTANY,
             (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag, void *status,
              MPI_Fint *code),
             (count, requests, index, flag, status, code), these(*count, requests), *flag != 0, index)

BOTH_OF_SOME(testsome, OFFBEAT_TRACE_BY_TESTSOME,
             (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *indices, void *statuses,
              MPI_Fint *code),
             (count, requests, done, indices, statuses, code), these(*count, requests), *done, indices)

BOTH(start, OFFBEAT_TRACE_BY_NONE, (MPI_Fint * request, MPI_Fint *code), (request, code), these(1, request),
     offbeat_started(&awaited, *code))

BOTH(startall, OFFBEAT_TRACE_BY_NONE, (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *code),
     (count, requests, code), these(*count, requests), offbeat_started(&awaited, *code))

BOTH(request_free, OFFBEAT_TRACE_BY_FREE, (MPI_Fint * request, MPI_Fint *code), (request, code),
     these(1, request), offbeat_freed(&awaited, *code))
// NOLINTEND(bugprone-macro-parentheses)
