/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file message_signatures.h
 * Preprocessor macros for wrappers of point-to-point functions: their parameters in C, with the type of
 * counts; the names of these, which are also the parameters in Fortran; and what is done before and after a
 * call, by the functions of message_call.h.
 *
 * The wrappers' file defines how arguments are read, as for signatures.h, and OWN_STATUS, which replaces an
 * ignored status by one of the tracer's; STATUS_AT, the status after the call; MESSAGE_AT; and ENVELOPE.
 */
#ifndef OFFBEAT_TRACE_MESSAGE_SIGNATURES_H
#define OFFBEAT_TRACE_MESSAGE_SIGNATURES_H

#include "trace/message_call.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* --- parameters in C, and names --- */

#define OFFBEAT_MESSAGE_SEND(COUNT_TYPE)                                                                     \
    (const void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
#define OFFBEAT_MESSAGE_ISEND(COUNT_TYPE)                                                                    \
    (const void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,                 \
     MPI_Request *request)
#define OFFBEAT_MESSAGE_SEND_INIT OFFBEAT_MESSAGE_ISEND
#define OFFBEAT_MESSAGE_RECV(COUNT_TYPE)                                                                     \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status)
#define OFFBEAT_MESSAGE_IRECV(COUNT_TYPE)                                                                    \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
#define OFFBEAT_MESSAGE_RECV_INIT OFFBEAT_MESSAGE_IRECV
#define OFFBEAT_MESSAGE_MRECV(COUNT_TYPE)                                                                    \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
#define OFFBEAT_MESSAGE_IMRECV(COUNT_TYPE)                                                                   \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
#define OFFBEAT_MESSAGE_SENDRECV(COUNT_TYPE)                                                                 \
    (const void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, void *recvbuf,                 \
     COUNT_TYPE recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,                    \
     MPI_Status *status)
#define OFFBEAT_MESSAGE_ISENDRECV(COUNT_TYPE)                                                                \
    (const void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, void *recvbuf,                 \
     COUNT_TYPE recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,                    \
     MPI_Request *request)
#define OFFBEAT_MESSAGE_SENDRECV_REPLACE(COUNT_TYPE)                                                         \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, int source, int recvtag,             \
     MPI_Comm comm, MPI_Status *status)
#define OFFBEAT_MESSAGE_ISENDRECV_REPLACE(COUNT_TYPE)                                                        \
    (void *buf, COUNT_TYPE count, MPI_Datatype type, int peer, int tag, int source, int recvtag,             \
     MPI_Comm comm, MPI_Request *request)
