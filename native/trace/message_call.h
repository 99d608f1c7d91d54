/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file message_call.h
 * What wrappers of point-to-point functions do before and after the MPI library's function.
 *
 * As for collectives (traced_call.h), the clock is read as the last step before that function and the first
 * step after it, and a nested wrapper records nothing. Outside of a window and in a pause, messages are
 * counted and not recorded (skipped_messages.h).
 */
#ifndef OFFBEAT_TRACE_MESSAGE_CALL_H
#define OFFBEAT_TRACE_MESSAGE_CALL_H

#include "trace/call_path.h"
#include "trace/communicators.h"
#include "trace/message_status.h"
#include "trace/process_state.h"
#include "trace/record_arguments.h"
#include "trace/request_table.h"
#include "trace/skipped_messages.h"

/** The state of a call between enter and leave. */
typedef struct offbeat_tracer_message_call {
    offbeat_tracer_thread *thread;
    const offbeat_tracer_communicator *comm; /**< NULL: not traced, or a call without a communicator */
    unsigned char is_traced, is_recorded;
    unsigned char is_found, was_found_recorded; /**< of MPI_Mrecv and MPI_Imrecv: `matched_message` is known,
                                                   and whether the probe was recorded */
    uint16_t function, flags;
    int64_t enter_ns, exit_ns;
    offbeat_tracer_caller caller;
    offbeat_trace_message matched_message; /**< the message of the probe */
} offbeat_tracer_message_call;

/** The arguments on one message. */
typedef struct offbeat_tracer_envelope {
    int peer, tag;
    MPI_Datatype type;
    MPI_Count count;
} offbeat_tracer_envelope;

/** Whether this is the outermost wrapper of a process that records point-to-point calls; increments the
 * nesting depth. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_message_call_is_outermost(offbeat_tracer_thread *thread) {
    return thread->depth++ == 0 && atomic_load_explicit(&offbeat_tracer_is_tracing, memory_order_relaxed) &&
           offbeat_tracer_state.config.has_messages;
}

/** Reads the clock before a call. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_begin(offbeat_tracer_message_call *call, uint16_t function,
                                                        uint16_t flags, offbeat_tracer_caller caller) {
    call->is_traced = 1;
    call->function = function;
    call->flags = flags;
    call->caller = caller;
    call->enter_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
    call->is_recorded = offbeat_tracer_in_window(call->enter_ns) != 0;
}

/** Enters a call. @param caller OFFBEAT_TRACER_CALLER */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_enter(offbeat_tracer_message_call *call, uint16_t function,
                                                        uint16_t flags, MPI_Comm comm,
                                                        offbeat_tracer_caller caller) {
    call->thread = &offbeat_tracer_this_thread;
    call->comm = NULL;
    call->is_traced = 0;
    if (!offbeat_tracer_message_call_is_outermost(call->thread) || comm == MPI_COMM_NULL)
        return;
    const offbeat_tracer_communicator *communicator = offbeat_tracer_communicator_cached(call->thread, comm);
    if (communicator == NULL || !communicator->is_sampled)
        return;
    call->comm = communicator;
    offbeat_tracer_message_begin(call, function, flags, caller);
}

/** Enters MPI_Mrecv or MPI_Imrecv, which have no communicator: takes what the probe found. */
void offbeat_tracer_message_take(offbeat_tracer_message_call *call, uint16_t function, uint16_t flags,
                                 MPI_Message message, offbeat_tracer_caller caller);

/** Leaves a call. @return whether one of the functions below must follow */
OFFBEAT_TRACER_INLINE int offbeat_tracer_message_leave(offbeat_tracer_message_call *call) {
    if (call->is_traced)
        call->exit_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
    call->thread->depth--;
    return call->is_traced;
}

/* --- the message of a call --- */

/** Its members that all messages of a call share. */
OFFBEAT_TRACER_INLINE offbeat_trace_message offbeat_tracer_message_of(const offbeat_tracer_message_call *call,
                                                                      uint16_t kind, int phase, int code) {
    return (offbeat_trace_message){
        .enter_ns = call->enter_ns,
        .exit_ns = call->exit_ns,
        .communicator = call->comm != NULL ? call->comm->id : 0,
        .peer = OFFBEAT_TRACE_UNKNOWN,
        .tag = OFFBEAT_TRACE_UNKNOWN,
        .function = call->function,
        .kind = kind,
        .flags = (uint16_t)(call->flags | phase | (code == MPI_SUCCESS ? 0 : OFFBEAT_TRACE_FAILED))};
}

