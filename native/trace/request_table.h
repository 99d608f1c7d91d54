/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file request_table.h
 * Tables of requests, from their issue to their completion, and of the messages that probes found, by handle.
 *
 * All functions take constant time, however many requests there are and however many share one handle: some
 * libraries use one handle for all requests that are complete from the start. They are thread-safe if
 * offbeat_tracer_requests_share was called with 1.
 *
 * What runs for every request is inlined, so that a message goes from registers into the table.
 */
#ifndef OFFBEAT_TRACE_REQUEST_TABLE_H
#define OFFBEAT_TRACE_REQUEST_TABLE_H

#include "trace/format.h"
#include "trace/thread_state.h"

#include <mpi.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

/** A request, or a message that a probe found: two cache lines. */
typedef struct offbeat_tracer_request {
    alignas(64) uintptr_t handle;
    struct offbeat_tracer_request *next; /**< in the chain, of another handle; or in the list of free ones */
    struct offbeat_tracer_request *younger,
        *youngest;            /**< of the same handle; the latter of the oldest only */
    unsigned char is_message; /**< point-to-point; else a collective or a constructor */
    unsigned char is_persistent, is_active, is_cancelled;
    unsigned char is_recorded; /**< its issue; of a persistent request: the start of this round */
    struct offbeat_tracer_request *send_request; /**< MPI_Isendrecv: the send; not in the table itself */
    const MPI_Comm *newcomm;                     /**< of a nonblocking constructor in C; else NULL */
    const MPI_Fint *newcomm_fortran;
    union {
        offbeat_trace_record record; /**< of the issue */
        offbeat_trace_message message;
    };
} offbeat_tracer_request;

/** Zero-initialised: empty. */
typedef struct offbeat_tracer_request_table {
    offbeat_tracer_request **chains; /**< each has the oldest request of each of its handles */
    size_t chain_count;              /**< a power of two, or 0 */
    _Atomic size_t count;            /**< of requests */
} offbeat_tracer_request_table;

/** Of all tables. */
typedef struct offbeat_tracer_request_pool {
    int is_shared;        /**< by threads */
    pthread_mutex_t lock; /**< of this and of all tables, if they are shared */
    offbeat_tracer_request *free;
    uint32_t last_number;
} offbeat_tracer_request_pool;

extern offbeat_tracer_request_pool offbeat_tracer_requests_pool;

/** Call it before every other function of this header. @param is_shared_by_threads whether several threads
 * may call MPI at the same time; requests may then be looked up in another order than they were completed in
 */
void offbeat_tracer_requests_share(int is_shared_by_threads);

/* --- locks: only for processes with MPI_THREAD_MULTIPLE, as a lock takes a third of the time of a record ---
 */

