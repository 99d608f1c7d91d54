/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/request_table.h"

#include "trace/thread_state.h"

#include <stdlib.h>

/* --- locks: only for processes with MPI_THREAD_MULTIPLE, as a lock takes a third of the time of a record ---
 */

static int is_shared;

void offbeat_tracer_requests_share(int is_shared_by_threads) {
    is_shared = is_shared_by_threads;
}

static void lock(pthread_mutex_t *mutex) {
    if (is_shared)
        pthread_mutex_lock(mutex);
}

static void unlock(pthread_mutex_t *mutex) {
    if (is_shared)
        pthread_mutex_unlock(mutex);
}

/* Adds to a number that other threads read, and change only with the lock that is held. */
static void add(_Atomic size_t *number, size_t value) {
    atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + value,
                          memory_order_relaxed);
}

/* --- memory --- */

enum { REQUESTS_A_BLOCK = 64 };

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_tracer_request *free_requests; /* linked by `next` */
static uint32_t last_number;

/* With the lock held: blocks are never freed. */
static void allocate_block(void) {
    offbeat_tracer_request *block = malloc(REQUESTS_A_BLOCK * sizeof *block);
    for (int i = 0; block != NULL && i < REQUESTS_A_BLOCK; i++) {
        block[i].next = free_requests;
        free_requests = &block[i];
    }
}

offbeat_tracer_request *offbeat_tracer_request_new(uint32_t *number) {
    lock(&free_lock);
    if (free_requests == NULL)
        allocate_block();
    offbeat_tracer_request *request = free_requests;
    if (request != NULL)
        free_requests = request->next;
    *number = ++last_number;
    unlock(&free_lock);
    if (request == NULL)
        return NULL;
    request->is_persistent = request->is_active = request->is_cancelled = request->is_recorded = 0;
    request->other = NULL;
    request->newcomm = NULL;
    request->newcomm_fortran = NULL;
    return request;
}

void offbeat_tracer_request_delete(offbeat_tracer_request *request) {
    lock(&free_lock);
    request->next = free_requests;
    free_requests = request;
    unlock(&free_lock);
}

/* --- the table: a chain holds the oldest request of each of its handles --- */

enum { FEWEST_CHAINS = 1024 };

static offbeat_tracer_request **chain_of(const offbeat_tracer_request_table *table, uintptr_t handle) {
    return &table->chains[offbeat_tracer_hash_slot(handle, table->chain_count)];
}

/* The link to the oldest request of a handle; to NULL if there is none. */
static offbeat_tracer_request **link_of(const offbeat_tracer_request_table *table, uintptr_t handle) {
    offbeat_tracer_request **link = chain_of(table, handle);
    while (*link != NULL && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

/* Doubles the chains. @return whether there are any */
static int grow(offbeat_tracer_request_table *table) {
    const size_t old_count = table->chain_count;
    offbeat_tracer_request **old = table->chains;
    const size_t count = old_count == 0 ? FEWEST_CHAINS : 2 * old_count;
    offbeat_tracer_request **larger = calloc(count, sizeof(offbeat_tracer_request *));
    if (larger == NULL)
        return old_count > 0;
    table->chains = larger;
    table->chain_count = count;
    for (size_t i = 0; i < old_count; i++)
        for (offbeat_tracer_request *request = old[i], *next; request != NULL; request = next) {
            offbeat_tracer_request **chain = chain_of(table, request->handle);
            next = request->next;
            request->next = *chain;
            *chain = request;
        }
    free(old);
    return 1;
}

void offbeat_tracer_request_insert(offbeat_tracer_request_table *table, offbeat_tracer_request *request) {
    lock(&table->lock);
    if (table->count >= table->chain_count && !grow(table)) {
        unlock(&table->lock);
        offbeat_tracer_request_delete(request);
        return;
    }
    offbeat_tracer_request **link = link_of(table, request->handle), *oldest = *link;
    request->next = request->younger = NULL;
    request->youngest = request;
    if (oldest != NULL) {
        oldest->youngest->younger = request;
        oldest->youngest = request;
    } else {
        *link = request;
    }
    add(&table->count, 1);
    unlock(&table->lock);
}

/* Removes a request; `older` is the one before it of the same handle, NULL if it is the oldest. */
static void unlink_request(offbeat_tracer_request_table *table, offbeat_tracer_request **link,
                           offbeat_tracer_request *older, const offbeat_tracer_request *request) {
    offbeat_tracer_request *oldest = *link, *younger = request->younger;
    if (older != NULL) {
        older->younger = younger;
        if (oldest->youngest == request)
            oldest->youngest = older;
    } else if (younger != NULL) {
        younger->youngest = oldest->youngest;
        younger->next = oldest->next;
        *link = younger;
    } else {
        *link = oldest->next;
    }
    add(&table->count, (size_t)-1);
}

static int64_t issue_ns(const offbeat_tracer_request *request) {
    return request->is_message ? request->message.enter_ns : request->record.enter_ns;
}

/* A handle of more requests than this is one that stands for all that are complete from the start. */
enum { MOST_OF_A_REUSED_HANDLE = 8 };

/* Of the requests of a handle, the one before the one that was completed; NULL if that is the oldest. With
 * one thread an older request with the handle of a newer one is not complete yet, and both are alike. With
 * several, another thread may have completed the older one and not looked it up yet. */
static offbeat_tracer_request *before_completed(offbeat_tracer_request *oldest, int64_t enter_ns) {
    offbeat_tracer_request *before = NULL;
    offbeat_tracer_request *at = oldest;
    for (int i = 0; at->younger != NULL && issue_ns(at->younger) < enter_ns; i++, at = at->younger) {
        if (i == MOST_OF_A_REUSED_HANDLE)
            return NULL;
        before = at;
    }
    return before;
}

offbeat_tracer_request *offbeat_tracer_request_take(offbeat_tracer_request_table *table, uintptr_t handle,
                                                    int64_t enter_ns) {
    offbeat_tracer_request *taken = NULL;
    lock(&table->lock);
    if (table->count > 0) {
        offbeat_tracer_request **link = link_of(table, handle);
        if (*link != NULL) {
            offbeat_tracer_request *before = is_shared ? before_completed(*link, enter_ns) : NULL;
            taken = before != NULL ? before->younger : *link;
            if (!taken->is_persistent)
                unlink_request(table, link, before, taken);
        }
    }
    unlock(&table->lock);
    return taken;
}

offbeat_tracer_request *offbeat_tracer_request_find(offbeat_tracer_request_table *table, uintptr_t handle) {
    lock(&table->lock);
    offbeat_tracer_request *found = table->count > 0 ? *link_of(table, handle) : NULL;
    unlock(&table->lock);
    return found;
}

void offbeat_tracer_request_remove(offbeat_tracer_request_table *table, offbeat_tracer_request *request) {
    lock(&table->lock);
    offbeat_tracer_request **link = link_of(table, request->handle), *older = NULL, *at = *link;
    while (at != NULL && at != request) {
        older = at;
        at = at->younger;
    }
    if (at != NULL)
        unlink_request(table, link, older, request);
    unlock(&table->lock);
}