#define OFFBEAT_MESSAGE_PROBE(COUNT_TYPE) (int peer, int tag, MPI_Comm comm, MPI_Status *status)
#define OFFBEAT_MESSAGE_IPROBE(COUNT_TYPE) (int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
#define OFFBEAT_MESSAGE_MPROBE(COUNT_TYPE)                                                                   \
    (int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
#define OFFBEAT_MESSAGE_IMPROBE(COUNT_TYPE)                                                                  \
    (int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)

#define OFFBEAT_NAMES_SEND (buf, count, type, peer, tag, comm)
#define OFFBEAT_NAMES_ISEND (buf, count, type, peer, tag, comm, request)
#define OFFBEAT_NAMES_SEND_INIT OFFBEAT_NAMES_ISEND
#define OFFBEAT_NAMES_RECV (buf, count, type, peer, tag, comm, status)
#define OFFBEAT_NAMES_IRECV (buf, count, type, peer, tag, comm, request)
#define OFFBEAT_NAMES_RECV_INIT OFFBEAT_NAMES_IRECV
#define OFFBEAT_NAMES_MRECV (buf, count, type, message, status)
#define OFFBEAT_NAMES_IMRECV (buf, count, type, message, request)
#define OFFBEAT_NAMES_SENDRECV                                                                               \
    (buf, count, type, peer, tag, recvbuf, recvcount, recvtype, source, recvtag, comm, status)
#define OFFBEAT_NAMES_ISENDRECV                                                                              \
    (buf, count, type, peer, tag, recvbuf, recvcount, recvtype, source, recvtag, comm, request)
#define OFFBEAT_NAMES_SENDRECV_REPLACE (buf, count, type, peer, tag, source, recvtag, comm, status)
#define OFFBEAT_NAMES_ISENDRECV_REPLACE (buf, count, type, peer, tag, source, recvtag, comm, request)
#define OFFBEAT_NAMES_PROBE (peer, tag, comm, status)
#define OFFBEAT_NAMES_IPROBE (peer, tag, comm, flag, status)
#define OFFBEAT_NAMES_MPROBE (peer, tag, comm, message, status)
#define OFFBEAT_NAMES_IMPROBE (peer, tag, comm, flag, message, status)

/* --- before a call --- */

#define OFFBEAT_ENTER_MESSAGE(function, flags)                                                               \
    offbeat_tracer_message_call call;                                                                        \
    offbeat_tracer_message_enter(&call, function, (flags) | LANGUAGE, COMM(comm), OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_WITH_STATUS(function, flags)                                                           \
    OFFBEAT_ENTER_MESSAGE(function, flags)                                                                   \
    OWN_STATUS(status, call.comm != NULL)

#define OFFBEAT_ENTER_SEND OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_ISEND OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_SEND_INIT OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_RECV OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_IRECV OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_RECV_INIT OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_MRECV(function, flags)                                                                 \
    OFFBEAT_ENTER_IMRECV(function, flags)                                                                    \
    OWN_STATUS(status, call.is_found)
#define OFFBEAT_ENTER_IMRECV(function, flags)                                                                \
    offbeat_tracer_message_call call;                                                                        \
    offbeat_tracer_message_take(&call, function, (flags) | LANGUAGE, MESSAGE_AT(message),                    \
                                OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_SENDRECV OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_ISENDRECV OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_SENDRECV_REPLACE OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_ISENDRECV_REPLACE OFFBEAT_ENTER_MESSAGE
#define OFFBEAT_ENTER_PROBE OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_IPROBE OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_MPROBE OFFBEAT_ENTER_WITH_STATUS
#define OFFBEAT_ENTER_IMPROBE OFFBEAT_ENTER_WITH_STATUS

/* --- after a call --- */

#define OFFBEAT_SENT_ENVELOPE ENVELOPE(peer, tag, TYPE(type), COUNT(count))
#define OFFBEAT_RECEIVED_ENVELOPE ENVELOPE(source, recvtag, TYPE(recvtype), COUNT(recvcount))
#define OFFBEAT_REPLACED_ENVELOPE ENVELOPE(source, recvtag, TYPE(type), COUNT(count))
#define OFFBEAT_PROBED_ENVELOPE ENVELOPE(peer, tag, MPI_DATATYPE_NULL, 0)

#define OFFBEAT_AFTER_CALL(...)                                                                              \
    if (offbeat_tracer_message_leave(&call)) {                                                               \
        __VA_ARGS__;                                                                                         \
    }
#define OFFBEAT_LEAVE_NEW_REQUEST(kind, is_persistent)                                                       \
    OFFBEAT_AFTER_CALL(                                                                                      \
        const offbeat_tracer_envelope envelope = OFFBEAT_SENT_ENVELOPE;                                      \
        offbeat_tracer_message_posted(&call, CODE, kind, &envelope, REQUEST_AT(request), is_persistent))
#define OFFBEAT_LEAVE_EXCHANGE(received_envelope)                                                            \
    OFFBEAT_AFTER_CALL(                                                                                      \
        const offbeat_tracer_envelope send_envelope = OFFBEAT_SENT_ENVELOPE,                                 \
        receive_envelope = received_envelope;                                                                \
        offbeat_tracer_message_exchanged(&call, CODE, &send_envelope, &receive_envelope, STATUS_AT(status)))
#define OFFBEAT_LEAVE_EXCHANGE_REQUEST(received_envelope)                                                    \
    OFFBEAT_AFTER_CALL(const offbeat_tracer_envelope send_envelope = OFFBEAT_SENT_ENVELOPE,                  \
                       receive_envelope = received_envelope;                                                 \
                       offbeat_tracer_message_both_posted(&call, CODE, &send_envelope, &receive_envelope,    \
                                                          REQUEST_AT(request)))
#define OFFBEAT_LEAVE_PROBE_CALL(is_found)                                                                   \
    OFFBEAT_AFTER_CALL(const offbeat_tracer_envelope envelope = OFFBEAT_PROBED_ENVELOPE;                     \
                       offbeat_tracer_message_probed(&call, CODE, &envelope, is_found, STATUS_AT(status)))
#define OFFBEAT_LEAVE_MATCHED_PROBE(is_found)                                                                \
    OFFBEAT_AFTER_CALL(const offbeat_tracer_envelope envelope = OFFBEAT_PROBED_ENVELOPE;                     \
                       if (is_found) offbeat_tracer_message_found(&call, CODE, &envelope,                    \
                                                                  MESSAGE_AT(message), STATUS_AT(status));   \
                       else offbeat_tracer_message_probed(&call, CODE, &envelope, 0, NULL))

#define OFFBEAT_LEAVE_SEND                                                                                   \
    OFFBEAT_AFTER_CALL(const offbeat_tracer_envelope envelope = OFFBEAT_SENT_ENVELOPE;                       \
                       offbeat_tracer_message_sent(&call, CODE, &envelope))
#define OFFBEAT_LEAVE_ISEND OFFBEAT_LEAVE_NEW_REQUEST(OFFBEAT_TRACE_SEND, 0)
#define OFFBEAT_LEAVE_SEND_INIT OFFBEAT_LEAVE_NEW_REQUEST(OFFBEAT_TRACE_SEND, 1)
#define OFFBEAT_LEAVE_RECV                                                                                   \
    OFFBEAT_AFTER_CALL(const offbeat_tracer_envelope envelope = OFFBEAT_SENT_ENVELOPE;                       \
                       offbeat_tracer_message_received(&call, CODE, &envelope, STATUS_AT(status)))
#define OFFBEAT_LEAVE_IRECV OFFBEAT_LEAVE_NEW_REQUEST(OFFBEAT_TRACE_RECEIVE, 0)
#define OFFBEAT_LEAVE_RECV_INIT OFFBEAT_LEAVE_NEW_REQUEST(OFFBEAT_TRACE_RECEIVE, 1)
#define OFFBEAT_LEAVE_MRECV OFFBEAT_AFTER_CALL(offbeat_tracer_message_taken(&call, CODE, STATUS_AT(status)))
#define OFFBEAT_LEAVE_IMRECV                                                                                 \
    OFFBEAT_AFTER_CALL(offbeat_tracer_message_taking(&call, CODE, REQUEST_AT(request)))
#define OFFBEAT_LEAVE_SENDRECV OFFBEAT_LEAVE_EXCHANGE(OFFBEAT_RECEIVED_ENVELOPE)
#define OFFBEAT_LEAVE_ISENDRECV OFFBEAT_LEAVE_EXCHANGE_REQUEST(OFFBEAT_RECEIVED_ENVELOPE)
#define OFFBEAT_LEAVE_SENDRECV_REPLACE OFFBEAT_LEAVE_EXCHANGE(OFFBEAT_REPLACED_ENVELOPE)
#define OFFBEAT_LEAVE_ISENDRECV_REPLACE OFFBEAT_LEAVE_EXCHANGE_REQUEST(OFFBEAT_REPLACED_ENVELOPE)
#define OFFBEAT_LEAVE_PROBE OFFBEAT_LEAVE_PROBE_CALL(1)
#define OFFBEAT_LEAVE_IPROBE OFFBEAT_LEAVE_PROBE_CALL(INTEGER_AT(flag) != 0)
#define OFFBEAT_LEAVE_MPROBE OFFBEAT_LEAVE_MATCHED_PROBE(1)
#define OFFBEAT_LEAVE_IMPROBE OFFBEAT_LEAVE_MATCHED_PROBE(INTEGER_AT(flag) != 0)

// NOLINTEND(bugprone-macro-parentheses)

#endif
