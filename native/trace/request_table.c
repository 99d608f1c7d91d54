/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/request_table.h"

#include <stdlib.h>

offbeat_tracer_request_pool offbeat_tracer_requests_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void offbeat_tracer_requests_share(int is_shared_by_threads) {
    offbeat_tracer_requests_pool.is_shared = is_shared_by_threads;
}

enum { REQUESTS_A_BLOCK = 64, FEWEST_CHAINS = 1024 };

/* Blocks are never freed. */
void offbeat_tracer_requests_allocate(void) {
    offbeat_tracer_request *block =
        aligned_alloc(alignof(offbeat_tracer_request), REQUESTS_A_BLOCK * sizeof *block);
    for (int i = 0; block != NULL && i < REQUESTS_A_BLOCK; i++)
        offbeat_tracer_request_delete(&block[i]);
}

int offbeat_tracer_request_table_grow(offbeat_tracer_request_table *table) {
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
            offbeat_tracer_request **chain = &larger[offbeat_tracer_hash_slot(request->handle, count)];
            next = request->next;
            request->next = *chain;
            *chain = request;
        }
    free(old);
    return 1;
}

/* `older` is the request before it of the same handle, NULL if it is the oldest. */
void offbeat_tracer_request_unlink(offbeat_tracer_request_table *table, offbeat_tracer_request **link,
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
    offbeat_tracer_requests_count(table, (size_t)-1);
}

static int64_t issue_ns(const offbeat_tracer_request *request) {
    return request->is_message ? request->message.enter_ns : request->record.enter_ns;
}

/* A handle of more requests than this is one that stands for all that are complete from the start. */
enum { MOST_OF_A_REUSED_HANDLE = 8 };

/* Of the requests of a handle, the one before the one that was completed; NULL if that is the oldest. With
 * one thread an older request with the handle of a newer one is not complete yet, and both are alike. With
 * several, another thread may have completed the older one and not looked it up yet. */
static offbeat_tracer_request *predecessor_of_completed(offbeat_tracer_request *oldest, int64_t enter_ns) {
    offbeat_tracer_request *predecessor = NULL;
    offbeat_tracer_request *current = oldest;
    for (int i = 0; current->younger != NULL && issue_ns(current->younger) < enter_ns;
         i++, current = current->younger) {
        if (i == MOST_OF_A_REUSED_HANDLE)
            return NULL;
        predecessor = current;
    }
    return predecessor;
}

offbeat_tracer_request *offbeat_tracer_request_take_shared(offbeat_tracer_request_table *table,
                                                           uintptr_t handle, int64_t enter_ns,
                                                           offbeat_tracer_request *copy) {
    offbeat_tracer_request *taken_request = NULL;
    offbeat_tracer_requests_lock();
    offbeat_tracer_request **link = offbeat_tracer_request_link(table, handle);
    if (*link != NULL) {
        offbeat_tracer_request *predecessor = predecessor_of_completed(*link, enter_ns);
        taken_request = predecessor != NULL ? predecessor->younger : *link;
        if (!taken_request->is_persistent) {
            offbeat_tracer_request_unlink(table, link, predecessor, taken_request);
            *copy = *taken_request;
            offbeat_tracer_request_delete(taken_request);
            taken_request = copy;
        }
    }
    offbeat_tracer_requests_unlock();
    return taken_request;
}

void offbeat_tracer_request_remove(offbeat_tracer_request_table *table, offbeat_tracer_request *request) {
    offbeat_tracer_requests_lock();
    offbeat_tracer_request **link = offbeat_tracer_request_link(table, request->handle), *older = NULL,
                           *current = *link;
    while (current != NULL && current != request) {
        older = current;
        current = current->younger;
    }
    if (current != NULL) {
        offbeat_tracer_request_unlink(table, link, older, request);
        offbeat_tracer_request_delete(request);
    }
    offbeat_tracer_requests_unlock();
}
