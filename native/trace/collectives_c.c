/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of collectives for C, six a row of the table: blocking, nonblocking and persistent, each also
 * with large counts. Functions that a library doesn't have yet are declared here.
 */
#include "trace/describe.h"
#include "trace/given.h"
#include "trace/next.h"
#include "trace/shapes.h"

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define IS_IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

/* The body of a wrapper. `finish` follows where the call is kept. */
#define WRAPPER(symbol, function, flags, shape, bytes_of_count, parameters, names, finish)                   \
    int symbol parameters;                                                                                   \
    int symbol parameters {                                                                                  \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        offbeat_call_enter(&call, function, flags, comm, OFFBEAT_CALLER);                                    \
        int code = ((int(*) parameters)offbeat_next(&next, #symbol))names;                                   \
        if (offbeat_call_leave(&call, code)) {                                                               \
            const offbeat_arguments given = {                                                                \
                .arrays = {.count_bytes = (int)(bytes_of_count)},                                            \
                OFFBEAT_GIVEN_##shape(OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, IS_IN_PLACE)}; \
            offbeat_call_describe(&call, OFFBEAT_IS_##shape, &given);                                        \
            finish;                                                                                          \
        }                                                                                                    \
        return code;                                                                                         \
    }

/* The three variants of a collective with one kind of counts. */
#define THREE(name, lower, shape, ending, flags, bytes_of_count, roles)                                      \
    WRAPPER(MPI_##name##ending, OFFBEAT_##name, flags, shape, bytes_of_count, (OFFBEAT_WRITE(shape, roles)), \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES)), offbeat_call_write(&call))                           \
    WRAPPER(MPI_I##lower##ending, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, shape, bytes_of_count,    \
            (OFFBEAT_WRITE(shape, roles), MPI_Request * request),                                            \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES), request), offbeat_call_issued(&call, *request, 0))    \
    WRAPPER(MPI_##name##_init##ending, OFFBEAT_##name##_init, flags, shape, bytes_of_count,                  \
            (OFFBEAT_WRITE(shape, roles), MPI_Info info, MPI_Request * request),                             \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES), info, request),                                       \
            offbeat_call_issued(&call, *request, 1))

#define OFFBEAT_COLLECTIVE(name, lower, shape)                                                               \
    THREE(name, lower, shape, , 0, sizeof(int), OFFBEAT_C_ROLES)                                             \
    THREE(name, lower, shape, _c, OFFBEAT_TRACE_LARGE, sizeof(MPI_Count), OFFBEAT_C_LARGE_ROLES)
#include "trace/table.h"

// NOLINTEND(bugprone-macro-parentheses)
