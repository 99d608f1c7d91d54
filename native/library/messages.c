/* SPDX-License-Identifier: BSD-3-Clause */
/** @file messages.c  UCX's send functions, interposed: MPICH's messages counted; and its idle loop made to
 * yield. */
#define _GNU_SOURCE
#include "library/messages.h"

#include <stddef.h>

#if defined(MPICH_VERSION) && !defined(I_MPI_VERSION)

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "control/abandon.h"
#include "control/tree.h"
#include "library/ucx.h"

enum { IDLE_POLLS_BEFORE_YIELD = 20 };

typedef struct endpoint {
    void *handle;
    int rank;
} endpoint;

static endpoint *endpoints;
static int endpoint_count, endpoint_room;
static int learning = -1; /* rank whose endpoint is being learned */
static int recording;
static offbeat_message *record;
static int record_count, record_room;

static int rank_of(void *handle) {
    for (int i = 0; i < endpoint_count; i++)
        if (endpoints[i].handle == handle)
            return endpoints[i].rank;
    return -1;
}

static void learn(void *handle) {
    if (rank_of(handle) >= 0)
        return;
    if (endpoint_count == endpoint_room) {
        int room = endpoint_room ? 2 * endpoint_room : 64;
        endpoint *larger = realloc(endpoints, (size_t)room * sizeof *larger);
        if (!larger)
            return;
        endpoints = larger;
        endpoint_room = room;
    }
    endpoints[endpoint_count++] = (endpoint){handle, learning};
}

static void note(void *handle, size_t bytes) {
    if (learning >= 0) {
        learn(handle);
        return;
    }
    int to = recording ? rank_of(handle) : -1;
    if (to < 0)
        return;
    if (record_count == record_room) {
        int room = record_room ? 2 * record_room : 256;
        offbeat_message *larger = realloc(record, (size_t)room * sizeof *larger);
        if (!larger)
            return;
        record = larger;
        record_room = room;
    }
    record[record_count++] = (offbeat_message){.to = to, .bytes = (int64_t)bytes};
}

static void *own_function(const char *name) {
    void *found = offbeat_ucx_function(name);
    if (!found)
        offbeat_abandon("a function of UCX is called, but no libucp.so.0 in the process has it");
    return found;
}

#define NEXT(pointer, name)                                                                                  \
    do {                                                                                                     \
        if (!(pointer))                                                                                      \
            *(void **)&(pointer) = own_function(name);                                                       \
    } while (0)

/* Prototypes as in UCX's public header ucp.h, written with plain pointers: UCX need not be installed to
 * build. */

void *ucp_tag_send_nb(void *ep, const void *buffer, size_t count, uint64_t datatype, uint64_t tag,
                      void *callback) {
    static void *(*next)(void *, const void *, size_t, uint64_t, uint64_t, void *);
    NEXT(next, "ucp_tag_send_nb");
    note(ep, count);
    return next(ep, buffer, count, datatype, tag, callback);
}

void *ucp_tag_send_sync_nb(void *ep, const void *buffer, size_t count, uint64_t datatype, uint64_t tag,
                           void *callback) {
    static void *(*next)(void *, const void *, size_t, uint64_t, uint64_t, void *);
    NEXT(next, "ucp_tag_send_sync_nb");
    note(ep, count);
    return next(ep, buffer, count, datatype, tag, callback);
}

void *ucp_tag_send_nbx(void *ep, const void *buffer, size_t count, uint64_t tag, const void *parameters) {
    static void *(*next)(void *, const void *, size_t, uint64_t, const void *);
    NEXT(next, "ucp_tag_send_nbx");
    note(ep, count);
    return next(ep, buffer, count, tag, parameters);
}

void *ucp_tag_send_sync_nbx(void *ep, const void *buffer, size_t count, uint64_t tag,
                            const void *parameters) {
    static void *(*next)(void *, const void *, size_t, uint64_t, const void *);
    NEXT(next, "ucp_tag_send_sync_nbx");
    note(ep, count);
    return next(ep, buffer, count, tag, parameters);
}

/*
 * MPICH never gives its core away while it waits; with more processes than cores a barrier then takes
 * milliseconds. OFFBEAT_YIELD=1, set by the front end in that case alone, yields after a few fruitless polls.
 */
unsigned ucp_worker_progress(void *worker) {
    static unsigned (*next)(void *);
    static int yields = -1;
    static __thread int idle;
    NEXT(next, "ucp_worker_progress");
    if (yields < 0) {
        const char *wish = getenv("OFFBEAT_YIELD");
        yields = wish && strcmp(wish, "1") == 0;
    }
    unsigned progress = next(worker);
    if (progress)
        idle = 0;
    else if (yields && ++idle > IDLE_POLLS_BEFORE_YIELD)
        sched_yield();
    return progress;
}

/* Each process sends one byte to every other, at a distance that grows in step, so that no two meet. */
static void learn_all(MPI_Comm comm, int rank, int p) {
    char out = 0, in;
    for (int distance = 1; distance < p; distance++) {
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_CHAR, (rank - distance + p) % p, OFFBEAT_TAG_LEARN, comm, &request);
        learning = (rank + distance) % p;
        MPI_Send(&out, 1, MPI_CHAR, learning, OFFBEAT_TAG_LEARN, comm);
        learning = -1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int offbeat_messages_available(MPI_Comm comm) {
    static int known = -1;
    if (known >= 0)
        return known;
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    learn_all(comm, rank, p);
    int64_t all_seen = endpoint_count == p - 1 && p > 1;
    offbeat_tree_reduce(&all_seen, 1, OFFBEAT_MIN, comm);
    offbeat_tree_broadcast(&all_seen, sizeof all_seen, comm);
    known = (int)all_seen;
    return known;
}

void offbeat_messages_begin(void) {
    record_count = 0;
    recording = 1;
}

int offbeat_messages_end(const offbeat_message **messages) {
    recording = 0;
    *messages = record;
    return record_count;
}

#else

int offbeat_messages_available(MPI_Comm comm) {
    (void)comm;
    return 0;
}

void offbeat_messages_begin(void) {
}

int offbeat_messages_end(const offbeat_message **messages) {
    *messages = NULL;
    return 0;
}

#endif
