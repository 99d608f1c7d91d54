/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of collectives for Fortran. The names are those that compilers make of `mpif.h` and `use mpi`
 * (mpi_bcast_), and of the specific procedures behind `use mpi_f08`: mpi_bcast_f08_ where buffers are
 * addresses, mpi_bcast_f08ts_ where they are C descriptors, and with large counts mpi_bcast_f08ts_large_
 * (MPICH) and mpi_bcast_c_f08ts_ (Intel MPI). All arguments are addresses, so that they are handed on as they
 * came.
 */
#include "trace/describe.h"
#include "trace/fortran.h"
#include "trace/given.h"
#include "trace/next.h"
#include "trace/shapes.h"

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define INTEGER_AT(name) (*(const MPI_Fint *)(name))
#define COUNT_AT(name) (*(const MPI_Count *)(name))
#define TYPE_AT(name) PMPI_Type_f2c(INTEGER_AT(name))
#define OPERATION_AT(name) PMPI_Op_f2c(INTEGER_AT(name))

#define WRAPPER(symbol, function, flags, shape, value, is_in_place, bytes_of_count, parameters, names,       \
                finish)                                                                                      \
    void symbol parameters;                                                                                  \
    void symbol parameters {                                                                                 \
        static offbeat_next_function next;                                                                   \
        offbeat_call call;                                                                                   \
        int failed = 0;                                                                                      \
        if (code == NULL)                                                                                    \
            code = &failed;                                                                                  \
        offbeat_call_enter(&call, function, (flags) | OFFBEAT_TRACE_FORTRAN,                                 \
                           PMPI_Comm_f2c(INTEGER_AT(comm)), OFFBEAT_CALLER);                                 \
        ((void(*) parameters)offbeat_next(&next, #symbol)) names;                                            \
        if (offbeat_call_leave(&call, INTEGER_AT(code))) {                                                   \
            const offbeat_arguments given = {                                                                \
                .arrays = {.count_bytes = (int)(bytes_of_count), .are_fortrans = 1},                         \
                OFFBEAT_GIVEN_##shape(value, INTEGER_AT, TYPE_AT, OPERATION_AT, is_in_place)};               \
            offbeat_call_describe(&call, OFFBEAT_IS_##shape, &given);                                        \
            finish;                                                                                          \
        }                                                                                                    \
    }

/* The three variants of a collective in one binding. */
#define THREE(lower, name, shape, ending, flags, value, is_in_place, bytes_of_count)                         \
    WRAPPER(mpi_##lower##ending, OFFBEAT_##name, flags, shape, value, is_in_place, bytes_of_count,           \
            (OFFBEAT_WRITE(shape, OFFBEAT_F_ROLES), void *code),                                             \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES), code), offbeat_call_write(&call))                     \
    WRAPPER(mpi_i##lower##ending, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, shape, value,             \
            is_in_place, bytes_of_count, (OFFBEAT_WRITE(shape, OFFBEAT_F_ROLES), void *request, void *code), \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES), request, code),                                       \
            offbeat_call_issued(&call, PMPI_Request_f2c(INTEGER_AT(request)), 0))                            \
    WRAPPER(mpi_##lower##_init##ending, OFFBEAT_##name##_init, flags, shape, value, is_in_place,             \
            bytes_of_count, (OFFBEAT_WRITE(shape, OFFBEAT_F_ROLES), void *info, void *request, void *code),  \
            (OFFBEAT_WRITE(shape, OFFBEAT_NAME_ROLES), info, request, code),                                 \
            offbeat_call_issued(&call, PMPI_Request_f2c(INTEGER_AT(request)), 1))

#define SMALL(name, lower, shape, ending, is_in_place)                                                       \
    THREE(lower, name, shape, ending, 0, INTEGER_AT, is_in_place, sizeof(MPI_Fint))
#define LARGE(name, lower, shape, ending)                                                                    \
    THREE(lower, name, shape, ending, OFFBEAT_TRACE_LARGE, COUNT_AT, offbeat_is_described_in_place,          \
          sizeof(MPI_Count))

#define OFFBEAT_COLLECTIVE(name, lower, shape)                                                               \
    SMALL(name, lower, shape, _, offbeat_is_in_place)                                                        \
    SMALL(name, lower, shape, _f08_, offbeat_is_in_place)                                                    \
    SMALL(name, lower, shape, _f08ts_, offbeat_is_described_in_place)                                        \
    LARGE(name, lower, shape, _f08ts_large_)                                                                 \
    LARGE(name, lower, shape, _c_f08ts_)
#include "trace/table.h"

// NOLINTEND(bugprone-macro-parentheses)
