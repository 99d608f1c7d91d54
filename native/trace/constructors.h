/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file constructors.h
 * What the wrappers of constructors of communicators do around the real call, beyond call.h.
 */
#ifndef OFFBEAT_TRACE_CONSTRUCTORS_H
#define OFFBEAT_TRACE_CONSTRUCTORS_H

#include "trace/call.h"

/** Leaves a call that made a communicator out of that it was called on: defines it, and writes the record. */
void offbeat_constructor_leave(offbeat_call *call, int code, const MPI_Comm *made);

/** Enters a call that only the members of the communicator make that will be: it is the first call on that.
 */
void offbeat_group_constructor_enter(offbeat_call *call, uint16_t function, uint16_t flags,
                                     offbeat_caller caller);
void offbeat_group_constructor_leave(offbeat_call *call, int code, const MPI_Comm *made);

/** Leaves a nonblocking call; one of both places is NULL. The communicator is defined when it is complete. */
void offbeat_idle_constructor_leave(offbeat_call *call, int code, MPI_Request request, const MPI_Comm *made,
                                    const MPI_Fint *made_for_fortran);

/** Enters a call that frees a communicator: writes down its last name. */
void offbeat_destructor_enter(offbeat_call *call, uint16_t function, uint16_t flags, MPI_Comm comm,
                              offbeat_caller caller);

#endif
