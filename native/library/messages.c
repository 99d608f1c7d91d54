/* SPDX-License-Identifier: BSD-3-Clause */
/** @file messages.c  Interposed functions of UCX: they record MPICH's messages, and let idle processes yield.
 */
#define _GNU_SOURCE
#include "library/messages.h"

#include <stddef.h>

#if defined(MPICH_VERSION) && !defined(I_MPI_VERSION)

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "control/p2p_collectives.h"
#include "library/ucx.h"

enum { IDLE_POLLS_BEFORE_YIELD = 20 };

typedef struct endpoint {
    void *handle;
    int rank;
} endpoint;

static endpoint *endpoints;
static int endpoint_count, endpoint_capacity;
static int probed_rank = -1; /* the rank whose endpoint is being found, or -1 */
static int is_recording;
static offbeat_message *record;
static int record_count, record_capacity;

static int rank_of(void *handle) {
    for (int i = 0; i < endpoint_count; i++)
        if (endpoints[i].handle == handle)
            return endpoints[i].rank;
    return -1;
}

static void add_endpoint(void *handle) {
    if (rank_of(handle) >= 0)
        return;
    if (endpoint_count == endpoint_capacity) {
        int capacity = endpoint_capacity ? 2 * endpoint_capacity : 64;
        endpoint *larger = realloc(endpoints, (size_t)capacity * sizeof *larger);
        if (!larger)
            return;
        endpoints = larger;
        endpoint_capacity = capacity;
    }
    endpoints[endpoint_count++] = (endpoint){handle, probed_rank};
}

static void record_message(void *handle, size_t bytes) {
    if (probed_rank >= 0) {
        add_endpoint(handle);
        return;
    }
    int destination = is_recording ? rank_of(handle) : -1;
    if (destination < 0)
        return;
    if (record_count == record_capacity) {
        int capacity = record_capacity ? 2 * record_capacity : 256;
        offbeat_message *larger = realloc(record, (size_t)capacity * sizeof *larger);
        if (!larger)
            return;
        record = larger;
        record_capacity = capacity;
    }
    record[record_count++] = (offbeat_message){.destination = destination, .bytes = (int64_t)bytes};
}

static void *ucx_function(const char *name) {
    void *function = offbeat_ucx_function(name);
    if (!function)
        offbeat_fatal("a function of UCX is called, but no loaded libucp.so.0 has it");
    return function;
}

#define RESOLVE(pointer, name)                                                                               \
    do {                                                                                                     \
        if (!(pointer))                                                                                      \
            *(void **)&(pointer) = ucx_function(name);                                                       \
    } while (0)

/* The prototypes of UCX's public header ucp.h, with void pointers, so that UCX need not be installed to
 * build. */

void *ucp_tag_send_nb(void *ep, const void *buffer, size_t count, uint64_t datatype, uint64_t tag,
                      void *callback) {
    static void *(*next)(void *, const void *, size_t, uint64_t, uint64_t, void *);
    RESOLVE(next, "ucp_tag_send_nb");
    record_message(ep, count);
    return next(ep, buffer, count, datatype, tag, callback);
}

void *ucp_tag_send_sync_nb(void *ep, const void *buffer, size_t count, uint64_t datatype, uint64_t tag,
                           void *callback) {
    static void *(*next)(void *, const void *, size_t, uint64_t, uint64_t, void *);
    RESOLVE(next, "ucp_tag_send_sync_nb");
    record_message(ep, count);
    return next(ep, buffer, count, datatype, tag, callback);
}

void *ucp_tag_send_nbx(void *ep, const void *buffer, size_t count, uint64_t tag, const void *parameters) {
    static void *(*next)(void *, const void *, size_t, uint64_t, const void *);
    RESOLVE(next, "ucp_tag_send_nbx");
    record_message(ep, count);
    return next(ep, buffer, count, tag, parameters);
}

void *ucp_tag_send_sync_nbx(void *ep, const void *buffer, size_t count, uint64_t tag,
                            const void *parameters) {
    static void *(*next)(void *, const void *, size_t, uint64_t, const void *);
    RESOLVE(next, "ucp_tag_send_sync_nbx");
    record_message(ep, count);
    return next(ep, buffer, count, tag, parameters);
}

/*
 * MPICH never yields its core while it waits; with more processes than cores a barrier then takes
 * milliseconds. With OFFBEAT_YIELD=1, which the front end sets in that case only, a process yields after a
 * few idle polls.
 */
unsigned ucp_worker_progress(void *worker) {
    static unsigned (*next)(void *);
    static int yields = -1; /* -1: not known yet */
    static __thread int idle_polls;
    RESOLVE(next, "ucp_worker_progress");
    if (yields < 0) {
        const char *value = getenv("OFFBEAT_YIELD");
        yields = value && strcmp(value, "1") == 0;
    }
    unsigned progress = next(worker);
    if (progress)
        idle_polls = 0;
    else if (yields && ++idle_polls > IDLE_POLLS_BEFORE_YIELD)
        sched_yield();
    return progress;
}

/* In each step every process sends one byte to the rank at the same distance, so that no two processes send
 * to the same rank at once. */
static void find_endpoints(MPI_Comm comm, int rank, int p) {
    char sent_byte = 0, received_byte;
    for (int distance = 1; distance < p; distance++) {
        MPI_Request request;
        MPI_Irecv(&received_byte, 1, MPI_CHAR, (rank - distance + p) % p, OFFBEAT_TAG_ENDPOINT, comm,
                  &request);
        probed_rank = (rank + distance) % p;
        MPI_Send(&sent_byte, 1, MPI_CHAR, probed_rank, OFFBEAT_TAG_ENDPOINT, comm);
        probed_rank = -1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int offbeat_messages_available(MPI_Comm comm) {
    static int is_available = -1; /* -1: not known yet */
    if (is_available >= 0)
        return is_available;
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    find_endpoints(comm, rank, p);
    int64_t is_complete = endpoint_count == p - 1 && p > 1;
    offbeat_p2p_allreduce(&is_complete, 1, OFFBEAT_MIN, comm);
    is_available = (int)is_complete;
    return is_available;
}

void offbeat_messages_begin(void) {
    record_count = 0;
    is_recording = 1;
}

int offbeat_messages_end(const offbeat_message **messages) {
    is_recording = 0;
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
