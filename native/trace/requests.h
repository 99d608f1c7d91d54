/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file requests.h
 * Requests of collectives from their issue to their completion, and what the wrappers of MPI_Wait, MPI_Test,
 * MPI_Start and the like do before and after the MPI library's function. Other requests are ignored.
 */
#ifndef OFFBEAT_TRACE_REQUESTS_H
#define OFFBEAT_TRACE_REQUESTS_H

#include "trace/call_path.h"
#include "trace/thread_state.h"

#include <mpi.h>

typedef struct offbeat_tracer_request {
    MPI_Request handle;
    int is_persistent, is_active;
    int is_claimed;  /**< a thread is in a call that may complete it */
    int is_recorded; /**< the completion is recorded; of a persistent request: the completion of this round */
    offbeat_trace_record record; /**< of the issue */
    const MPI_Comm *newcomm;     /**< of a nonblocking constructor in C; else NULL */
    const MPI_Fint *newcomm_fortran;
    struct offbeat_tracer_request *next;
} offbeat_tracer_request;

/** A claimed request, and its index in the arguments of the call. */
typedef struct offbeat_tracer_matched_request {
    int index;
    offbeat_tracer_request *request;
} offbeat_tracer_matched_request;

enum { OFFBEAT_TRACER_INLINE_REQUESTS = 8 };

/** The state of a completing or starting call between enter and leave. */
typedef struct offbeat_tracer_completion {
    offbeat_tracer_thread *thread;
    offbeat_tracer_caller caller;
    uint16_t flags; /**< that are added to those of the issue */
    int64_t enter_ns;
    int count;
    offbeat_tracer_matched_request inline_requests[OFFBEAT_TRACER_INLINE_REQUESTS];
    offbeat_tracer_matched_request *matched; /**< inline_requests, or allocated */
} offbeat_tracer_completion;

/** The requests in the arguments of a call; one of both pointers is NULL. */
typedef struct offbeat_tracer_request_list {
    int count;
    const MPI_Request *handles;
    const MPI_Fint *fortran_handles;
} offbeat_tracer_request_list;

/** Adds a request. @param record of its issue */
void offbeat_tracer_request_add(MPI_Request request, const offbeat_trace_record *record, int is_persistent);

/** Adds the request of a nonblocking constructor; one of both pointers to the new communicator is NULL. */
void offbeat_tracer_request_add_constructor(MPI_Request request, const offbeat_trace_record *record,
                                            int is_recorded, const MPI_Comm *newcomm,
                                            const MPI_Fint *newcomm_fortran);

/** Enters a call. Looks up its requests, as the call sets their handles to MPI_REQUEST_NULL.
 * @param completed_by OFFBEAT_TRACE_BY_WAIT and so on; OFFBEAT_TRACE_BY_NONE for a start */
void offbeat_tracer_completion_enter(offbeat_tracer_completion *completion, int completed_by,
                                     offbeat_tracer_request_list requests, offbeat_tracer_caller caller);

/** Leaves a call that completes all requests or none. */
void offbeat_tracer_completion_leave_all(offbeat_tracer_completion *completion, int code, int are_complete);

/**
 * Leaves a call that completes some requests.
 * @param count   of the indices; MPI_UNDEFINED: none
 * @param indices of the completed requests
 * @param first   index of the first request: 0 in C, 1 in Fortran
 */
void offbeat_tracer_completion_leave_some(offbeat_tracer_completion *completion, int code, int count,
                                          const int *indices, int first);

/** Leaves MPI_Start or MPI_Startall. */
void offbeat_tracer_start_leave(offbeat_tracer_completion *completion, int code);

/** Leaves MPI_Request_free. */
void offbeat_tracer_free_leave(offbeat_tracer_completion *completion, int code);

#endif
