/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wrapper_c.h
 * A wrapper for C, and how its arguments are read; see signatures.h. Functions that a library does not have
 * yet are declared by the wrapper.
 */
#ifndef OFFBEAT_TRACE_WRAPPER_C_H
#define OFFBEAT_TRACE_WRAPPER_C_H

#include "trace/issued_call.h"
#include "trace/record_arguments.h"
#include "trace/signatures.h"

#define EXPORT __attribute__((visibility("default")))

#define LANGUAGE 0
#define CODE code
#define IS_IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)
#define COUNT(name) name
#define INTEGER(name) name
#define INTEGER_AT(name) (*(name))
#define TYPE(name) name
#define OP(name) name
#define COMM(name) name
#define COMM_AT(name) (*(name))
#define REQUEST_AT(name) (*(name))
#define NEWCOMM_POINTERS newcomm, NULL
#define FIRST_INDEX 0
#define MESSAGE_AT(name) (*(name))

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* A wrapper, which calls the MPI library's function, or that of the next tool (offbeat_tracer_next).
 * @param function whose calls may be delayed; OFFBEAT_NO_FUNCTION: none
 * @param enter    what is done before the call; what is done after it is the last argument */
#define WRAPPER(symbol, function, parameters, names, enter, ...)                                             \
    EXPORT int symbol parameters;                                                                            \
    int symbol parameters {                                                                                  \
        static offbeat_tracer_next_functions next;                                                           \
        const int is_pmpi = offbeat_tracer_take_name();                                                      \
        const int64_t delay_ns = offbeat_tracer_delay(function);                                             \
        enter;                                                                                               \
        int code = ((int(*) parameters)offbeat_tracer_next(&next, is_pmpi, "P" #symbol))names;               \
        __VA_ARGS__;                                                                                         \
        offbeat_tracer_delay_after(delay_ns);                                                                \
        return code;                                                                                         \
    }

/* --- collectives: blocking, nonblocking and persistent, each also with large counts --- */

/* @param finish  writes the record, if the call is recorded */
#define OFFBEAT_COLLECTIVE_WRAPPER(symbol, function, flags, signature, count_type, parameters, names,        \
                                   finish)                                                                   \
    WRAPPER(                                                                                                 \
        symbol, function, parameters, names, OFFBEAT_ENTER(function, flags, comm),                           \
        if (offbeat_tracer_call_leave(&call, code)) {                                                        \
            const offbeat_tracer_array_format arrays = {.count_bytes = (int)sizeof(count_type)};             \
            OFFBEAT_RECORD_ARGUMENTS(signature)                                                              \
            finish;                                                                                          \
        })

#define OFFBEAT_COLLECTIVE_WRAPPERS(name, lower, signature, suffix, flags, count_type, roles)                \
    OFFBEAT_COLLECTIVE_WRAPPER(MPI_##name##suffix, OFFBEAT_##name, flags, signature, count_type,             \
                               (OFFBEAT_EXPAND(signature, roles)),                                           \
                               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES)),                          \
                               offbeat_tracer_call_write(&call))                                             \
    OFFBEAT_COLLECTIVE_WRAPPER(MPI_I##lower##suffix, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE,        \
                               signature, count_type,                                                        \
                               (OFFBEAT_EXPAND(signature, roles), MPI_Request * request),                    \
                               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), request),                 \
                               offbeat_tracer_call_issued(&call, *request, 0))                               \
    OFFBEAT_COLLECTIVE_WRAPPER(MPI_##name##_init##suffix, OFFBEAT_##name##_init, flags, signature,           \
                               count_type,                                                                   \
                               (OFFBEAT_EXPAND(signature, roles), MPI_Info info, MPI_Request * request),     \
                               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), info, request),           \
                               offbeat_tracer_call_issued(&call, *request, 1))

// NOLINTEND(bugprone-macro-parentheses)

#endif
