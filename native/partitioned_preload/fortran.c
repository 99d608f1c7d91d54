/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The procedures of the Fortran module mpi_f08, in libraries of MPICH's family: most of them call PMPI
 * functions, which cannot be replaced. (Those with buffers, and mpif.h, call the functions of C.)
 *
 * In these libraries a handle or a status in Fortran is the one of C. An absent argument is NULL.
 */
#include "partitioned_preload/identity.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/wait.h"

#include <offbeat/partitioned.h>
#include <stddef.h>

#ifdef MPICH_NUMVERSION

typedef MPI_Fint fint;

/* Defines a procedure; its name in an object file is the one of gfortran and Intel's compilers. */
#define PROCEDURE(name, ...)                                                                                 \
    void mpi_##name##_f08_(__VA_ARGS__);                                                                     \
    void mpi_##name##_f08_(__VA_ARGS__)

static void set_code(fint *code, int rc) {
    if (code != NULL)
        *code = rc;
}

static MPI_Status *status_of(MPI_Status *status) {
    return (void *)status == (void *)MPI_F08_STATUS_IGNORE ? MPI_STATUS_IGNORE : status;
}

static MPI_Status *statuses_of(MPI_Status *statuses) {
    return (void *)statuses == (void *)MPI_F08_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses;
}

