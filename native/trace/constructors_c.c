/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of what makes and frees communicators, for C.
 */
#include "trace/constructors.h"
#include "trace/next.h"
#include "trace/shapes.h"

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)                                                  \
    int MPI_##name parameters;                                                                               \
    int MPI_##name parameters {                                                                              \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_call_enter(&call, OFFBEAT_##name, 0, comm, OFFBEAT_CALLER);                                  \
        int code = ((int(*) parameters)offbeat_next(&next, "MPI_" #name))names;                              \
        offbeat_constructor_leave(&call, code, made);                                                        \
        return code;                                                                                         \
    }
#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts)                                      \
    OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)

#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)                                            \
    int MPI_##name parameters;                                                                               \
    int MPI_##name parameters {                                                                              \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_group_constructor_enter(&call, OFFBEAT_##name, 0, OFFBEAT_CALLER);                           \
        int code = ((int(*) parameters)offbeat_next(&next, "MPI_" #name))names;                              \
        offbeat_group_constructor_leave(&call, code, made);                                                  \
        return code;                                                                                         \
    }
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR(name, lower, parameters, names, texts)                                \
    OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)

#define OFFBEAT_IDLE_CONSTRUCTOR(name, lower, parameters, names)                                             \
    int MPI_##name parameters;                                                                               \
    int MPI_##name parameters {                                                                              \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_ISSUE, comm, OFFBEAT_CALLER);                \
        int code = ((int(*) parameters)offbeat_next(&next, "MPI_" #name))names;                              \
        offbeat_idle_constructor_leave(&call, code, *request, made, NULL);                                   \
        return code;                                                                                         \
    }

#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    int MPI_##name(MPI_Comm *comm) {                                                                         \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_destructor_enter(&call, OFFBEAT_##name, 0, *comm, OFFBEAT_CALLER);                           \
        int code = ((int (*)(MPI_Comm *))offbeat_next(&next, "MPI_" #name))(comm);                           \
        if (offbeat_call_leave(&call, code))                                                                 \
            offbeat_call_write(&call);                                                                       \
        return code;                                                                                         \
    }
#include "trace/table.h"

// NOLINTEND(bugprone-macro-parentheses)
