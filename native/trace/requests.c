/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/requests.h"

#include "trace/communicators.h"
#include "trace/process_state.h"

#include <stdlib.h>

static offbeat_tracer_request_table *const table = &offbeat_tracer_requests;

void offbeat_tracer_request_add_constructor(MPI_Request request, const offbeat_trace_record *record,
                                            int is_recorded, const MPI_Comm *newcomm,
                                            const MPI_Fint *newcomm_fortran) {
    if (request == MPI_REQUEST_NULL)
        return;
    offbeat_tracer_requests_lock();
    offbeat_tracer_request *new_request = offbeat_tracer_request_new();
    if (new_request != NULL) {
        new_request->is_message = 0;
        new_request->is_recorded = is_recorded != 0;
        new_request->newcomm = newcomm;
        new_request->newcomm_fortran = newcomm_fortran;
        new_request->record = *record;
        offbeat_tracer_request_insert(table, new_request, (uintptr_t)request);
    }
    offbeat_tracer_requests_unlock();
}

/* --- completing and starting calls --- */

int offbeat_tracer_completion_reserve(offbeat_tracer_completion *completion, int count) {
    offbeat_tracer_thread *thread = completion->thread;
    const size_t bytes = (size_t)count * (sizeof *completion->handles + sizeof(MPI_Status));
    if (thread->scratch_bytes < bytes) {
        free(thread->scratch);
        thread->scratch = malloc(2 * bytes);
        thread->scratch_bytes = thread->scratch != NULL ? 2 * bytes : 0;
    }
    completion->handles = thread->scratch;
    return thread->scratch != NULL;
}

/* The call itself, for those that wrote nothing else. */
static offbeat_tracer_message_call call_of(const offbeat_tracer_completion *completion) {
    return (offbeat_tracer_message_call){
        .thread = completion->thread,
        .is_traced = 1,
        .is_recorded = offbeat_tracer_in_window(completion->enter_ns) != 0,
        .function = completion->function,
        .flags = completion->flags & OFFBEAT_TRACE_FORTRAN,
        .enter_ns = completion->enter_ns,
        .exit_ns = completion->exit_ns,
        .caller = completion->caller,
    };
}

