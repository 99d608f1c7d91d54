/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/message_call.h"

#include "trace/record_arguments.h"
#include "trace/skipped_messages.h"

#include <limits.h>

offbeat_tracer_request_table offbeat_tracer_requests = {.lock = PTHREAD_MUTEX_INITIALIZER},
                             offbeat_tracer_found_messages = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- messages --- */

static uint64_t received_bytes(const MPI_Status *status) {
    MPI_Count bytes = 0;
#if MPI_VERSION >= 4
    int rc = PMPI_Get_count_c(status, MPI_BYTE, &bytes);
#else
    int rc = PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
#endif
    return rc == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
}

void offbeat_tracer_message_resolve(offbeat_trace_message *message, const MPI_Status *status) {
    if (message->peer == OFFBEAT_TRACE_PEER_PROC_NULL)
        message->bytes = 0;
    if (message->peer == OFFBEAT_TRACE_PEER_PROC_NULL || status->MPI_SOURCE < 0)
        return;
    message->peer = status->MPI_SOURCE;
    message->tag = status->MPI_TAG;
    message->bytes = received_bytes(status);
}

/* The members that all messages of a call share. */
static offbeat_trace_message message_of(const offbeat_tracer_message_call *call, uint16_t kind, int phase,
                                        int code) {
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

/* Sets the arguments of a call. */
static void set_envelope(const offbeat_tracer_message_call *call, offbeat_trace_message *message,
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

static void write_message(const offbeat_tracer_message_call *call, offbeat_trace_message *message) {
    message->address = offbeat_tracer_call_site(call->thread, call->caller);
    offbeat_tracer_write_message(call->thread, message);
}

/* Writes a message that was posted, or counts it if the call is not recorded. */
static void write_or_skip(const offbeat_tracer_message_call *call, offbeat_trace_message *message) {
    const int is_posted = !(message->flags & OFFBEAT_TRACE_FAILED);
    if (!call->is_recorded && is_posted)
        offbeat_tracer_message_skip(message);
    if (!call->is_recorded)
        return;
    if (is_posted)
        offbeat_tracer_message_state_skipped(message);
    write_message(call, message);
}

void offbeat_tracer_message_sent(const offbeat_tracer_message_call *call, int code,
                                 const offbeat_tracer_envelope *envelope) {
    offbeat_trace_message message = message_of(call, OFFBEAT_TRACE_SEND, OFFBEAT_TRACE_CALL, code);
    set_envelope(call, &message, envelope);
    write_or_skip(call, &message);
}

void offbeat_tracer_message_received(const offbeat_tracer_message_call *call, int code,
                                     const offbeat_tracer_envelope *envelope, const MPI_Status *status) {
    offbeat_trace_message message = message_of(call, OFFBEAT_TRACE_RECEIVE, OFFBEAT_TRACE_CALL, code);
    set_envelope(call, &message, envelope);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    write_or_skip(call, &message);
}

void offbeat_tracer_message_exchanged(const offbeat_tracer_message_call *call, int code,
                                      const offbeat_tracer_envelope *sent,
                                      const offbeat_tracer_envelope *received, const MPI_Status *status) {
    offbeat_tracer_message_sent(call, code, sent);
    offbeat_tracer_message_received(call, code, received, status);
}

/* --- requests --- */

/* A request with the message of its issue, which gets a number; NULL if memory is exhausted. */
static offbeat_tracer_request *request_of(const offbeat_tracer_message_call *call,
                                          offbeat_trace_message *message, int is_persistent) {
    offbeat_tracer_request *request = offbeat_tracer_request_new(&message->request);
    if (request == NULL)
        return NULL;
    request->is_message = 1;
    request->is_persistent = is_persistent != 0;
    request->is_active = !is_persistent;
    request->is_recorded = call->is_recorded;
    request->message = *message;
    return request;
}

static void insert(offbeat_tracer_request_table *table, offbeat_tracer_request *request, uintptr_t handle) {
    if (request == NULL)
        return;
    request->handle = handle;
    offbeat_tracer_request_insert(table, request);
}

/* The message of an issue or of the initialisation of a persistent request. */
static offbeat_trace_message issue_of(const offbeat_tracer_message_call *call, int code, uint16_t kind,
                                      const offbeat_tracer_envelope *envelope, int is_persistent) {
    offbeat_trace_message message =
        message_of(call, kind, is_persistent ? OFFBEAT_TRACE_CALL : OFFBEAT_TRACE_ISSUE, code);
    set_envelope(call, &message, envelope);
    return message;
}

/* Writes the message of an issue. The message of a request is written even if memory is exhausted. */
static void write_issue(const offbeat_tracer_message_call *call, offbeat_trace_message *message) {
    if (!call->is_recorded)
        return;
    if (!(message->flags & OFFBEAT_TRACE_FAILED) &&
        (message->flags & OFFBEAT_TRACE_PHASE) == OFFBEAT_TRACE_ISSUE)
        offbeat_tracer_message_state_skipped(message);
    write_message(call, message);
}

void offbeat_tracer_message_posted(const offbeat_tracer_message_call *call, int code, uint16_t kind,
                                   const offbeat_tracer_envelope *envelope, MPI_Request request,
                                   int is_persistent) {
    offbeat_trace_message message = issue_of(call, code, kind, envelope, is_persistent);
    if (code == MPI_SUCCESS)
        insert(&offbeat_tracer_requests, request_of(call, &message, is_persistent), (uintptr_t)request);
    write_issue(call, &message);
}

void offbeat_tracer_message_both_posted(const offbeat_tracer_message_call *call, int code,
                                        const offbeat_tracer_envelope *sent,
                                        const offbeat_tracer_envelope *received, MPI_Request request) {
    offbeat_trace_message send = issue_of(call, code, OFFBEAT_TRACE_SEND, sent, 0);
    offbeat_trace_message receive = issue_of(call, code, OFFBEAT_TRACE_RECEIVE, received, 0);
    if (code == MPI_SUCCESS) {
        offbeat_tracer_request *other = request_of(call, &send, 0), *both = request_of(call, &receive, 0);
        if (both != NULL)
            both->other = other;
        else if (other != NULL)
            offbeat_tracer_request_delete(other);
        insert(&offbeat_tracer_requests, both, (uintptr_t)request);
    }
    write_issue(call, &send);
    write_issue(call, &receive);
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
    offbeat_trace_message message = message_of(call, OFFBEAT_TRACE_PROBE, OFFBEAT_TRACE_CALL, code);
    set_envelope(call, &message, envelope);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    write_message(call, &message);
}

void offbeat_tracer_message_found(const offbeat_tracer_message_call *call, int code,
                                  const offbeat_tracer_envelope *envelope, MPI_Message message,
                                  const MPI_Status *status) {
    if (code != MPI_SUCCESS || status->MPI_SOURCE < 0) { /* MPI_PROC_NULL: there is no message */
        offbeat_tracer_message_probed(call, code, envelope, 1, status);
        return;
    }
    offbeat_trace_message issue = message_of(call, OFFBEAT_TRACE_RECEIVE, OFFBEAT_TRACE_ISSUE, code);
    set_envelope(call, &issue, envelope);
    offbeat_tracer_message_resolve(&issue, status);
    insert(&offbeat_tracer_found_messages, request_of(call, &issue, 0), (uintptr_t)message);
    write_issue(call, &issue);
}

void offbeat_tracer_message_take(offbeat_tracer_message_call *call, uint16_t function, uint16_t flags,
                                 MPI_Message message, offbeat_tracer_caller caller) {
    call->thread = &offbeat_tracer_this_thread;
    call->comm = NULL;
    call->found = NULL;
    call->is_traced = 0;
    if (!offbeat_tracer_message_call_is_outermost(call->thread))
        return;
    call->found = offbeat_tracer_request_take(&offbeat_tracer_found_messages, (uintptr_t)message, INT64_MAX);
    offbeat_tracer_message_begin(call, function, flags, caller);
}

/* The message of MPI_Mrecv or MPI_Imrecv: those members that differ from the issue. */
static offbeat_trace_message taking_of(const offbeat_tracer_message_call *call, int phase, int code) {
    offbeat_trace_message message = call->found->message;
    message.enter_ns = call->enter_ns;
    message.exit_ns = call->exit_ns;
    message.flags = (uint16_t)((message.flags & ~OFFBEAT_TRACE_PHASE) | call->flags | phase |
                               (code == MPI_SUCCESS ? 0 : OFFBEAT_TRACE_FAILED));
    return message;
}

void offbeat_tracer_message_taken(const offbeat_tracer_message_call *call, int code,
                                  const MPI_Status *status) {
    if (call->found == NULL) {
        offbeat_tracer_message_write_call(call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
        return;
    }
    offbeat_trace_message message = taking_of(call, OFFBEAT_TRACE_COMPLETION, code);
    if (code == MPI_SUCCESS)
        offbeat_tracer_message_resolve(&message, status);
    if (call->found->is_recorded)
        write_message(call, &message);
    else
        write_or_skip(call, &message);
    offbeat_tracer_request_delete(call->found);
}

void offbeat_tracer_message_taking(const offbeat_tracer_message_call *call, int code, MPI_Request request) {
    if (call->found == NULL) {
        offbeat_tracer_message_write_call(call, OFFBEAT_TRACE_REQUESTS, OFFBEAT_TRACE_UNKNOWN);
        return;
    }
    offbeat_trace_message message = taking_of(call, OFFBEAT_TRACE_CALL, code);
    message.function = call->function;
    if (call->is_recorded)
        write_message(call, &message);
    if (code == MPI_SUCCESS)
        insert(&offbeat_tracer_requests, call->found, (uintptr_t)request);
    else
        offbeat_tracer_request_delete(call->found);
}

/* --- calls without a message --- */

void offbeat_tracer_message_write_call(const offbeat_tracer_message_call *call, uint16_t kind, int tag) {
    offbeat_trace_message message = message_of(call, kind, OFFBEAT_TRACE_CALL, MPI_SUCCESS);
    message.communicator = 0;
    message.tag = tag;
    if (call->is_recorded)
        write_message(call, &message);
}

/* Unsuccessful calls that are further apart are not one poll. */
enum { MOST_BETWEEN_POLLS_NS = 100000 };

void offbeat_tracer_message_write_poll(const offbeat_tracer_message_call *call) {
    if (!call->is_recorded)
        return;
    offbeat_tracer_poll *poll = &call->thread->poll;
    offbeat_trace_message *last = poll->message;
    const uint64_t spent_ns = (uint64_t)(call->exit_ns - call->enter_ns);
    if (last != NULL && last->function == call->function && poll->address == call->caller.address &&
        poll->stack_pointer == call->caller.stack_pointer &&
        call->enter_ns - last->exit_ns <= MOST_BETWEEN_POLLS_NS && last->partition < INT_MAX) {
        last->exit_ns = call->exit_ns;
        last->bytes += spent_ns;
        last->partition++;
        return;
    }
    offbeat_trace_message message = message_of(call, OFFBEAT_TRACE_POLL, OFFBEAT_TRACE_CALL, MPI_SUCCESS);
    message.communicator = 0;
    message.bytes = spent_ns;
    message.partition = 1;
    write_message(call, &message);
    if (call->thread->messages.next != NULL)
        *poll = (offbeat_tracer_poll){(offbeat_trace_message *)call->thread->messages.next - 1,
                                      call->caller.address, call->caller.stack_pointer};
}
