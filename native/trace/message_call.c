/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/message_call.h"

#include <limits.h>

offbeat_tracer_request_table offbeat_tracer_requests, offbeat_tracer_found_messages;

/* --- messages --- */

void offbeat_tracer_message_exchanged(const offbeat_tracer_message_call *call, int code,
                                      const offbeat_tracer_envelope *sent,
                                      const offbeat_tracer_envelope *received, const MPI_Status *status) {
    offbeat_tracer_message_sent(call, code, sent);
    offbeat_tracer_message_received(call, code, received, status);
}

/* --- requests --- */

/* Adds the request of MPI_Isendrecv, with one of its two messages in a request that is not in the table. */
static void add_both(const offbeat_tracer_message_call *call, offbeat_trace_message *send,
                     offbeat_trace_message *receive, uintptr_t handle) {
    offbeat_tracer_requests_lock();
    send->request = offbeat_tracer_request_number();
    receive->request = offbeat_tracer_request_number();
    offbeat_tracer_request *other = offbeat_tracer_request_new(), *both = offbeat_tracer_request_new();
    if (other != NULL) {
        other->is_message = 1;
        other->is_recorded = call->is_recorded;
        other->message = *send;
    }
    if (both != NULL) {
        both->is_message = 1;
        both->is_recorded = call->is_recorded;
        both->message = *receive;
        both->other = other;
        offbeat_tracer_request_insert(&offbeat_tracer_requests, both, handle);
    } else if (other != NULL) {
        offbeat_tracer_request_delete(other);
    }
    offbeat_tracer_requests_unlock();
}

void offbeat_tracer_message_both_posted(const offbeat_tracer_message_call *call, int code,
                                        const offbeat_tracer_envelope *sent,
                                        const offbeat_tracer_envelope *received, MPI_Request request) {
    offbeat_trace_message send =
                              offbeat_tracer_message_of(call, OFFBEAT_TRACE_SEND, OFFBEAT_TRACE_ISSUE, code),
                          receive = offbeat_tracer_message_of(call, OFFBEAT_TRACE_RECEIVE,
                                                              OFFBEAT_TRACE_ISSUE, code);
    offbeat_tracer_message_set_envelope(call, &send, sent);
    offbeat_tracer_message_set_envelope(call, &receive, received);
    if (code == MPI_SUCCESS)
        add_both(call, &send, &receive, (uintptr_t)request);
    offbeat_tracer_message_write_issue(call, &send);
    offbeat_tracer_message_write_issue(call, &receive);
}

/* --- probes --- */

void offbeat_tracer_message_probed(const offbeat_tracer_message_call *call, int code,
                                   const offbeat_tracer_envelope *envelope, int is_found,
                                   const MPI_Status *status) {
    if (!call->is_recorded)
        return;
    if (code == MPI_SUCCESS && !is_found) {
        offbeat_tracer_message_write_poll(call);
        return;
    }
    offbeat_trace_message message =
        offbeat_tracer_message_of(call, OFFBEAT_TRACE_PROBE, OFFBEAT_TRACE_CALL, code);
    offbeat_tracer_message_set_envelope(call, &message, envelope);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    offbeat_tracer_message_write(call, &message);
}

void offbeat_tracer_message_found(const offbeat_tracer_message_call *call, int code,
                                  const offbeat_tracer_envelope *envelope, MPI_Message message,
                                  const MPI_Status *status) {
    if (code != MPI_SUCCESS || status->MPI_SOURCE < 0) { /* MPI_PROC_NULL: there is no message */
        offbeat_tracer_message_probed(call, code, envelope, 1, status);
        return;
    }
    offbeat_trace_message issue =
        offbeat_tracer_message_of(call, OFFBEAT_TRACE_RECEIVE, OFFBEAT_TRACE_ISSUE, code);
    offbeat_tracer_message_set_envelope(call, &issue, envelope);
    offbeat_tracer_message_resolve(&issue, status);
    offbeat_tracer_message_add(&offbeat_tracer_found_messages, call, &issue, 0, (uintptr_t)message);
    offbeat_tracer_message_write_issue(call, &issue);
}