/** Sets the arguments of a call. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_set_envelope(const offbeat_tracer_message_call *call,
                                                               offbeat_trace_message *message,
                                                               const offbeat_tracer_envelope *envelope) {
    message->peer = envelope->peer;
    message->tag = envelope->tag;
    if (envelope->peer == MPI_PROC_NULL)
        message->peer = OFFBEAT_TRACE_PEER_PROC_NULL;
    if (message->kind != OFFBEAT_TRACE_SEND && envelope->peer == MPI_ANY_SOURCE) {
        message->peer = OFFBEAT_TRACE_UNKNOWN;
        message->flags |= OFFBEAT_TRACE_ANY_SOURCE;
    }
    if (message->kind != OFFBEAT_TRACE_SEND && envelope->tag == MPI_ANY_TAG) {
        message->tag = OFFBEAT_TRACE_UNKNOWN;
        message->flags |= OFFBEAT_TRACE_ANY_TAG;
    }
    if (envelope->type == MPI_DATATYPE_NULL)
        return;
    const offbeat_tracer_cached_handle type = offbeat_tracer_datatype_cached(call->thread, envelope->type);
    message->datatype = type.id;
    message->bytes = envelope->count > 0 ? (uint64_t)envelope->count * type.size_bytes : 0;
}

/** Sets peer, tag and bytes of a receive by its status. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_resolve(offbeat_trace_message *message,
                                                          const MPI_Status *status) {
    if (message->peer == OFFBEAT_TRACE_PEER_PROC_NULL)
        message->bytes = 0;
    if (message->peer == OFFBEAT_TRACE_PEER_PROC_NULL || status->MPI_SOURCE < 0)
        return;
    message->peer = status->MPI_SOURCE;
    message->tag = status->MPI_TAG;
    message->bytes = offbeat_tracer_received_bytes(status);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_message_write(const offbeat_tracer_message_call *call,
                                                        offbeat_trace_message *message) {
    message->address = offbeat_tracer_call_site(call->thread, call->caller);
    offbeat_tracer_write_message(call->thread, message);
}

/** Writes a message that was posted, or counts it if the call is not recorded. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_write_or_skip(const offbeat_tracer_message_call *call,
                                                                offbeat_trace_message *message) {
    const int is_posted = !(message->flags & OFFBEAT_TRACE_FAILED);
    if (!call->is_recorded) {
        const offbeat_trace_message skipped_message =
            *message; /* as in offbeat_tracer_message_state_skipped */
        if (is_posted)
            offbeat_tracer_message_skip(&skipped_message);
        return;
    }
    if (is_posted)
        offbeat_tracer_message_state_skipped(message);
    offbeat_tracer_message_write(call, message);
}

/* --- what a call did; `code` is its error code --- */

/** A message was sent. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_sent(const offbeat_tracer_message_call *call, int code,
                                                       const offbeat_tracer_envelope *envelope) {
    offbeat_trace_message message =
        offbeat_tracer_message_of(call, OFFBEAT_TRACE_SEND, OFFBEAT_TRACE_CALL, code);
    offbeat_tracer_message_set_envelope(call, &message, envelope);
    offbeat_tracer_message_write_or_skip(call, &message);
}

/** A message was received. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_received(const offbeat_tracer_message_call *call, int code,
                                                           const offbeat_tracer_envelope *envelope,
                                                           const MPI_Status *status) {
    offbeat_trace_message message =
        offbeat_tracer_message_of(call, OFFBEAT_TRACE_RECEIVE, OFFBEAT_TRACE_CALL, code);
    offbeat_tracer_message_set_envelope(call, &message, envelope);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    offbeat_tracer_message_write_or_skip(call, &message);
}

/** MPI_Sendrecv: a message was sent and one was received. */
void offbeat_tracer_message_exchanged(const offbeat_tracer_message_call *call, int code,
                                      const offbeat_tracer_envelope *send_envelope,
                                      const offbeat_tracer_envelope *receive_envelope,
                                      const MPI_Status *status);

/** The requests of all calls, and the table that MPI_Mprobe fills. */
extern offbeat_tracer_request_table offbeat_tracer_requests, offbeat_tracer_found_messages;

