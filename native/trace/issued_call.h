/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file issued_call.h
 * What wrappers of nonblocking and persistent collectives, and of nonblocking constructors of communicators,
 * do after the MPI library's function: they keep the request, whose completion is recorded later.
 */
#ifndef OFFBEAT_TRACE_ISSUED_CALL_H
#define OFFBEAT_TRACE_ISSUED_CALL_H

#include "trace/traced_call.h"

/** Adds the request of a nonblocking or persistent call, and writes the record of the call. */
void offbeat_tracer_call_issued(offbeat_tracer_call *call, MPI_Request request, int is_persistent);

/** Leaves a nonblocking constructor; one of both pointers is NULL. The new communicator is defined at
 * completion. */
void offbeat_tracer_nonblocking_constructor_leave(offbeat_tracer_call *call, int code, MPI_Request request,
                                                  const MPI_Comm *newcomm, const MPI_Fint *newcomm_fortran);

#endif
