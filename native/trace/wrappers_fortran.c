/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers for Fortran, except those of point-to-point functions. Compilers generate the names mpi_bcast_
 * from `mpif.h` and `use mpi`; `use mpi_f08` refers to specific procedures: mpi_bcast_f08_ where buffers are
 * addresses, mpi_bcast_f08ts_ where they are C descriptors, and with large counts mpi_bcast_f08ts_large_
 * (MPICH) and mpi_bcast_c_f08ts_ (Intel MPI). All arguments are addresses, which are passed on unchanged.
 *
 * In some libraries the Fortran functions call the C functions, whose wrappers then do nothing.
 */

/* Inlining is left to the compiler: if it were forced, the code of these 400 functions would be more than
 * twice as large and would take almost three times as long to compile. */
#define OFFBEAT_TRACER_INLINE static inline

#include "trace/issued_call.h"
#include "trace/message_call.h"
#include "trace/requests.h"
#include "trace/spawn_info.h"
#include "trace/wrapper_fortran.h"

#include <pthread.h>

#define FIRST_INDEX (is_f08 ? get_first_in_f08(&completion) : FIRST)

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* --- collectives: blocking, nonblocking and persistent, in five bindings --- */

/* @param finish  writes the record, if the call is recorded */
#define COLLECTIVE(symbol, function, flags, signature, in_place, count_type, parameters, names, finish)      \
    WRAPPER(                                                                                                 \
        symbol, function, parameters, names, OFFBEAT_ENTER(function, flags, COMM(comm)),                     \
        if (offbeat_tracer_call_leave(&call, CODE)) {                                                        \
            const offbeat_tracer_array_format arrays = {.count_bytes = (int)sizeof(count_type),              \
                                                        .is_fortran = 1};                                    \
            int (*const is_in_place)(const void *) = in_place;                                               \
            (void)is_in_place;                                                                               \
            OFFBEAT_RECORD_ARGUMENTS(signature)                                                              \
            finish;                                                                                          \
        })

#define VARIANTS(name, lower, signature, suffix, flags, in_place, count_type)                                \
    COLLECTIVE(mpi_##lower##suffix, OFFBEAT_##name, flags, signature, in_place, count_type,                  \
               (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *code),                               \
               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), code), offbeat_tracer_call_write(&call))  \
    COLLECTIVE(mpi_i##lower##suffix, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, signature, in_place,   \
               count_type, (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *request, void *code),    \
               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), request, code),                           \
               offbeat_tracer_call_issued(&call, REQUEST_AT(request), 0))                                    \
    COLLECTIVE(mpi_##lower##_init##suffix, OFFBEAT_##name##_init, flags, signature, in_place, count_type,    \
               (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *info, void *request, void *code),    \
               (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), info, request, code),                     \
               offbeat_tracer_call_issued(&call, REQUEST_AT(request), 1))

#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    VARIANTS(name, lower, signature, _, 0, offbeat_tracer_is_in_place, MPI_Fint)                             \
    VARIANTS(name, lower, signature, _f08_, 0, offbeat_tracer_is_in_place, MPI_Fint)                         \
    VARIANTS(name, lower, signature, _f08ts_, 0, offbeat_tracer_is_descriptor_in_place, MPI_Fint)            \
    VARIANTS(name, lower, signature, _f08ts_large_, OFFBEAT_TRACE_LARGE,                                     \
             offbeat_tracer_is_descriptor_in_place, MPI_Count)                                               \
    VARIANTS(name, lower, signature, _c_f08ts_, OFFBEAT_TRACE_LARGE, offbeat_tracer_is_descriptor_in_place,  \
             MPI_Count)

/* --- constructors and destructors of communicators: mpi_comm_dup_ and mpi_comm_dup_f08_ --- */

#define ADD_TO_INFOS(count, infos)                                                                           \
    infos = (void *)offbeat_tracer_spawn_enter_fortran(&spawn, COMM(comm), INTEGER(root), count, infos)
#define ADD_TO_INFO(info)                                                                                    \
    const MPI_Fint info_count = 1;                                                                           \
    ADD_TO_INFOS(&info_count, info)
