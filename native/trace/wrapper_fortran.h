/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wrapper_fortran.h
 * A wrapper for Fortran, and how its arguments are read, which are all addresses; see signatures.h.
 */
#ifndef OFFBEAT_TRACE_WRAPPER_FORTRAN_H
#define OFFBEAT_TRACE_WRAPPER_FORTRAN_H

#include "trace/record_arguments.h"
#include "trace/signatures.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* IS_IN_PLACE and COUNT read variables of the wrapper. */
#define LANGUAGE OFFBEAT_TRACE_FORTRAN
#define CODE INTEGER_AT(code)
#define IS_IN_PLACE(buffer) is_in_place(buffer)
#define COUNT(name) count_at(name, arrays)
#define INTEGER(name) INTEGER_AT(name)
#define INTEGER_AT(name) (*(const MPI_Fint *)(name))
#define TYPE(name) PMPI_Type_f2c(INTEGER_AT(name))
#define OP(name) PMPI_Op_f2c(INTEGER_AT(name))
#define COMM(name) COMM_AT(name)
#define COMM_AT(name) PMPI_Comm_f2c(INTEGER_AT(name))
#define REQUEST_AT(name) PMPI_Request_f2c(INTEGER_AT(name))
#define NEWCOMM_POINTERS NULL, newcomm
#define MESSAGE_AT(name) PMPI_Message_f2c(INTEGER_AT(name))

static inline MPI_Count count_at(const void *address, offbeat_tracer_array_format arrays) {
    return arrays.count_bytes == (int)sizeof(MPI_Fint) ? INTEGER_AT(address) : *(const MPI_Count *)address;
}

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Calls the MPI library's subroutine, or that of the next tool (offbeat_tracer_next); it sets *code. */
#define NEXT(symbol, parameters, names)                                                                      \
    ((void(*) parameters)offbeat_tracer_next(&next, is_pmpi, "p" #symbol)) names

/* A wrapper. mpi_f08 may pass NULL for the error code, which is optional there.
 * @param function whose calls may be delayed; OFFBEAT_NO_FUNCTION: none
 * @param enter    what is done before the call; what is done after it is the last argument */
#define WRAPPER(symbol, function, parameters, names, enter, ...)                                             \
    EXPORT void symbol parameters;                                                                           \
    void symbol parameters {                                                                                 \
        static offbeat_tracer_next_functions next;                                                           \
        const int is_pmpi = offbeat_tracer_take_name();                                                      \
        const int64_t delay_ns = offbeat_tracer_delay(function);                                             \
        MPI_Fint unused_code = MPI_SUCCESS;                                                                  \
        if (code == NULL)                                                                                    \
            code = &unused_code;                                                                             \
        enter;                                                                                               \
        NEXT(symbol, parameters, names);                                                                     \
        __VA_ARGS__;                                                                                         \
        offbeat_tracer_delay_after(delay_ns);                                                                \
    }

/* --- parameters and arguments of a list of names --- */

/* Compilers append the lengths of strings, which names do not include. */
#define PARAMETERS_0(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code)
#define PARAMETERS_1(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code, size_t bytes)
#define PARAMETERS_2(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code, size_t bytes, size_t bytes_2)
#define NAMES_0(...) (__VA_ARGS__, code)
#define NAMES_1(...) (__VA_ARGS__, code, bytes)
#define NAMES_2(...) (__VA_ARGS__, code, bytes, bytes_2)

// NOLINTEND(bugprone-macro-parentheses)

#endif
