/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file requests.h
 * Requests of collectives, from their issue to their completion. Other requests aren't known here.
 */
#ifndef OFFBEAT_TRACE_REQUESTS_H
#define OFFBEAT_TRACE_REQUESTS_H

#include "trace/format.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct offbeat_request {
    MPI_Request handle;
    int is_persistent, is_active;
    int is_claimed; /**< somebody waits for it or tests it just now */
    int is_kept;    /**< of a persistent one: this round's start and completion are recorded */
    offbeat_trace_record
        record;           /**< as at the issue; function 0: it isn't recorded, only `made` is waited for */
    const MPI_Comm *made; /**< a communicator that will be there, or NULL */
    const MPI_Fint *made_for_fortran;
    struct offbeat_request *next;
} offbeat_request;

/** How many are known: mostly none, and then nobody looks. */
extern _Atomic size_t offbeat_requests_known;

/** Remembers a request; `record` is its issue's. */
void offbeat_request_made(MPI_Request request, const offbeat_trace_record *record, int is_persistent);

/** The same for a communicator that is being made; one of both places is NULL. */
void offbeat_request_makes(MPI_Request request, const offbeat_trace_record *record, int is_kept,
                           const MPI_Comm *made, const MPI_Fint *made_for_fortran);

/**
 * Finds a request and claims it. Some libraries use one handle for several requests that are complete from
 * the start: then the oldest comes first that isn't claimed.
 * @return NULL where there is none; what is returned stays until offbeat_request_forget
 */
offbeat_request *offbeat_request_claim(MPI_Request request);

/** Gives a claim back. */
void offbeat_request_release(offbeat_request *request);

/** Forgets a request that was claimed. */
void offbeat_request_forget(offbeat_request *request);

#endif
