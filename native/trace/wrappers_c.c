/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers for C, except those of point-to-point functions.
 */
#include "trace/message_call.h"
#include "trace/record_arguments.h"
#include "trace/requests.h"
#include "trace/signatures.h"
#include "trace/wrapper_c.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* --- collectives: blocking, nonblocking and persistent, each also with large counts --- */

/* @param finish  writes the record, if the call is recorded */
#define COLLECTIVE(symbol, function, flags, signature, count_type, parameters, names, finish)                \
    WRAPPER(                                                                                                 \
        symbol, function, parameters, names, OFFBEAT_ENTER(function, flags, comm),                           \
        if (offbeat_tracer_call_leave(&call, code)) {                                                        \
            const offbeat_tracer_array_format arrays = {.count_bytes = (int)sizeof(count_type)};             \
            OFFBEAT_RECORD_ARGUMENTS(signature)                                                              \
            finish;                                                                                          \
        })

#define VARIANTS(name, lower, signature, suffix, flags, count_type, roles)                                   \
    COLLECTIVE(MPI_##name##suffix, OFFBEAT_##name, flags, signature, count_type,                             \
               (OFFBEAT_EXPAND(signature, roles)), (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES)),      \
               offbeat_tracer_call_write(&call))                                                             \
    COLLECTIVE(MPI_I##lower##suffix, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, signature, count_type, \
               (OFFBEAT_EXPAND(signature, roles), MPI_Request * request),                                    \
               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), request),                                 \
               offbeat_tracer_call_issued(&call, *request, 0))                                               \
    COLLECTIVE(MPI_##name##_init##suffix, OFFBEAT_##name##_init, flags, signature, count_type,               \
               (OFFBEAT_EXPAND(signature, roles), MPI_Info info, MPI_Request * request),                     \
               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), info, request),                           \
               offbeat_tracer_call_issued(&call, *request, 1))

#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    VARIANTS(name, lower, signature, , 0, int, OFFBEAT_C_ROLES)                                              \
    VARIANTS(name, lower, signature, _c, OFFBEAT_TRACE_LARGE, MPI_Count, OFFBEAT_C_LARGE_ROLES)

/* --- constructors and destructors of communicators, and requests --- */

#define OFFBEAT_CONSTRUCTOR(name, lower, kind, strings, parameters, names)                                   \
    WRAPPER(MPI_##name, OFFBEAT_##name, parameters, names, OFFBEAT_ENTER_##kind(OFFBEAT_##name),             \
            OFFBEAT_LEAVE_##kind)

static offbeat_tracer_request_list list(int count, const MPI_Request *handles) {
    return (offbeat_tracer_request_list){.count = count, .handles = handles};
}

/* What a completing call passes for an ignored status. */
static MPI_Status *own_statuses(offbeat_tracer_completion *completion, MPI_Status *ignored) {
    MPI_Status *own = offbeat_tracer_completion_statuses(completion);
    return own != NULL ? own : ignored;
}

static const MPI_Status *readable(const MPI_Status *statuses) {
    return statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
}

#define STATUS(status)                                                                                       \
    if (status == MPI_STATUS_IGNORE)                                                                         \
    status = own_statuses(&completion, status)
#define STATUSES(statuses)                                                                                   \
    if (statuses == MPI_STATUSES_IGNORE)                                                                     \
    statuses = own_statuses(&completion, statuses)
#define READABLE(statuses) readable(statuses)

#define OFFBEAT_REQUEST_FUNCTION(name, lower, completed_by, count, requests, statuses, result, parameters,   \
                                 names)                                                                      \
    WRAPPER(MPI_##name, OFFBEAT_##name, parameters, names, offbeat_tracer_completion completion;             \
            offbeat_tracer_completion_enter(&completion, OFFBEAT_##name, completed_by,                       \
                                            list(count, requests), OFFBEAT_TRACER_CALLER);                   \
            statuses, result)

#include "trace/wrapped_functions.h"

/* --- begin and end --- */

#define BEGIN                                                                                                \
    if (code == MPI_SUCCESS)                                                                                 \
    offbeat_tracer_begin()

WRAPPER(MPI_Init, OFFBEAT_NO_FUNCTION, (int *argc, char ***argv), (argc, argv), , BEGIN)
WRAPPER(MPI_Init_thread, OFFBEAT_NO_FUNCTION, (int *argc, char ***argv, int required, int *provided),
        (argc, argv, required, provided), , BEGIN)
WRAPPER(MPI_Finalize, OFFBEAT_NO_FUNCTION, (void), (), offbeat_tracer_finalize(), )
WRAPPER(MPI_Abort, OFFBEAT_NO_FUNCTION, (MPI_Comm comm, int status), (comm, status), offbeat_tracer_abort(), )
/* The arguments after the level cannot be passed on: their types are unknown. */
WRAPPER(MPI_Pcontrol, OFFBEAT_MARK(level), (const int level, ...), (level),
        offbeat_tracer_pcontrol_enter(level, LANGUAGE, OFFBEAT_TRACER_CALLER),
        offbeat_tracer_pcontrol_leave())

// NOLINTEND(bugprone-macro-parentheses)
