/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file completion.h
 * What the wrappers of MPI_Wait, MPI_Test, MPI_Start and their kin do around the real call.
 *
 * Where no request of a collective is known they do next to nothing. Requests must be looked up before the
 * call, as it forgets their handles.
 */
#ifndef OFFBEAT_TRACE_COMPLETION_H
#define OFFBEAT_TRACE_COMPLETION_H

#include "trace/call_path.h"
#include "trace/lane.h"
#include "trace/requests.h"

/** A request that is known, and where it stands among those that were given. */
typedef struct offbeat_awaited_request {
    int index;
    offbeat_request *request;
} offbeat_awaited_request;

enum { OFFBEAT_FEW_REQUESTS = 8 };

/** A completing or starting call that is going on. */
typedef struct offbeat_awaited {
    offbeat_lane *lane;
    offbeat_caller caller;
    uint16_t flags; /**< that records get beside their own */
    int64_t enter_ns;
    int count;
    offbeat_awaited_request few[OFFBEAT_FEW_REQUESTS], *found; /**< the latter the former, or allocated */
} offbeat_awaited;

/** Requests as C or as Fortran gives them; one of both is NULL. */
typedef struct offbeat_given_requests {
    int count;
    const MPI_Request *handles;
    const MPI_Fint *fortrans;
} offbeat_given_requests;

/** Enters the call. @param by OFFBEAT_TRACE_BY_WAIT and so on; 0 of a start */
void offbeat_await(offbeat_awaited *awaited, int by, offbeat_given_requests given, offbeat_caller caller);

/** Leaves a call after which all requests are complete, where @p are_all, or none. */
void offbeat_arrived_all(offbeat_awaited *awaited, int code, int are_all);

/**
 * Leaves a call after which some requests are complete.
 * @param count   of the indices; MPI_UNDEFINED: none
 * @param indices among the given requests
 * @param first   the index of the first request: 0 in C, 1 in Fortran
 */
void offbeat_arrived_some(offbeat_awaited *awaited, int code, int count, const int *indices, int first);

/** Leaves a call that started requests. */
void offbeat_started(offbeat_awaited *awaited, int code);

/** Leaves MPI_Request_free. */
void offbeat_freed(offbeat_awaited *awaited, int code);

#endif