#define CONSTRUCTOR(symbol, function, kind, strings, names)                                                  \
    WRAPPER(symbol, function, PARAMETERS_##strings names, NAMES_##strings names,                             \
            OFFBEAT_ENTER_##kind(function), OFFBEAT_LEAVE_##kind)
#define OFFBEAT_CONSTRUCTOR(name, lower, kind, strings, parameters, names)                                   \
    CONSTRUCTOR(mpi_##lower##_, OFFBEAT_##name, kind, strings, names)                                        \
    CONSTRUCTOR(mpi_##lower##_f08_, OFFBEAT_##name, kind, strings, names)

/* --- requests: mpi_wait_ and mpi_wait_f08_ --- */

static offbeat_tracer_request_list list(int count, const MPI_Fint *handles) {
    return (offbeat_tracer_request_list){.count = count, .is_fortran = 1, .fortran_handles = handles};
}

/* Indices start at 1, except in mpi_f08 of MPICH 4.0, where they start at 0. */
enum { FIRST = 1 };

static int first_in_f08 = FIRST;

/* Determines the index of a single request that is complete. MPI_UNDEFINED is the same as in C. */
static void detect_first_in_f08(void) {
    static offbeat_tracer_next_functions next;
    enum { is_pmpi = 1 }; /* tools do not get this call */
    MPI_Request request;
    MPI_Fint index = FIRST, code = MPI_SUCCESS;
    const MPI_Fint count = 1;
    int status[64]; /* a type(MPI_Status) has 5 to 8 */
    if (PMPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS)
        return;
    MPI_Fint handle = PMPI_Request_c2f(request);
    NEXT(mpi_waitany_f08_, (const MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *),
         (&count, &handle, &index, status, &code));
    first_in_f08 = index;
}

static int get_first_in_f08(const offbeat_tracer_completion *completion) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (completion->count > 0)
        pthread_once(&once, detect_first_in_f08);
    return first_in_f08;
}

/* What a completing call passes for a status. */
static void *own_statuses(offbeat_tracer_completion *completion, void *statuses) {
    void *completion_statuses =
        offbeat_tracer_is_status_ignored(statuses) ? offbeat_tracer_completion_statuses(completion) : NULL;
    return completion_statuses != NULL ? completion_statuses : statuses;
}

#define STATUS(status) status = own_statuses(&completion, status)
#define STATUSES STATUS
#define READABLE(statuses)                                                                                   \
    (offbeat_tracer_is_status_ignored(statuses) ? completion.queried_statuses : (statuses))

#define REQUEST_FUNCTION(symbol, function, completion_kind, count, requests, statuses, result, names,        \
                         is_in_f08)                                                                          \
    WRAPPER(symbol, function, PARAMETERS_0 names, NAMES_0 names, const int is_f08 = is_in_f08; (void)is_f08; \
            offbeat_tracer_completion completion; offbeat_tracer_completion_enter(                           \
                &completion, function, completion_kind, list(count, requests), OFFBEAT_TRACER_CALLER);       \
            statuses, result)
#define OFFBEAT_REQUEST_FUNCTION(name, lower, completion_kind, count, requests, statuses, result,            \
                                 parameters, names)                                                          \
    REQUEST_FUNCTION(mpi_##lower##_, OFFBEAT_##name, completion_kind, count, requests, statuses, result,     \
                     names, 0)                                                                               \
    REQUEST_FUNCTION(mpi_##lower##_f08_, OFFBEAT_##name, completion_kind, count, requests, statuses, result, \
                     names, 1)

#include "trace/wrapped_functions.h"

/* --- begin and end --- */

#define BOTH_INTERFACES(name, parameters, names, enter, ...)                                                 \
    WRAPPER(mpi_##name##_, OFFBEAT_NO_FUNCTION, parameters, names, enter, __VA_ARGS__)                       \
    WRAPPER(mpi_##name##_f08_, OFFBEAT_NO_FUNCTION, parameters, names, enter, __VA_ARGS__)

BOTH_INTERFACES(init, (void *code), (code), offbeat_tracer_init_enter(), offbeat_tracer_init_leave(CODE))
BOTH_INTERFACES(init_thread, (void *required_level, void *provided_level, void *code),
                (required_level, provided_level, code), offbeat_tracer_init_enter(),
                offbeat_tracer_init_leave(CODE))
BOTH_INTERFACES(finalize, (void *code), (code), offbeat_tracer_finalize_enter(), offbeat_tracer_end_leave())
BOTH_INTERFACES(abort, (void *comm, void *status, void *code), (comm, status, code),
                offbeat_tracer_abort_enter(), offbeat_tracer_end_leave())

BOTH_INTERFACES(session_init, (void *info, void *handler, void *session, void *code),
                (info, handler, session, code), offbeat_tracer_init_enter(),
                offbeat_tracer_session_init_leave(CODE))
BOTH_INTERFACES(session_finalize, (void *session, void *code), (session, code),
                offbeat_tracer_session_finalize_enter(), offbeat_tracer_end_leave())

/* MPI_Pcontrol has no error code, except in mpi_f08 of MPICH 4.0, where it is optional: NULL if it is absent.
 * In other libraries the second argument is undefined. It is passed on and not read. */
#define PCONTROL(symbol)                                                                                     \
    EXPORT void symbol(void *level, void *code);                                                             \
    void symbol(void *level, void *code) {                                                                   \
        static offbeat_tracer_next_functions next;                                                           \
        const int is_pmpi = offbeat_tracer_take_name();                                                      \
        const int64_t delay_ns = offbeat_tracer_delay(OFFBEAT_MARK(INTEGER_AT(level)));                      \
        offbeat_tracer_pcontrol_enter(INTEGER_AT(level), LANGUAGE, OFFBEAT_TRACER_CALLER);                   \
        NEXT(symbol, (void *, void *), (level, code));                                                       \
        offbeat_tracer_pcontrol_leave();                                                                     \
        offbeat_tracer_delay_after(delay_ns);                                                                \
    }
PCONTROL(mpi_pcontrol_)
PCONTROL(mpi_pcontrol_f08_)

// NOLINTEND(bugprone-macro-parentheses)