OFFBEAT_TRACER_INLINE void offbeat_tracer_requests_lock(void) {
    if (__builtin_expect(offbeat_tracer_requests_pool.is_shared, 0))
        pthread_mutex_lock(&offbeat_tracer_requests_pool.lock);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_requests_unlock(void) {
    if (__builtin_expect(offbeat_tracer_requests_pool.is_shared, 0))
        pthread_mutex_unlock(&offbeat_tracer_requests_pool.lock);
}

/* --- with the lock held --- */

/** Allocates free requests. */
void offbeat_tracer_requests_allocate(void);

/** Doubles the chains. @return whether there are any */
int offbeat_tracer_request_table_grow(offbeat_tracer_request_table *table);

/** The next number of a request in the file. */
OFFBEAT_TRACER_INLINE uint32_t offbeat_tracer_request_number(void) {
    return ++offbeat_tracer_requests_pool.last_number;
}

/** Takes a free request: of its members `is_message`, `is_recorded` and the union are not initialised, and it
 * is active. The lock is held until it is inserted, so that no other thread sees a part of it.
 * @return NULL if memory is exhausted */
OFFBEAT_TRACER_INLINE offbeat_tracer_request *offbeat_tracer_request_new(void) {
    offbeat_tracer_request_pool *pool = &offbeat_tracer_requests_pool;
    if (__builtin_expect(pool->free == NULL, 0))
        offbeat_tracer_requests_allocate();
    offbeat_tracer_request *request = pool->free;
    if (__builtin_expect(request == NULL, 0))
        return NULL;
    pool->free = request->next;
    request->is_persistent = request->is_cancelled = 0;
    request->is_active = 1;
    request->send_request = NULL;
    request->newcomm = NULL;
    request->newcomm_fortran = NULL;
    return request;
}

/** Frees a request, which is in no table any more. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_request_delete(offbeat_tracer_request *request) {
    request->next = offbeat_tracer_requests_pool.free;
    offbeat_tracer_requests_pool.free = request;
}

/** The link to the oldest request of a handle; to NULL if there is none. The table has chains. */
OFFBEAT_TRACER_INLINE offbeat_tracer_request **
offbeat_tracer_request_link(const offbeat_tracer_request_table *table, uintptr_t handle) {
    offbeat_tracer_request **link = &table->chains[offbeat_tracer_hash_slot(handle, table->chain_count)];
    while (*link != NULL && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

/** Adds to the number of requests, which other threads read without the lock. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_requests_count(offbeat_tracer_request_table *table, size_t more) {
    const size_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    atomic_store_explicit(&table->count, count + more, memory_order_relaxed);
}

/** Adds a request with its handle; frees it if memory is exhausted. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_request_insert(offbeat_tracer_request_table *table,
                                                         offbeat_tracer_request *request, uintptr_t handle) {
    if (__builtin_expect(atomic_load_explicit(&table->count, memory_order_relaxed) >= table->chain_count,
                         0) &&
        !offbeat_tracer_request_table_grow(table)) {
        offbeat_tracer_request_delete(request);
        return;
    }
    offbeat_tracer_request **link = offbeat_tracer_request_link(table, handle), *oldest = *link;
    request->handle = handle;
    request->next = request->younger = NULL;
    request->youngest = request;
    if (__builtin_expect(oldest != NULL, 0)) {
        oldest->youngest->younger = request;
        oldest->youngest = request;
    } else {
        *link = request;
    }
    offbeat_tracer_requests_count(table, 1);
}

/* --- without the lock --- */

/** offbeat_tracer_request_take if several threads share the tables. */
offbeat_tracer_request *offbeat_tracer_request_take_shared(offbeat_tracer_request_table *table,
                                                           uintptr_t handle, int64_t enter_ns,
                                                           offbeat_tracer_request *copy);

/** Removes a request from the table, and its handle's next one takes its place. */
void offbeat_tracer_request_unlink(offbeat_tracer_request_table *table, offbeat_tracer_request **link,
                                   offbeat_tracer_request *older, const offbeat_tracer_request *request);

/**
 * The request of a handle that a call completed. It is removed from the table and freed unless it is
 * persistent: until the next request is added by this thread, its members are valid.
 *
 * Look it up after the call, when the library may have given its handle to another request already: if
 * threads share the table, requests that were issued after @p enter_ns are left out.
 * @param[out] copy where the request is if threads share the tables and it was freed
 * @return NULL if there is none
 */
OFFBEAT_TRACER_INLINE offbeat_tracer_request *offbeat_tracer_request_take(offbeat_tracer_request_table *table,
                                                                          uintptr_t handle, int64_t enter_ns,
                                                                          offbeat_tracer_request *copy) {
    if (atomic_load_explicit(&table->count, memory_order_relaxed) == 0)
        return NULL;
    if (__builtin_expect(offbeat_tracer_requests_pool.is_shared, 0))
        return offbeat_tracer_request_take_shared(table, handle, enter_ns, copy);
    offbeat_tracer_request **link = offbeat_tracer_request_link(table, handle), *taken_request = *link;
    if (taken_request == NULL || taken_request->is_persistent)
        return taken_request;
    if (__builtin_expect(taken_request->younger != NULL, 0)) {
        offbeat_tracer_request_unlink(table, link, NULL, taken_request);
    } else {
        *link = taken_request->next;
        offbeat_tracer_requests_count(table, (size_t)-1);
    }
    offbeat_tracer_request_delete(taken_request);
    return taken_request;
}

/** The request of a handle, which stays in the table; NULL if there is none. */
OFFBEAT_TRACER_INLINE offbeat_tracer_request *
offbeat_tracer_request_find(const offbeat_tracer_request_table *table, uintptr_t handle) {
    if (atomic_load_explicit(&table->count, memory_order_relaxed) == 0)
        return NULL;
    offbeat_tracer_requests_lock();
    offbeat_tracer_request *match = *offbeat_tracer_request_link(table, handle);
    offbeat_tracer_requests_unlock();
    return match;
}

/** Removes a persistent request from the table and frees it. */
void offbeat_tracer_request_remove(offbeat_tracer_request_table *table, offbeat_tracer_request *request);

#endif
