/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file requests.h
 * What the wrappers of MPI_Wait, MPI_Test, MPI_Start and the like do before and after the MPI library's
 * function.
 *
 * The requests that a call completed are looked up after it: so a call that completes one of many requests,
 * or none, costs little. If point-to-point calls are recorded, each call writes something, so that its time
 * is known; and ignored statuses are replaced by the tracer's own, which resolve wildcards.
 */
#ifndef OFFBEAT_TRACE_REQUESTS_H
#define OFFBEAT_TRACE_REQUESTS_H

#include "trace/call_path.h"
#include "trace/request_table.h"
#include "trace/thread_state.h"

#include <mpi.h>

enum { OFFBEAT_TRACER_INLINE_REQUESTS = 8 };

/** The state of a completing or starting call between enter and leave. */
typedef struct offbeat_tracer_completion {
    offbeat_tracer_thread *thread;
    offbeat_tracer_caller caller;
    uint16_t function; /**< the completing one */
    uint16_t flags;    /**< that are added to those of the issue */
    int has_messages;  /**< the call itself is recorded */
    int64_t enter_ns, exit_ns;
    uint64_t address; /**< the call site in the file */
    int count;        /**< of handles; 0: nothing is looked up */
    uintptr_t *handles;
    uintptr_t inline_handles[OFFBEAT_TRACER_INLINE_REQUESTS];
    MPI_Status inline_statuses[OFFBEAT_TRACER_INLINE_REQUESTS];
    unsigned char is_fortran;
    unsigned char has_written_records, has_written_messages;
} offbeat_tracer_completion;

/** The requests in the arguments of a call, in C or in Fortran. */
typedef struct offbeat_tracer_request_list {
    int count;
    unsigned char is_fortran;
    const MPI_Request *handles;
    const MPI_Fint *fortran_handles;
} offbeat_tracer_request_list;

/** Adds the request of a collective. @param record of its issue */
void offbeat_tracer_request_add(MPI_Request request, const offbeat_trace_record *record, int is_persistent);

/** Adds the request of a nonblocking constructor; one of both pointers to the new communicator is NULL. */
void offbeat_tracer_request_add_constructor(MPI_Request request, const offbeat_trace_record *record,
                                            int is_recorded, const MPI_Comm *newcomm,
                                            const MPI_Fint *newcomm_fortran);

/** Enters a call. Copies its handles, as the call sets them to MPI_REQUEST_NULL.
 * @param function     its id
 * @param completed_by OFFBEAT_TRACE_BY_WAIT and so on; OFFBEAT_TRACE_BY_NONE for a start */
void offbeat_tracer_completion_enter(offbeat_tracer_completion *completion, uint16_t function,
                                     int completed_by, offbeat_tracer_request_list requests,
                                     offbeat_tracer_caller caller);

/** The statuses to pass instead of ignored ones, as many as handles; NULL: the ignored ones. Fortran's have
 * the same layout as those of C in all libraries. */
void *offbeat_tracer_completion_statuses(offbeat_tracer_completion *completion);

/** Leaves a call that completes all requests or none.
 * @param statuses one for each request; NULL: they were ignored */
void offbeat_tracer_completion_leave_all(offbeat_tracer_completion *completion, int code, int are_complete,
                                         const void *statuses);

/**
 * Leaves a call that completes some requests.
 * @param count    of the indices; MPI_UNDEFINED: none
 * @param indices  of the completed requests
 * @param statuses one for each index; NULL: they were ignored
 * @param first    index of the first request: 0 in C, 1 in Fortran
 */
void offbeat_tracer_completion_leave_some(offbeat_tracer_completion *completion, int code, int count,
                                          const int *indices, const void *statuses, int first);

/** Leaves MPI_Start or MPI_Startall. */
void offbeat_tracer_start_leave(offbeat_tracer_completion *completion, int code);

/** Leaves MPI_Request_free. */
void offbeat_tracer_free_leave(offbeat_tracer_completion *completion, int code);

/** Leaves MPI_Cancel. */
void offbeat_tracer_cancel_leave(offbeat_tracer_completion *completion, int code);

#endif
