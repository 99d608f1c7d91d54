/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/message_call.h"

#include <limits.h>

offbeat_tracer_request_table offbeat_tracer_requests, offbeat_tracer_found_messages;

/* --- messages --- */

void offbeat_tracer_message_exchanged(const offbeat_tracer_message_call *call, int code,
                                      const offbeat_tracer_envelope *send_envelope,
                                      const offbeat_tracer_envelope *receive_envelope,
                                      const MPI_Status *status) {
    offbeat_tracer_message_sent(call, code, send_envelope);
    offbeat_tracer_message_received(call, code, receive_envelope, status);
}

/* --- requests --- */

/* Adds the request of MPI_Isendrecv, with one of its two messages in a request that is not in the table. */
static void add_both(const offbeat_tracer_message_call *call, offbeat_trace_message *send,
                     offbeat_trace_message *receive, uintptr_t handle) {
    offbeat_tracer_requests_lock();
    send->request = offbeat_tracer_request_number();
    receive->request = offbeat_tracer_request_number();
    offbeat_tracer_request *send_request = offbeat_tracer_request_new(),
                           *pair_request = offbeat_tracer_request_new();
    if (send_request != NULL) {
        send_request->is_message = 1;
        send_request->is_recorded = call->is_recorded;
        send_request->message = *send;
    }
    if (pair_request != NULL) {
        pair_request->is_message = 1;
        pair_request->is_recorded = call->is_recorded;
        pair_request->message = *receive;
        pair_request->send_request = send_request;
        offbeat_tracer_request_insert(&offbeat_tracer_requests, pair_request, handle);
    } else if (send_request != NULL) {
        offbeat_tracer_request_delete(send_request);
    }
    offbeat_tracer_requests_unlock();
}

void offbeat_tracer_message_both_posted(const offbeat_tracer_message_call *call, int code,
                                        const offbeat_tracer_envelope *send_envelope,
                                        const offbeat_tracer_envelope *receive_envelope,
                                        MPI_Request request) {
    offbeat_trace_message send =
                              offbeat_tracer_message_of(call, OFFBEAT_TRACE_SEND, OFFBEAT_TRACE_ISSUE, code),
                          receive = offbeat_tracer_message_of(call, OFFBEAT_TRACE_RECEIVE,
                                                              OFFBEAT_TRACE_ISSUE, code);
    offbeat_tracer_message_set_envelope(call, &send, send_envelope);
    offbeat_tracer_message_set_envelope(call, &receive, receive_envelope);
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
    const offbeat_tracer_request *matched_request =
        offbeat_tracer_request_take(&offbeat_tracer_found_messages, (uintptr_t)message, INT64_MAX, &copy);
    if (matched_request != NULL) {
        call->is_found = 1;
        call->was_found_recorded = matched_request->is_recorded;
        call->matched_message = matched_request->message;
    }
    offbeat_tracer_message_begin(call, function, flags, caller);
}

/* The message of MPI_Mrecv or MPI_Imrecv: those members that differ from the issue. */
static offbeat_trace_message completion_of(const offbeat_tracer_message_call *call, int phase, int code) {
    offbeat_trace_message message = call->matched_message;
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
    offbeat_trace_message message = completion_of(call, OFFBEAT_TRACE_COMPLETION, code);
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
        request->message = call->matched_message;
        offbeat_tracer_request_insert(&offbeat_tracer_requests, request, handle);
    }
    offbeat_tracer_requests_unlock();
}

void offbeat_tracer_message_taking(const offbeat_tracer_message_call *call, int code, MPI_Request request) {
    if (!call->is_found) {
        offbeat_tracer_message_write_call(call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
        return;
    }
    offbeat_trace_message message = completion_of(call, OFFBEAT_TRACE_CALL, code);
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
        offbeat_trace_message longer_poll = *last;
        longer_poll.exit_ns = call->exit_ns;
        longer_poll.bytes += spent_ns;
        longer_poll.partition++;
        offbeat_tracer_replace_poll(call->thread, &longer_poll);
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