void offbeat_tracer_message_take(offbeat_tracer_message_call *call, uint16_t function, uint16_t flags,
                                 MPI_Message message, offbeat_tracer_caller caller) {
    call->thread = &offbeat_tracer_this_thread;
    call->comm = NULL;
    call->is_traced = call->is_found = 0;
    if (!offbeat_tracer_message_call_is_outermost(call->thread))
        return;
    offbeat_tracer_request copy;
    const offbeat_tracer_request *found =
        offbeat_tracer_request_take(&offbeat_tracer_found_messages, (uintptr_t)message, INT64_MAX, &copy);
    if (found != NULL) {
        call->is_found = 1;
        call->was_found_recorded = found->is_recorded;
        call->found = found->message;
    }
    offbeat_tracer_message_begin(call, function, flags, caller);
}

/* The message of MPI_Mrecv or MPI_Imrecv: those members that differ from the issue. */
static offbeat_trace_message taking_of(const offbeat_tracer_message_call *call, int phase, int code) {
    offbeat_trace_message message = call->found;
    message.enter_ns = call->enter_ns;
    message.exit_ns = call->exit_ns;
    message.flags = (uint16_t)((message.flags & ~OFFBEAT_TRACE_PHASE) | call->flags | phase |
                               (code == MPI_SUCCESS ? 0 : OFFBEAT_TRACE_FAILED));
    return message;
}

void offbeat_tracer_message_taken(const offbeat_tracer_message_call *call, int code,
                                  const MPI_Status *status) {
    if (!call->is_found) {
        offbeat_tracer_message_write_call(call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
        return;
    }
    offbeat_trace_message message = taking_of(call, OFFBEAT_TRACE_COMPLETION, code);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    if (call->was_found_recorded)
        offbeat_tracer_message_write(call, &message);
    else
        offbeat_tracer_message_write_or_skip(call, &message);
}

/* Adds the request of MPI_Imrecv, whose issue is the probe. */
static void add_found(const offbeat_tracer_message_call *call, uintptr_t handle) {
    offbeat_tracer_requests_lock();
    offbeat_tracer_request *request = offbeat_tracer_request_new();
    if (request != NULL) {
        request->is_message = 1;
        request->is_recorded = call->was_found_recorded;
        request->message = call->found;
        offbeat_tracer_request_insert(&offbeat_tracer_requests, request, handle);
    }
    offbeat_tracer_requests_unlock();
}

void offbeat_tracer_message_taking(const offbeat_tracer_message_call *call, int code, MPI_Request request) {
    if (!call->is_found) {
        offbeat_tracer_message_write_call(call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
        return;
    }
    offbeat_trace_message message = taking_of(call, OFFBEAT_TRACE_CALL, code);
    message.function = call->function;
    if (call->is_recorded)
        offbeat_tracer_message_write(call, &message);
    if (code == MPI_SUCCESS)
        add_found(call, (uintptr_t)request);
}

/* --- calls without a message --- */

void offbeat_tracer_message_write_call(const offbeat_tracer_message_call *call, uint16_t kind, int tag) {
    offbeat_trace_message message = offbeat_tracer_message_of(call, kind, OFFBEAT_TRACE_CALL, MPI_SUCCESS);
    message.communicator = 0;
    message.tag = tag;
    if (call->is_recorded)
        offbeat_tracer_message_write(call, &message);
}

/* Unsuccessful calls that are further apart are not one poll. */
enum { MOST_BETWEEN_POLLS_NS = 100000 };

void offbeat_tracer_message_write_poll(const offbeat_tracer_message_call *call) {
    if (!call->is_recorded)
        return;
    offbeat_tracer_poll *poll = &call->thread->poll;
    const offbeat_trace_message *last = poll->message;
    const uint64_t spent_ns = (uint64_t)(call->exit_ns - call->enter_ns);
    if (last != NULL && last->function == call->function && poll->address == call->caller.address &&
        poll->stack_pointer == call->caller.stack_pointer &&
        call->enter_ns - last->exit_ns <= MOST_BETWEEN_POLLS_NS && last->partition < INT_MAX) {
        offbeat_trace_message extended = *last;
        extended.exit_ns = call->exit_ns;
        extended.bytes += spent_ns;
        extended.partition++;
        offbeat_tracer_replace_poll(call->thread, &extended);
        return;
    }
    offbeat_trace_message message =
        offbeat_tracer_message_of(call, OFFBEAT_TRACE_POLL, OFFBEAT_TRACE_CALL, MPI_SUCCESS);
    message.communicator = 0;
    message.bytes = spent_ns;
    message.partition = 1;
    offbeat_tracer_message_write(call, &message);
    if (call->thread->messages.next != NULL)
        *poll = (offbeat_tracer_poll){call->thread->messages.next - 1, call->caller.address,
                                      call->caller.stack_pointer};
}
