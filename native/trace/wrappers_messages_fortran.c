/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of point-to-point functions for Fortran, with the names of wrappers_fortran.c.
 */

#define OFFBEAT_TRACER_INLINE static inline /* as in wrappers_fortran.c */

#include "trace/message_signatures.h"
#include "trace/wrapper_fortran.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define OWN_STATUS(status, is_needed)                                                                        \
    MPI_Status own_status, read_status;                                                                      \
    if ((is_needed) && offbeat_tracer_is_status_ignored(status))                                             \
        status = &own_status;
#define STATUS_AT(status) (PMPI_Status_f2c((const MPI_Fint *)(status), &read_status), &read_status)
#define ENVELOPE(peer, tag, type, count)                                                                     \
    ((offbeat_tracer_envelope){INTEGER_AT(peer), INTEGER_AT(tag), type, count})

#define FUNCTION(symbol, name, flags, signature, count_type)                                                 \
    WRAPPER(symbol, OFFBEAT_##name, PARAMETERS_0 OFFBEAT_NAMES_##signature,                                  \
            NAMES_0 OFFBEAT_NAMES_##signature,                                                               \
            const offbeat_tracer_array_format arrays = {.count_bytes = (int)sizeof(count_type)};             \
            (void)arrays; OFFBEAT_ENTER_##signature(OFFBEAT_##name, flags), OFFBEAT_LEAVE_##signature)
#define OFFBEAT_MESSAGE_FUNCTION(name, lower, blocking, mode, signature)                                     \
    FUNCTION(mpi_##lower##_, name, 0, signature, MPI_Fint)                                                   \
    FUNCTION(mpi_##lower##_f08_, name, 0, signature, MPI_Fint)                                               \
    FUNCTION(mpi_##lower##_f08ts_, name, 0, signature, MPI_Fint)                                             \
    FUNCTION(mpi_##lower##_f08ts_large_, name, OFFBEAT_TRACE_LARGE, signature, MPI_Count)                    \
    FUNCTION(mpi_##lower##_c_f08ts_, name, OFFBEAT_TRACE_LARGE, signature, MPI_Count)
#define OFFBEAT_PROBE_FUNCTION(name, lower, blocking, mode, signature)                                       \
    FUNCTION(mpi_##lower##_, name, 0, signature, MPI_Fint)                                                   \
    FUNCTION(mpi_##lower##_f08_, name, 0, signature, MPI_Fint)

#include "trace/wrapped_functions.h"

// NOLINTEND(bugprone-macro-parentheses)
