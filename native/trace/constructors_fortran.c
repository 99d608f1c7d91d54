/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of what makes and frees communicators, for Fortran: mpi_comm_dup_ and mpi_comm_dup_f08_. The
 * lengths of texts come behind all arguments, which they have no part in.
 */
#include "trace/constructors.h"
#include "trace/next.h"
#include "trace/shapes.h"

#include <stddef.h>

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define COMM_AT(name) PMPI_Comm_f2c(*(const MPI_Fint *)(name))
#define PARAMETERS_0(...) (OFFBEAT_WORDS(__VA_ARGS__), void *code)
#define PARAMETERS_1(...) (OFFBEAT_WORDS(__VA_ARGS__), void *code, size_t bytes)
#define PARAMETERS_2(...) (OFFBEAT_WORDS(__VA_ARGS__), void *code, size_t bytes, size_t bytes_too)
#define NAMES_0(...) (__VA_ARGS__, code)
#define NAMES_1(...) (__VA_ARGS__, code, bytes)
#define NAMES_2(...) (__VA_ARGS__, code, bytes, bytes_too)

/* The real call; `code` is there afterwards. */
#define FORWARD(symbol, names, texts)                                                                        \
    static offbeat_next_function next;                                                                       \
    int failed = 0;                                                                                          \
    if (code == NULL)                                                                                        \
        code = &failed;                                                                                      \
    ((void(*) PARAMETERS_##texts names)offbeat_next(&next, #symbol)) NAMES_##texts names;

#define CONSTRUCTOR(symbol, name, names, texts)                                                              \
    void symbol PARAMETERS_##texts names;                                                                    \
    void symbol PARAMETERS_##texts names {                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN, COMM_AT(comm), OFFBEAT_CALLER);     \
        FORWARD(symbol, names, texts)                                                                        \
        const MPI_Comm handle = COMM_AT(made);                                                               \
        offbeat_constructor_leave(&call, *(const MPI_Fint *)code, &handle);                                  \
    }
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)                                                  \
    CONSTRUCTOR(mpi_##lower##_, name, names, 0)                                                              \
    CONSTRUCTOR(mpi_##lower##_f08_, name, names, 0)

#define GROUP_CONSTRUCTOR(symbol, name, names, texts)                                                        \
    void symbol PARAMETERS_##texts names;                                                                    \
    void symbol PARAMETERS_##texts names {                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_group_constructor_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN, OFFBEAT_CALLER);       \
        FORWARD(symbol, names, texts)                                                                        \
        const MPI_Comm handle = COMM_AT(made);                                                               \
        offbeat_group_constructor_leave(&call, *(const MPI_Fint *)code, &handle);                            \
    }
#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)                                            \
    GROUP_CONSTRUCTOR(mpi_##lower##_, name, names, 0)                                                        \
    GROUP_CONSTRUCTOR(mpi_##lower##_f08_, name, names, 0)

#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts)                                      \
    CONSTRUCTOR(mpi_##lower##_, name, names, texts)                                                          \
    CONSTRUCTOR(mpi_##lower##_f08_, name, names, texts)
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR(name, lower, parameters, names, texts)                                \
    GROUP_CONSTRUCTOR(mpi_##lower##_, name, names, texts)                                                    \
    GROUP_CONSTRUCTOR(mpi_##lower##_f08_, name, names, texts)

#define IDLE_CONSTRUCTOR(symbol, name, names, texts)                                                         \
    void symbol PARAMETERS_##texts names;                                                                    \
    void symbol PARAMETERS_##texts names {                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_ISSUE | OFFBEAT_TRACE_FORTRAN,               \
                           COMM_AT(comm), OFFBEAT_CALLER);                                                   \
        FORWARD(symbol, names, texts)                                                                        \
        offbeat_idle_constructor_leave(&call, *(const MPI_Fint *)code,                                       \
                                       PMPI_Request_f2c(*(const MPI_Fint *)request), NULL, made);            \
    }
#define OFFBEAT_IDLE_CONSTRUCTOR(name, lower, parameters, names)                                             \
    IDLE_CONSTRUCTOR(mpi_##lower##_, name, names, 0)                                                         \
    IDLE_CONSTRUCTOR(mpi_##lower##_f08_, name, names, 0)

#define DESTRUCTOR(symbol, name)                                                                             \
    void symbol PARAMETERS_0(comm);                                                                          \
    void symbol PARAMETERS_0(comm) {                                                                         \
        offbeat_call call;                                                                                   \
        offbeat_destructor_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN, COMM_AT(comm),                \
                                 OFFBEAT_CALLER);                                                            \
        FORWARD(symbol, (comm), 0)                                                                           \
        if (offbeat_call_leave(&call, *(const MPI_Fint *)code))                                              \
            offbeat_call_write(&call);                                                                       \
    }
#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    DESTRUCTOR(mpi_##lower##_, name)                                                                         \
    DESTRUCTOR(mpi_##lower##_f08_, name)
#include "trace/table.h"

// NOLINTEND(bugprone-macro-parentheses)
