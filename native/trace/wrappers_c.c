/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers for C, except those of point-to-point functions.
 */
#include "trace/message_call.h"
#include "trace/requests.h"
#include "trace/spawn_info.h"
#include "trace/wrapper_c.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Those with large counts are in wrappers_large_c.c. */
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    OFFBEAT_COLLECTIVE_WRAPPERS(name, lower, signature, , 0, int, OFFBEAT_C_ROLES)

/* --- constructors and destructors of communicators, and requests --- */

#define ADD_TO_INFO(info) info = *offbeat_tracer_spawn_enter(&spawn, comm, root, 1, &info)
#define ADD_TO_INFOS(count, infos) infos = offbeat_tracer_spawn_enter(&spawn, comm, root, count, infos)
#define OFFBEAT_CONSTRUCTOR(name, lower, kind, strings, parameters, names)                                   \
    WRAPPER(MPI_##name, OFFBEAT_##name, parameters, names, OFFBEAT_ENTER_##kind(OFFBEAT_##name),             \
            OFFBEAT_LEAVE_##kind)

static offbeat_tracer_request_list list(int count, const MPI_Request *handles) {
    return (offbeat_tracer_request_list){.count = count, .handles = handles};
}

/* What a completing call passes for an ignored status. */
static MPI_Status *own_statuses(offbeat_tracer_completion *completion, MPI_Status *default_statuses) {
    MPI_Status *completion_statuses = offbeat_tracer_completion_statuses(completion);
    return completion_statuses != NULL ? completion_statuses : default_statuses;
}

static const MPI_Status *readable(const offbeat_tracer_completion *completion, const MPI_Status *statuses) {
    return statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE ? completion->queried_statuses
                                                                            : statuses;
}

#define STATUS(status)                                                                                       \
    if (status == MPI_STATUS_IGNORE)                                                                         \
    status = own_statuses(&completion, status)
#define STATUSES(statuses)                                                                                   \
    if (statuses == MPI_STATUSES_IGNORE)                                                                     \
    statuses = own_statuses(&completion, statuses)
#define READABLE(statuses) readable(&completion, statuses)

#define OFFBEAT_REQUEST_FUNCTION(name, lower, completion_kind, count, requests, statuses, result,            \
                                 parameters, names)                                                          \
    WRAPPER(MPI_##name, OFFBEAT_##name, parameters, names, offbeat_tracer_completion completion;             \
            offbeat_tracer_completion_enter(&completion, OFFBEAT_##name, completion_kind,                    \
                                            list(count, requests), OFFBEAT_TRACER_CALLER);                   \
            statuses, result)

#include "trace/wrapped_functions.h"

/* --- begin and end --- */

WRAPPER(MPI_Init, OFFBEAT_NO_FUNCTION, (int *argc, char ***argv), (argc, argv), offbeat_tracer_init_enter(),
        offbeat_tracer_init_leave(code))
WRAPPER(MPI_Init_thread, OFFBEAT_NO_FUNCTION,
        (int *argc, char ***argv, int required_level, int *provided_level),
        (argc, argv, required_level, provided_level), offbeat_tracer_init_enter(),
        offbeat_tracer_init_leave(code))
WRAPPER(MPI_Finalize, OFFBEAT_NO_FUNCTION, (void), (), offbeat_tracer_finalize_enter(),
        offbeat_tracer_end_leave())
WRAPPER(MPI_Abort, OFFBEAT_NO_FUNCTION, (MPI_Comm comm, int status), (comm, status),
        offbeat_tracer_abort_enter(), offbeat_tracer_end_leave())

/* Their parameters are pointers or handles; some libraries do not have the type of a session. */
#define SESSION_WRAPPER(function, symbol, parameters, names, enter, leave)                                   \
    EXPORT int function parameters __asm__(symbol);                                                          \
    int function parameters {                                                                                \
        static offbeat_tracer_next_functions next;                                                           \
        const int is_pmpi = offbeat_tracer_take_name();                                                      \
        enter;                                                                                               \
        int code = ((int(*) parameters)offbeat_tracer_next(&next, is_pmpi, "P" symbol))names;                \
        leave;                                                                                               \
        return code;                                                                                         \
    }
SESSION_WRAPPER(session_init, "MPI_Session_init", (MPI_Info info, MPI_Errhandler handler, void *session),
                (info, handler, session), offbeat_tracer_init_enter(),
                offbeat_tracer_session_init_leave(code))
SESSION_WRAPPER(session_finalize, "MPI_Session_finalize", (void *session), (session),
                offbeat_tracer_session_finalize_enter(), offbeat_tracer_end_leave())

/* The types of the arguments after the level are known to the program and its tools only. The wrapper takes
 * all registers in which arguments may be passed, and words of the caller's stack, and passes them on: in the
 * order of these parameters, the calling convention puts all of them where they were. It can read more words
 * of the stack than there are arguments. */
#if defined(__x86_64__)
#define INTEGER_REGISTERS(kind) kind(a), kind(b), kind(c), kind(d), kind(e)
#define FLOATING_REGISTERS(kind)                                                                             \
    kind(f0), kind(f1), kind(f2), kind(f3), kind(f4), kind(f5), kind(f6), kind(f7),
#elif defined(__aarch64__)
#define INTEGER_REGISTERS(kind) kind(a), kind(b), kind(c), kind(d), kind(e), kind(f), kind(g)
#define FLOATING_REGISTERS(kind)                                                                             \
    kind(f0), kind(f1), kind(f2), kind(f3), kind(f4), kind(f5), kind(f6), kind(f7),
#else /* floating-point numbers are not passed on */
#define INTEGER_REGISTERS(kind) kind(a), kind(b), kind(c), kind(d), kind(e), kind(f), kind(g)
#define FLOATING_REGISTERS(kind)
#endif
#define STACK(kind) kind(s0), kind(s1), kind(s2), kind(s3), kind(s4), kind(s5)
#define WORD(name) uintptr_t name
#define NUMBER(name) double name
#define NAME(name) name

EXPORT int pcontrol(int level, INTEGER_REGISTERS(WORD),
                    FLOATING_REGISTERS(NUMBER) STACK(WORD)) __asm__("MPI_Pcontrol");
int pcontrol(int level, INTEGER_REGISTERS(WORD), FLOATING_REGISTERS(NUMBER) STACK(WORD)) {
    static offbeat_tracer_next_functions next;
    const int is_pmpi = offbeat_tracer_take_name();
    const int64_t delay_ns = offbeat_tracer_delay(OFFBEAT_MARK(level));
    offbeat_tracer_pcontrol_enter(level, LANGUAGE, OFFBEAT_TRACER_CALLER);
    int code = ((int (*)(int, ...))offbeat_tracer_next(&next, is_pmpi, "PMPI_Pcontrol"))(
        level, INTEGER_REGISTERS(NAME), FLOATING_REGISTERS(NAME) STACK(NAME));
    offbeat_tracer_pcontrol_leave();
    offbeat_tracer_delay_after(delay_ns);
    return code;
}

// NOLINTEND(bugprone-macro-parentheses)
