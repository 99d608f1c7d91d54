/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of collectives with large counts for C.
 */

/* Few programs call these functions: inlining is left to the compiler, as in wrappers_fortran.c. */
#define OFFBEAT_TRACER_INLINE static inline

#include "trace/requests.h"
#include "trace/wrapper_c.h"

#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    OFFBEAT_COLLECTIVE_WRAPPERS(name, lower, signature, _c, OFFBEAT_TRACE_LARGE, MPI_Count,                  \
                                OFFBEAT_C_LARGE_ROLES)

#include "trace/wrapped_functions.h"
