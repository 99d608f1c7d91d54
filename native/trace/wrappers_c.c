/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers for C. Functions that a library does not have yet are declared here.
 */
#include "trace/lifecycle.h"
#include "trace/record_arguments.h"
#include "trace/requests.h"
#include "trace/signatures.h"

#define EXPORTED __attribute__((visibility("default")))

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Calls the MPI library's function, or that of the next tool. */
#define NEXT(symbol, parameters) ((int(*) parameters)offbeat_tracer_next(&next, #symbol))

/* --- collectives: blocking, nonblocking and persistent, each also with large counts --- */

#define IS_IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

/* @param finish  writes the record, if the call is recorded */
#define WRAPPER(symbol, function, flags, signature, count_type, parameters, names, finish)                   \
    EXPORTED int symbol parameters;                                                                          \
    int symbol parameters {                                                                                  \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, function, flags, comm, OFFBEAT_TRACER_CALLER);                      \
        int code = NEXT(symbol, parameters) names;                                                           \
        if (offbeat_tracer_call_leave(&call, code)) {                                                        \
            const offbeat_tracer_arguments arguments = {                                                     \
                .arrays = {.count_bytes = (int)sizeof(count_type)},                                          \
                OFFBEAT_INITIALIZE_##signature(OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS,   \
                                               IS_IN_PLACE)};                                                \
            offbeat_tracer_record_arguments(&call, OFFBEAT_SIGNATURE_##signature, &arguments);               \
            finish;                                                                                          \
        }                                                                                                    \
        return code;                                                                                         \
    }

#define VARIANTS(name, lower, signature, suffix, flags, count_type, roles)                                   \
    WRAPPER(MPI_##name##suffix, OFFBEAT_##name, flags, signature, count_type,                                \
            (OFFBEAT_EXPAND(signature, roles)), (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES)),         \
            offbeat_tracer_call_write(&call))                                                                \
    WRAPPER(MPI_I##lower##suffix, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, signature, count_type,    \
            (OFFBEAT_EXPAND(signature, roles), MPI_Request * request),                                       \
            (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), request),                                    \
            offbeat_tracer_call_issued(&call, *request, 0))                                                  \
    WRAPPER(MPI_##name##_init##suffix, OFFBEAT_##name##_init, flags, signature, count_type,                  \
            (OFFBEAT_EXPAND(signature, roles), MPI_Info info, MPI_Request * request),                        \
            (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), info, request),                              \
            offbeat_tracer_call_issued(&call, *request, 1))

#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    VARIANTS(name, lower, signature, , 0, int, OFFBEAT_C_ROLES)                                              \
    VARIANTS(name, lower, signature, _c, OFFBEAT_TRACE_LARGE, MPI_Count, OFFBEAT_C_LARGE_ROLES)

/* --- constructors and destructors of communicators --- */

#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)                                                  \
    EXPORTED int MPI_##name parameters;                                                                      \
    int MPI_##name parameters {                                                                              \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, OFFBEAT_##name, 0, comm, OFFBEAT_TRACER_CALLER);                    \
        int code = NEXT(MPI_##name, parameters) names;                                                       \
        offbeat_tracer_constructor_leave(&call, code, newcomm);                                              \
        return code;                                                                                         \
    }
#define OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, strings)                                  \
    OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)

#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)                                            \
    EXPORTED int MPI_##name parameters;                                                                      \
    int MPI_##name parameters {                                                                              \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_group_constructor_enter(&call, OFFBEAT_##name, 0, OFFBEAT_TRACER_CALLER);             \
        int code = NEXT(MPI_##name, parameters) names;                                                       \
        offbeat_tracer_group_constructor_leave(&call, code, newcomm);                                        \
        return code;                                                                                         \
    }
#define OFFBEAT_STRING_GROUP_CONSTRUCTOR(name, lower, parameters, names, strings)                            \
    OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)

#define OFFBEAT_NONBLOCKING_CONSTRUCTOR(name, lower, parameters, names)                                      \
    EXPORTED int MPI_##name parameters;                                                                      \
    int MPI_##name parameters {                                                                              \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_ISSUE, comm, OFFBEAT_TRACER_CALLER);  \
        int code = NEXT(MPI_##name, parameters) names;                                                       \
        offbeat_tracer_nonblocking_constructor_leave(&call, code, *request, newcomm, NULL);                  \
        return code;                                                                                         \
    }

#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    EXPORTED int MPI_##name(MPI_Comm *comm);                                                                 \
    int MPI_##name(MPI_Comm *comm) {                                                                         \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_destructor_enter(&call, OFFBEAT_##name, 0, *comm, OFFBEAT_TRACER_CALLER);             \
        int code = NEXT(MPI_##name, (MPI_Comm *))(comm);                                                     \
        if (offbeat_tracer_call_leave(&call, code))                                                          \
            offbeat_tracer_call_write(&call);                                                                \
        return code;                                                                                         \
    }

