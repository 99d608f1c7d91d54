/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of point-to-point functions for C.
 */
#include "trace/message_signatures.h"
#include "trace/wrapper_c.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define OWN_STATUS(status, is_needed)                                                                        \
    MPI_Status own_status;                                                                                   \
    if ((is_needed) && status == MPI_STATUS_IGNORE)                                                          \
        status = &own_status;
#define STATUS_AT(status) (status)
#define ENVELOPE(peer, tag, type, count) ((offbeat_tracer_envelope){peer, tag, type, count})

#define FUNCTION(name, suffix, flags, signature, count_type)                                                 \
    WRAPPER(MPI_##name##suffix, OFFBEAT_##name, OFFBEAT_MESSAGE_##signature(count_type),                     \
            OFFBEAT_NAMES_##signature, OFFBEAT_ENTER_##signature(OFFBEAT_##name, flags),                     \
            OFFBEAT_LEAVE_##signature)
#define OFFBEAT_MESSAGE_FUNCTION(name, lower, blocking, mode, signature)                                     \
    FUNCTION(name, , 0, signature, int)                                                                      \
    FUNCTION(name, _c, OFFBEAT_TRACE_LARGE, signature, MPI_Count)
#define OFFBEAT_PROBE_FUNCTION(name, lower, blocking, mode, signature) FUNCTION(name, , 0, signature, int)

#include "trace/wrapped_functions.h"

// NOLINTEND(bugprone-macro-parentheses)