static __attribute__((noinline)) void write_call(const offbeat_tracer_completion *completion,
                                                 int has_succeeded) {
    const offbeat_tracer_message_call call = call_of(completion);
    if (has_succeeded)
        offbeat_tracer_message_write_call(&call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
    else
        offbeat_tracer_message_write_poll(&call);
}

/* @param has_succeeded whether the call, if it is a test, completed what it tested */
OFFBEAT_TRACER_INLINE void leave(const offbeat_tracer_completion *completion, int has_succeeded) {
    if (completion->has_messages && !completion->has_written_records && !completion->has_written_messages)
        write_call(completion, has_succeeded);
    completion->thread->depth--;
}

/* Looked up once, for the first of several requests. */
OFFBEAT_TRACER_INLINE uint64_t call_site(offbeat_tracer_completion *completion) {
    if (!completion->has_written_records && !completion->has_written_messages)
        completion->address = offbeat_tracer_call_site(completion->thread, completion->caller);
    return completion->address;
}

/* Flags of a phase by this call, from those of the issue. */
OFFBEAT_TRACER_INLINE uint16_t phase_flags(const offbeat_tracer_completion *completion, uint16_t issue_flags,
                                           uint16_t phase, int is_failed) {
    issue_flags &= (uint16_t) ~(OFFBEAT_TRACE_PHASE | OFFBEAT_TRACE_FAILED);
    return issue_flags | completion->flags | phase | (is_failed ? OFFBEAT_TRACE_FAILED : 0);
}

OFFBEAT_TRACER_INLINE void write_record(offbeat_tracer_completion *completion,
                                        const offbeat_tracer_request *request, uint16_t phase,
                                        int is_failed) {
    offbeat_trace_record record = request->record;
    record.enter_ns = completion->enter_ns;
    record.exit_ns = completion->exit_ns;
    record.address = call_site(completion);
    record.flags = phase_flags(completion, record.flags, phase, is_failed);
    if (completion->has_written_messages)
        record.flags |= OFFBEAT_TRACE_SHARED;
    completion->has_written_records = 1;
    offbeat_tracer_write_record(completion->thread, &record);
}

OFFBEAT_TRACER_INLINE void write_message(offbeat_tracer_completion *completion,
                                         offbeat_trace_message *message) {
    message->enter_ns = completion->enter_ns;
    message->exit_ns = completion->exit_ns;
    message->address = call_site(completion);
    if (completion->has_written_records)
        message->flags |= OFFBEAT_TRACE_SHARED;
    completion->has_written_messages = 1;
    offbeat_tracer_write_message(completion->thread, message);
}

/* Whether a message was cancelled by its status. */
OFFBEAT_TRACER_INLINE int is_cancelled(const offbeat_tracer_request *request, const MPI_Status *status) {
    int is_set = 0;
    return request->is_cancelled && status != NULL && PMPI_Test_cancelled(status, &is_set) == MPI_SUCCESS &&
           is_set;
}

/* A completion of a message; `status` may be NULL. A request that was posted unrecorded is written if it is
 * completed within the window, and else counted as skipped. */
OFFBEAT_TRACER_INLINE void complete_message(offbeat_tracer_completion *completion,
                                            const offbeat_tracer_request *request, const MPI_Status *status,
                                            int is_failed) {
    offbeat_trace_message message = request->message;
    const int was_resolved = message.peer != OFFBEAT_TRACE_UNKNOWN && message.tag != OFFBEAT_TRACE_UNKNOWN;
    message.flags = phase_flags(completion, message.flags, OFFBEAT_TRACE_COMPLETION, is_failed);
    if (is_cancelled(request, status))
        message.flags |= OFFBEAT_TRACE_CANCELLED;
    else if (message.kind == OFFBEAT_TRACE_RECEIVE && status != NULL && !is_failed)
        offbeat_tracer_message_resolve(&message, status);
    const int is_received = !(message.flags & (OFFBEAT_TRACE_FAILED | OFFBEAT_TRACE_CANCELLED));
    if (!request->is_recorded && !offbeat_tracer_in_window(completion->enter_ns)) {
        const offbeat_trace_message skipped_message =
            message; /* as in offbeat_tracer_message_state_skipped */
        if (is_received)
            offbeat_tracer_message_skip(&skipped_message);
        return;
    }
    if (is_received && (!was_resolved || !request->is_recorded))
        offbeat_tracer_message_state_skipped(&message);
    write_message(completion, &message);
}

static void define_newcomm(const offbeat_tracer_request *request) {
    MPI_Comm newcomm =
        request->newcomm != NULL ? *request->newcomm : PMPI_Comm_f2c(*request->newcomm_fortran);
    offbeat_tracer_communicator_created(newcomm, request->record.communicator, request->record.function);
}

/* The error class of one of several requests. */
OFFBEAT_TRACER_INLINE int class_of(const offbeat_tracer_completion *completion, int code,
                                   const MPI_Status *status) {
    int class = code;
    const int is_pending = status != NULL && status->MPI_ERROR == MPI_ERR_PENDING;
    if (status != NULL &&
        (code == MPI_ERR_IN_STATUS || (completion->queried_statuses != NULL && !is_pending)))
        PMPI_Error_class(status->MPI_ERROR, &class);
    return class;
}

/* Whether MPI_Isendrecv sets its status: MPICH 4 and 5 and Intel MPI leave it as it was. Then the source and
 * the tag are those of the call, and a wildcard remains unresolved. */
#ifdef OPEN_MPI
enum { EXCHANGES_HAVE_STATUS = 1 };
#else
enum { EXCHANGES_HAVE_STATUS = 0 };
#endif

/* Writes and frees the send of MPI_Isendrecv. */
static __attribute__((noinline)) void finish_other(offbeat_tracer_completion *completion,
                                                   offbeat_tracer_request *send_request, int is_failed) {
    complete_message(completion, send_request, NULL, is_failed);
    offbeat_tracer_requests_lock();
    offbeat_tracer_request_delete(send_request);
    offbeat_tracer_requests_unlock();
}

/* Writes the completion of a request, which is inactive afterwards. */
OFFBEAT_TRACER_INLINE void finish(offbeat_tracer_completion *completion, offbeat_tracer_request *request,
                                  const MPI_Status *status, int is_failed) {
    if (request->is_message && request->is_active) {
        const int has_status = request->send_request == NULL || EXCHANGES_HAVE_STATUS;
        if (request->send_request != NULL)
            finish_other(completion, request->send_request, is_failed);
        complete_message(completion, request, has_status ? status : NULL, is_failed);
    } else if (request->is_active && request->is_recorded) {
        write_record(completion, request, OFFBEAT_TRACE_COMPLETION, is_failed);
    }
    if (!is_failed && (request->newcomm != NULL || request->newcomm_fortran != NULL))
        define_newcomm(request);
    request->is_active = 0;
}

OFFBEAT_TRACER_INLINE void complete(offbeat_tracer_completion *completion, uintptr_t handle,
                                    const MPI_Status *status, int code) {
    const int class = class_of(completion, code, status);
    if ((MPI_Request)handle == MPI_REQUEST_NULL || class == MPI_ERR_PENDING)
        return;
    offbeat_tracer_request copy,
        *request = offbeat_tracer_request_take(table, handle, completion->enter_ns, &copy);
    if (request != NULL)
        finish(completion, request, status, class != MPI_SUCCESS);
}

/* One of the statuses; NULL if there are none. @param status_copy where one of Fortran is stored */
OFFBEAT_TRACER_INLINE const MPI_Status *status_at(const offbeat_tracer_completion *completion,
                                                  const void *statuses, int i, MPI_Status *status_copy) {
    const MPI_Status *status = statuses;
    if (status == NULL || !completion->is_fortran || status == completion->queried_statuses)
        return status == NULL ? NULL : &status[i];
    return PMPI_Status_f2c((const MPI_Fint *)&status[i], status_copy) == MPI_SUCCESS ? status_copy : NULL;
}

OFFBEAT_TRACER_INLINE void complete_at(offbeat_tracer_completion *completion, int i, int status_index,
                                       const void *statuses, int code) {
    MPI_Status status_copy;
    complete(completion, completion->handles[i], status_at(completion, statuses, status_index, &status_copy),
             code);
}

void offbeat_tracer_completion_leave_all(offbeat_tracer_completion *completion, int code, int are_complete,
                                         const void *statuses) {
    for (int i = 0; i < completion->count && are_complete; i++)
        complete_at(completion, i, i, statuses, code);
    leave(completion, are_complete);
}

void offbeat_tracer_completion_leave_some(offbeat_tracer_completion *completion, int code, int count,
                                          const int *indices, const void *statuses, int first) {
    const int is_none = count == MPI_UNDEFINED;
    for (int i = 0; i < count && i < completion->count && !is_none; i++) {
        const int index = indices[i] - first; /* MPI_UNDEFINED: there was no active request */
        if (index >= 0 && index < completion->count)
            complete_at(completion, index, i, statuses, code);
    }
    leave(completion, count != 0);
}

/* A start of a persistent request. */
static void start(offbeat_tracer_completion *completion, offbeat_tracer_request *request, int code) {
    const int is_failed = code != MPI_SUCCESS, is_in_window = offbeat_tracer_in_window(completion->enter_ns);
    uint32_t *round = request->is_message ? &request->message.round : &request->record.round;
    ++*round;
    request->is_active = !is_failed;
    if (!request->is_message) {
        const int is_sampled = (*round - 1) % offbeat_tracer_state.config.period == 0;
        request->is_recorded = is_sampled && is_in_window;
        if (request->is_recorded)
            write_record(completion, request, OFFBEAT_TRACE_START, is_failed);
        return;
    }
    request->is_recorded = is_in_window != 0;
    request->message.enter_ns = completion->enter_ns;
    if (!request->is_recorded)
        return;
    offbeat_trace_message message = request->message;
    message.flags = phase_flags(completion, message.flags, OFFBEAT_TRACE_START, is_failed);
    if (!is_failed)
        offbeat_tracer_message_state_skipped(&message);
    write_message(completion, &message);
}

void offbeat_tracer_start_leave(offbeat_tracer_completion *completion, int code) {
    for (int i = 0; i < completion->count; i++) {
        offbeat_tracer_request *request = offbeat_tracer_request_find(table, completion->handles[i]);
        if (request != NULL && request->is_persistent)
            start(completion, request, code);
    }
    leave(completion, 1);
}

void offbeat_tracer_free_leave(offbeat_tracer_completion *completion, int code) {
    offbeat_tracer_request copy, *request = NULL;
    if (completion->count > 0)
        request = offbeat_tracer_request_take(table, completion->handles[0], completion->enter_ns, &copy);
    if (request != NULL)
        finish(completion, request, NULL, code != MPI_SUCCESS);
    if (request != NULL && request->is_persistent)
        offbeat_tracer_request_remove(table, request);
    leave(completion, 1);
}

void offbeat_tracer_cancel_leave(offbeat_tracer_completion *completion, int code) {
    if (completion->count > 0 && code == MPI_SUCCESS) {
        offbeat_tracer_request *request = offbeat_tracer_request_find(table, completion->handles[0]);
        if (request != NULL)
            request->is_cancelled = 1;
    }
    leave(completion, 1);
}