#include "trace/wrapped_functions.h"

/* --- requests --- */

static offbeat_tracer_request_list list(int count, const MPI_Request *handles) {
    return (offbeat_tracer_request_list){.count = count, .handles = handles};
}

/* @param finish  takes the completed or started requests */
#define REQUEST_WRAPPER(symbol, completed_by, parameters, names, requests, finish)                           \
    EXPORTED int symbol parameters;                                                                          \
    int symbol parameters {                                                                                  \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_completion completion;                                                                \
        offbeat_tracer_completion_enter(&completion, completed_by, requests, OFFBEAT_TRACER_CALLER);         \
        int code = NEXT(symbol, parameters) names;                                                           \
        finish;                                                                                              \
        return code;                                                                                         \
    }

REQUEST_WRAPPER(MPI_Wait, OFFBEAT_TRACE_BY_WAIT, (MPI_Request * request, MPI_Status *status),
                (request, status), list(1, request),
                offbeat_tracer_completion_leave_all(&completion, code, 1))

REQUEST_WRAPPER(MPI_Waitall, OFFBEAT_TRACE_BY_WAITALL,
                (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses),
                list(count, requests), offbeat_tracer_completion_leave_all(&completion, code, 1))

REQUEST_WRAPPER(MPI_Waitany, OFFBEAT_TRACE_BY_WAITANY,
                (int count, MPI_Request requests[], int *index, MPI_Status *status),
                (count, requests, index, status), list(count, requests),
                offbeat_tracer_completion_leave_some(&completion, code, 1, index, 0))

REQUEST_WRAPPER(MPI_Waitsome, OFFBEAT_TRACE_BY_WAITSOME,
                (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
                (count, requests, outcount, indices, statuses), list(count, requests),
                offbeat_tracer_completion_leave_some(&completion, code, *outcount, indices, 0))

REQUEST_WRAPPER(MPI_Test, OFFBEAT_TRACE_BY_TEST, (MPI_Request * request, int *flag, MPI_Status *status),
                (request, flag, status), list(1, request),
                offbeat_tracer_completion_leave_all(&completion, code, *flag != 0))

REQUEST_WRAPPER(MPI_Testall, OFFBEAT_TRACE_BY_TESTALL,
                (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
                (count, requests, flag, statuses), list(count, requests),
                offbeat_tracer_completion_leave_all(&completion, code, *flag != 0))

REQUEST_WRAPPER(MPI_Testany, OFFBEAT_TRACE_BY_TESTANY,
                (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
                (count, requests, index, flag, status), list(count, requests),
                offbeat_tracer_completion_leave_some(&completion, code, *flag != 0, index, 0))

REQUEST_WRAPPER(MPI_Testsome, OFFBEAT_TRACE_BY_TESTSOME,
                (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
                (count, requests, outcount, indices, statuses), list(count, requests),
                offbeat_tracer_completion_leave_some(&completion, code, *outcount, indices, 0))

REQUEST_WRAPPER(MPI_Start, OFFBEAT_TRACE_BY_NONE, (MPI_Request * request), (request), list(1, request),
                offbeat_tracer_start_leave(&completion, code))

REQUEST_WRAPPER(MPI_Startall, OFFBEAT_TRACE_BY_NONE, (int count, MPI_Request requests[]), (count, requests),
                list(count, requests), offbeat_tracer_start_leave(&completion, code))

REQUEST_WRAPPER(MPI_Request_free, OFFBEAT_TRACE_BY_FREE, (MPI_Request * request), (request), list(1, request),
                offbeat_tracer_free_leave(&completion, code))

/* --- begin and end --- */

EXPORTED int MPI_Init(int *argc, char ***argv) {
    static offbeat_tracer_next_function next;
    int code = NEXT(MPI_Init, (int *, char ***))(argc, argv);
    if (code == MPI_SUCCESS)
        offbeat_tracer_begin();
    return code;
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    static offbeat_tracer_next_function next;
    int code = NEXT(MPI_Init_thread, (int *, char ***, int, int *))(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        offbeat_tracer_begin();
    return code;
}

EXPORTED int MPI_Finalize(void) {
    static offbeat_tracer_next_function next;
    offbeat_tracer_finalize();
    return NEXT(MPI_Finalize, (void))();
}

EXPORTED int MPI_Abort(MPI_Comm comm, int code) {
    static offbeat_tracer_next_function next;
    offbeat_tracer_abort();
    return NEXT(MPI_Abort, (MPI_Comm, int))(comm, code);
}

/* The arguments after the level cannot be passed on: their types are unknown. */
EXPORTED int MPI_Pcontrol(const int level, ...) {
    static offbeat_tracer_next_function next;
    offbeat_tracer_pcontrol(level);
    return NEXT(MPI_Pcontrol, (int, ...))(level);
}

// NOLINTEND(bugprone-macro-parentheses)
