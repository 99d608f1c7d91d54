/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file requests.h
 * What the wrappers of MPI_Wait, MPI_Test, MPI_Start and the like do before and after the MPI library's
 * function.
 *
 * The requests that a call completed are looked up after it: so a call that completes one of many requests,
 * or none, costs little. If point-to-point calls are recorded, each call writes something, so that its time
 * is known; and ignored statuses are replaced by the tracer's own, which resolve wildcards. MPI_Waitall is an
 * exception: what some libraries do after an error depends on its statuses, which are queried before it.
 * tests/trace/test_failing_requests.py compares all calls and libraries.
 */
#ifndef OFFBEAT_TRACE_REQUESTS_H
#define OFFBEAT_TRACE_REQUESTS_H

#include "trace/message_call.h"

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
    const MPI_Status
        *queried_statuses; /**< of each request, by offbeat_tracer_completion_query; NULL: none */
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
OFFBEAT_TRACER_INLINE void offbeat_tracer_request_add(MPI_Request handle, const offbeat_trace_record *record,
                                                      int is_persistent) {
    if (handle == MPI_REQUEST_NULL)
        return;
    offbeat_tracer_requests_lock();
    offbeat_tracer_request *request = offbeat_tracer_request_new();
    if (__builtin_expect(request != NULL, 1)) {
        request->is_message = 0;
        request->is_persistent = is_persistent != 0;
        request->is_active = request->is_recorded = !is_persistent;
        request->record = *record;
        offbeat_tracer_request_insert(&offbeat_tracer_requests, request, (uintptr_t)handle);
    }
    offbeat_tracer_requests_unlock();
}

/** Adds the request of a nonblocking constructor; one of both pointers to the new communicator is NULL. */
void offbeat_tracer_request_add_constructor(MPI_Request request, const offbeat_trace_record *record,
                                            int is_recorded, const MPI_Comm *newcomm,
                                            const MPI_Fint *newcomm_fortran);

/** Makes space for handles and statuses beyond the inline ones. @return whether there is enough memory */
int offbeat_tracer_completion_reserve(offbeat_tracer_completion *completion, int count);

/** Copies the handles of a call, as it sets them to MPI_REQUEST_NULL. If memory is exhausted, the completions
 * are not recorded. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_completion_copy(offbeat_tracer_completion *completion,
                                                          const offbeat_tracer_request_list *requests) {
    completion->handles = completion->inline_handles;
    if (requests->count > OFFBEAT_TRACER_INLINE_REQUESTS &&
        !offbeat_tracer_completion_reserve(completion, requests->count))
        return;
    for (int i = 0; i < requests->count; i++)
        completion->handles[i] =
            (uintptr_t)(!requests->is_fortran ? requests->handles[i]
                                              : PMPI_Request_f2c(requests->fortran_handles[i]));
    completion->count = requests->count > 0 ? requests->count : 0;
}

/** Enters a call.
 * @param function     its id
 * @param completion_kind OFFBEAT_TRACE_BY_WAIT and so on; OFFBEAT_TRACE_BY_NONE for a start */
OFFBEAT_TRACER_INLINE void offbeat_tracer_completion_enter(offbeat_tracer_completion *completion,
                                                           uint16_t function, int completion_kind,
                                                           offbeat_tracer_request_list requests,
                                                           offbeat_tracer_caller caller) {
    completion->thread = &offbeat_tracer_this_thread;
    completion->count = 0;
    completion->has_messages = 0;
    completion->queried_statuses = NULL;
    const size_t outstanding_count =
        atomic_load_explicit(&offbeat_tracer_requests.count, memory_order_relaxed);
    if (completion->thread->depth++ > 0 ||
        !atomic_load_explicit(&offbeat_tracer_is_tracing, memory_order_relaxed) ||
        (outstanding_count == 0 && !offbeat_tracer_state.config.has_messages))
        return;
    completion->caller = caller;
    completion->function = function;
    completion->flags = (uint16_t)(completion_kind << OFFBEAT_TRACE_BY_SHIFT |
                                   (requests.is_fortran ? OFFBEAT_TRACE_FORTRAN : 0));
    completion->is_fortran = requests.is_fortran;
    completion->has_written_records = completion->has_written_messages = 0;
    completion->has_messages = offbeat_tracer_state.config.has_messages;
    if (outstanding_count > 0)
        offbeat_tracer_completion_copy(completion, &requests);
    completion->enter_ns = offbeat_tracer_timestamp_ns(&completion->thread->timestamps);
}

/** Waits, as MPI_Waitall does, for the receives among the requests and takes their statuses:
 * `queried_statuses`, or NULL if this could have another effect. status_query.c. */
void offbeat_tracer_completion_query(offbeat_tracer_completion *completion, MPI_Status *statuses);

/** The statuses to pass instead of ignored ones, as many as handles; NULL: the ignored ones. Fortran's have
 * the same layout as those of C in all libraries. */
static inline void *offbeat_tracer_completion_statuses(offbeat_tracer_completion *completion) {
    if (!completion->has_messages || completion->count == 0)
        return NULL;
    void *statuses = completion->count <= OFFBEAT_TRACER_INLINE_REQUESTS
                         ? (void *)completion->inline_statuses
                         : (void *)(completion->handles + completion->count);
    if (completion->function != OFFBEAT_Waitall)
        return statuses;
    offbeat_tracer_completion_query(completion, statuses);
    return NULL;
}

/** Reads the clock after a call; one of the functions below must follow. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_completion_exit(offbeat_tracer_completion *completion) {
    if (completion->count > 0 || completion->has_messages)
        completion->exit_ns = offbeat_tracer_timestamp_ns(&completion->thread->timestamps);
}

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
