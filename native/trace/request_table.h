/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file request_table.h
 * Tables of requests, from their issue to their completion, and of the messages that probes found, by handle.
 *
 * All functions take constant time, however many requests there are and however many share one handle: some
 * libraries use one handle for all requests that are complete from the start. They are thread-safe if
 * offbeat_tracer_requests_share was called with 1.
 */
#ifndef OFFBEAT_TRACE_REQUEST_TABLE_H
#define OFFBEAT_TRACE_REQUEST_TABLE_H

#include "trace/format.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/** A request, or a message that a probe found. */
typedef struct offbeat_tracer_request {
    uintptr_t handle;
    unsigned char is_message; /**< point-to-point; else a collective or a constructor */
    unsigned char is_persistent, is_active, is_cancelled;
    unsigned char is_recorded; /**< its issue; of a persistent request: the start of this round */
    union {
        offbeat_trace_record record; /**< of the issue */
        offbeat_trace_message message;
    };
    struct offbeat_tracer_request *other; /**< MPI_Isendrecv: the send; not in the table itself */
    const MPI_Comm *newcomm;              /**< of a nonblocking constructor in C; else NULL */
    const MPI_Fint *newcomm_fortran;
    struct offbeat_tracer_request *next; /**< in the chain, of another handle */
    struct offbeat_tracer_request *younger,
        *youngest; /**< of the same handle; the latter of the oldest only */
} offbeat_tracer_request;

/** Zero-initialised, but for the lock: empty. */
typedef struct offbeat_tracer_request_table {
    pthread_mutex_t lock;
    offbeat_tracer_request **chains;
    size_t chain_count;   /**< a power of two, or 0 */
    _Atomic size_t count; /**< of requests */
} offbeat_tracer_request_table;

/** Call it before every other function of this header. @param is_shared_by_threads whether several threads
 * may call MPI at the same time; requests may then be looked up in another order than they were completed in
 */
void offbeat_tracer_requests_share(int is_shared_by_threads);

/** Allocates a request, without its union. @param[out] number the next number of a request in the file
 * @return NULL if memory is exhausted */
offbeat_tracer_request *offbeat_tracer_request_new(uint32_t *number);

/** Frees a request, which is in no table any more. */
void offbeat_tracer_request_delete(offbeat_tracer_request *request);

/** Adds a request; frees it if memory is exhausted. */
void offbeat_tracer_request_insert(offbeat_tracer_request_table *table, offbeat_tracer_request *request);

/**
 * The request of a handle that a call completed; it is removed from the table unless it is persistent.
 *
 * Look it up after the call, when the library may have given its handle to another request already: if
 * threads share the table, requests that were issued after @p enter_ns are left out.
 * @return NULL if there is none
 */
offbeat_tracer_request *offbeat_tracer_request_take(offbeat_tracer_request_table *table, uintptr_t handle,
                                                    int64_t enter_ns);

/** The request of a handle, which stays in the table; NULL if there is none. */
offbeat_tracer_request *offbeat_tracer_request_find(offbeat_tracer_request_table *table, uintptr_t handle);

/** Removes a request from the table. */
void offbeat_tracer_request_remove(offbeat_tracer_request_table *table, offbeat_tracer_request *request);

#endif