/* --- MPI itself, and communicators: the library's procedure, and what the preload adds to it --- */

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Replaces a procedure whose last parameter is `code`. `after` is done if it succeeded (`rc`). */
#define EXTEND(name, parameters, arguments, before_call, after_call)                                         \
    void mpi_##name##_f08_ parameters;                                                                       \
    void mpi_##name##_f08_ parameters {                                                                      \
        static _Atomic(void *) next_function;                                                                \
        fint rc = MPI_SUCCESS, *callers_code = code;                                                         \
        code = &rc;                                                                                          \
        before_call;                                                                                         \
        ((void(*) parameters)offbeat_preload_next(&next_function, "mpi_" #name "_f08_", NULL)) arguments;    \
        if (rc == MPI_SUCCESS)                                                                               \
            after_call;                                                                                      \
        set_code(callers_code, rc);                                                                          \
    }

EXTEND(init, (fint * code), (code), (void)0, rc = offbeat_preload_begin())
EXTEND(init_thread, (const fint *required_level, fint *provided_level, fint *code),
       (required_level, provided_level, code), (void)0, rc = offbeat_preload_begin())
EXTEND(finalize, (fint * code), (code), offbeat_preload_end(), (void)0)

#define CONSTRUCTOR(name, parameters, arguments)                                                             \
    EXTEND(name, parameters, arguments, const int64_t identity = offbeat_preload_child_identity(*comm),      \
           offbeat_preload_set_identity(*newcomm, identity))

CONSTRUCTOR(comm_dup, (MPI_Comm * comm, MPI_Comm *newcomm, fint *code), (comm, newcomm, code))
CONSTRUCTOR(comm_dup_with_info, (MPI_Comm * comm, void *info, MPI_Comm *newcomm, fint *code),
            (comm, info, newcomm, code))
CONSTRUCTOR(comm_idup, (MPI_Comm * comm, MPI_Comm *newcomm, void *request, fint *code),
            (comm, newcomm, request, code))
CONSTRUCTOR(comm_idup_with_info, (MPI_Comm * comm, void *info, MPI_Comm *newcomm, void *request, fint *code),
            (comm, info, newcomm, request, code))
CONSTRUCTOR(comm_split, (MPI_Comm * comm, void *color, void *key, MPI_Comm *newcomm, fint *code),
            (comm, color, key, newcomm, code))
CONSTRUCTOR(comm_split_type,
            (MPI_Comm * comm, void *split_type, void *key, void *info, MPI_Comm *newcomm, fint *code),
            (comm, split_type, key, info, newcomm, code))
CONSTRUCTOR(comm_create, (MPI_Comm * comm, void *group, MPI_Comm *newcomm, fint *code),
            (comm, group, newcomm, code))
CONSTRUCTOR(intercomm_merge, (MPI_Comm * comm, void *high, MPI_Comm *newcomm, fint *code),
            (comm, high, newcomm, code))
CONSTRUCTOR(cart_create,
            (MPI_Comm * comm, void *dimensions, void *sizes, void *periods, void *reorder, MPI_Comm *newcomm,
             fint *code),
            (comm, dimensions, sizes, periods, reorder, newcomm, code))
CONSTRUCTOR(cart_sub, (MPI_Comm * comm, void *remain_dims, MPI_Comm *newcomm, fint *code),
            (comm, remain_dims, newcomm, code))
CONSTRUCTOR(graph_create,
            (MPI_Comm * comm, void *nodes, void *index, void *edges, void *reorder, MPI_Comm *newcomm,
             fint *code),
            (comm, nodes, index, edges, reorder, newcomm, code))
CONSTRUCTOR(dist_graph_create,
            (MPI_Comm * comm, void *n, void *sources, void *degrees, void *destinations, void *weights,
             void *info, void *reorder, MPI_Comm *newcomm, fint *code),
            (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm, code))
CONSTRUCTOR(dist_graph_create_adjacent,
            (MPI_Comm * comm, void *indegree, void *sources, void *source_weights, void *outdegree,
             void *destinations, void *destination_weights, void *info, void *reorder, MPI_Comm *newcomm,
             fint *code),
            (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info,
             reorder, newcomm, code))

/* The processes of the new communicator agree on its identity. */
#define AGREED_CONSTRUCTOR(name, parameters, arguments)                                                      \
    EXTEND(name, parameters, arguments, (void)0, {                                                           \
        if (*newcomm != MPI_COMM_NULL)                                                                       \
            offbeat_preload_set_identity(*newcomm, offbeat_preload_agreed_identity(*newcomm));               \
    })

AGREED_CONSTRUCTOR(comm_create_group,
                   (MPI_Comm * comm, void *group, void *tag, MPI_Comm *newcomm, fint *code),
                   (comm, group, tag, newcomm, code))
AGREED_CONSTRUCTOR(intercomm_create,
                   (MPI_Comm * comm, void *local_leader, void *peer_comm, void *remote_leader, void *tag,
                    MPI_Comm *newcomm, fint *code),
                   (comm, local_leader, peer_comm, remote_leader, tag, newcomm, code))

// NOLINTEND(bugprone-macro-parentheses)

/* --- blocking procedures without buffers, and requests: the functions for C --- */

PROCEDURE(probe, const fint *source, const fint *tag, const MPI_Comm *comm, MPI_Status *status, fint *code) {
    set_code(code, MPI_Probe(*source, *tag, *comm, status_of(status)));
}

PROCEDURE(mprobe, const fint *source, const fint *tag, const MPI_Comm *comm, MPI_Message *message,
          MPI_Status *status, fint *code) {
    set_code(code, MPI_Mprobe(*source, *tag, *comm, message, status_of(status)));
}

/* The partitions are const in the headers of some libraries only. */
int offbeat_preload_pready_list(int length, const int partitions[],
                                MPI_Request request) __asm__("MPI_Pready_list");

PROCEDURE(pready, const fint *partition, const MPI_Request *request, fint *code) {
    set_code(code, MPI_Pready(*partition, *request));
}

PROCEDURE(pready_range, const fint *low, const fint *high, const MPI_Request *request, fint *code) {
    set_code(code, MPI_Pready_range(*low, *high, *request));
}

PROCEDURE(pready_list, const fint *length, const fint partitions[], const MPI_Request *request, fint *code) {
    set_code(code, offbeat_preload_pready_list(*length, partitions, *request));
}

PROCEDURE(parrived, const MPI_Request *request, const fint *partition, fint *flag, fint *code) {
    set_code(code, MPI_Parrived(*request, *partition, flag));
}

PROCEDURE(start, MPI_Request *request, fint *code) {
    set_code(code, MPI_Start(request));
}

PROCEDURE(startall, const fint *count, MPI_Request requests[], fint *code) {
    set_code(code, MPI_Startall(*count, requests));
}

PROCEDURE(request_free, MPI_Request *request, fint *code) {
    set_code(code, MPI_Request_free(request));
}

PROCEDURE(cancel, MPI_Request *request, fint *code) {
    set_code(code, MPI_Cancel(request));
}

PROCEDURE(request_get_status, const MPI_Request *request, fint *flag, MPI_Status *status, fint *code) {
    set_code(code, MPI_Request_get_status(*request, flag, status_of(status)));
}

PROCEDURE(wait, MPI_Request *request, MPI_Status *status, fint *code) {
    set_code(code, MPI_Wait(request, status_of(status)));
}

PROCEDURE(test, MPI_Request *request, fint *flag, MPI_Status *status, fint *code) {
    set_code(code, MPI_Test(request, flag, status_of(status)));
}

PROCEDURE(waitall, const fint *count, MPI_Request requests[], MPI_Status *statuses, fint *code) {
    set_code(code, MPI_Waitall(*count, requests, statuses_of(statuses)));
}

PROCEDURE(testall, const fint *count, MPI_Request requests[], fint *flag, MPI_Status *statuses, fint *code) {
    set_code(code, MPI_Testall(*count, requests, flag, statuses_of(statuses)));
}

/* Fortran counts from 1. */
static void shift(fint *index) {
    if (*index != MPI_UNDEFINED)
        ++*index;
}

static void shift_all(fint number, fint indices[]) {
    for (fint i = 0; number != MPI_UNDEFINED && i < number; i++)
        indices[i]++;
}

PROCEDURE(waitany, const fint *count, MPI_Request requests[], fint *index, MPI_Status *status, fint *code) {
    *index = MPI_UNDEFINED;
    set_code(code, MPI_Waitany(*count, requests, index, status_of(status)));
    shift(index);
}

PROCEDURE(testany, const fint *count, MPI_Request requests[], fint *index, fint *flag, MPI_Status *status,
          fint *code) {
    *flag = 0; /* where the call fails without setting the results */
    set_code(code, MPI_Testany(*count, requests, index, flag, status_of(status)));
    if (*flag)
        shift(index);
}

PROCEDURE(waitsome, const fint *count, MPI_Request requests[], fint *number, fint indices[],
          MPI_Status *statuses, fint *code) {
    *number = MPI_UNDEFINED;
    set_code(code, MPI_Waitsome(*count, requests, number, indices, statuses_of(statuses)));
    shift_all(*number, indices);
}

PROCEDURE(testsome, const fint *count, MPI_Request requests[], fint *number, fint indices[],
          MPI_Status *statuses, fint *code) {
    *number = MPI_UNDEFINED;
    set_code(code, MPI_Testsome(*count, requests, number, indices, statuses_of(statuses)));
    shift_all(*number, indices);
}

#endif