/** Adds the request of a message, which gets a number, as does the message. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_add(offbeat_tracer_request_table *table,
                                                      const offbeat_tracer_message_call *call,
                                                      offbeat_trace_message *message, int is_persistent,
                                                      uintptr_t handle) {
    offbeat_tracer_requests_lock();
    message->request = offbeat_tracer_request_number();
    offbeat_tracer_request *request = offbeat_tracer_request_new();
    if (__builtin_expect(request != NULL, 1)) {
        request->is_message = 1;
        request->is_persistent = is_persistent != 0;
        request->is_active = !is_persistent;
        request->is_recorded = call->is_recorded;
        request->message = *message;
        offbeat_tracer_request_insert(table, request, handle);
    }
    offbeat_tracer_requests_unlock();
}

/** Writes the message of an issue, or of the initialisation of a persistent request. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_write_issue(const offbeat_tracer_message_call *call,
                                                              offbeat_trace_message *message) {
    if (!call->is_recorded)
        return;
    if (!(message->flags & OFFBEAT_TRACE_FAILED) &&
        (message->flags & OFFBEAT_TRACE_PHASE) == OFFBEAT_TRACE_ISSUE)
        offbeat_tracer_message_state_skipped(message);
    offbeat_tracer_message_write(call, message);
}

/** A request was created. @param kind OFFBEAT_TRACE_SEND or OFFBEAT_TRACE_RECEIVE */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_posted(const offbeat_tracer_message_call *call, int code,
                                                         uint16_t kind,
                                                         const offbeat_tracer_envelope *envelope,
                                                         MPI_Request request, int is_persistent) {
    offbeat_trace_message message =
        offbeat_tracer_message_of(call, kind, is_persistent ? OFFBEAT_TRACE_CALL : OFFBEAT_TRACE_ISSUE, code);
    offbeat_tracer_message_set_envelope(call, &message, envelope);
    if (code == MPI_SUCCESS) /* its message is written even if memory is exhausted */
        offbeat_tracer_message_add(&offbeat_tracer_requests, call, &message, is_persistent,
                                   (uintptr_t)request);
    offbeat_tracer_message_write_issue(call, &message);
}

/** MPI_Isendrecv: a request for a message that is sent and one that is received was created. */
void offbeat_tracer_message_both_posted(const offbeat_tracer_message_call *call, int code,
                                        const offbeat_tracer_envelope *send_envelope,
                                        const offbeat_tracer_envelope *receive_envelope, MPI_Request request);

/** A probe returned, and found a message or nothing. */
void offbeat_tracer_message_probed(const offbeat_tracer_message_call *call, int code,
                                   const offbeat_tracer_envelope *envelope, int is_found,
                                   const MPI_Status *status);

/** MPI_Mprobe or MPI_Improbe found a message. */
void offbeat_tracer_message_found(const offbeat_tracer_message_call *call, int code,
                                  const offbeat_tracer_envelope *envelope, MPI_Message message,
                                  const MPI_Status *status);

/** MPI_Mrecv received a message. */
void offbeat_tracer_message_taken(const offbeat_tracer_message_call *call, int code,
                                  const MPI_Status *status);

/** MPI_Imrecv created a request. */
void offbeat_tracer_message_taking(const offbeat_tracer_message_call *call, int code, MPI_Request request);

/* --- calls without a message --- */

/** A call on requests for which nothing else was written (OFFBEAT_TRACE_REQUESTS), or MPI_Pcontrol
 * (OFFBEAT_TRACE_MARK, whose level is @p tag). */
void offbeat_tracer_message_write_call(const offbeat_tracer_message_call *call, uint16_t kind, int tag);

/** A call that found nothing: joins the OFFBEAT_TRACE_POLL before it, or begins one. */
void offbeat_tracer_message_write_poll(const offbeat_tracer_message_call *call);

/** Enters MPI_Pcontrol: level 0 pauses recording, 1 resumes it, OFFBEAT_TRACE_SYNC_LEVEL synchronises the
 * clocks; every call is recorded as a mark. lifecycle.c. @param flags OFFBEAT_TRACE_FORTRAN or 0 */
void offbeat_tracer_pcontrol_enter(int level, uint16_t flags, offbeat_tracer_caller caller);

/** Leaves MPI_Pcontrol, which in some Fortran libraries has called that of C. */
static inline void offbeat_tracer_pcontrol_leave(void) {
    offbeat_tracer_this_thread.depth--;
}

#endif
