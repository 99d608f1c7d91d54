/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/progress.h"

#include "partitioned/communicator.h"
#include "partitioned/thread_level.h"

#include <limits.h>
#include <sched.h>
#include <stddef.h>

/* A ring of requests, which are progressed in turn. */
typedef struct ring {
    offbeat_partitioned_request *next; /* the request that is progressed next; NULL in an empty ring */
    int count;
} ring;

/* How many requests of each ring a call progresses that does not wait: more than the neighbours of a process
 * in usual programs, and few enough that n initialisations or first starts take a time proportional to n. */
enum { CALL_LIMIT = 32 };

/* Guards both rings. Held while MPI is called for the listed requests, never inside a callback of MPI. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ring waiting_requests, freed_requests;
static atomic_int listed_count;

/* How long MPI_Finalize waits for replies to freed requests; they never come if the program has no matching
 * one. */
static const int64_t LAST_REPLIES_NS = 10000000000;

static void put_in(ring *requests, offbeat_partitioned_request *request) {
    if (requests->next == NULL)
        requests->next = request->next_listed = request->previous_listed = request;
    request->next_listed = requests->next;
    request->previous_listed = requests->next->previous_listed;
    request->previous_listed->next_listed = request;
    request->next_listed->previous_listed = request;
    requests->count++;
    atomic_fetch_add(&listed_count, 1);
}

static void take_out(ring *requests, const offbeat_partitioned_request *request) {
    if (requests->next == request)
        requests->next = requests->count > 1 ? request->next_listed : NULL;
    request->previous_listed->next_listed = request->next_listed;
    request->next_listed->previous_listed = request->previous_listed;
    requests->count--;
    atomic_fetch_sub(&listed_count, 1);
}

void offbeat_partitioned_add_waiting(offbeat_partitioned_request *request) {
    pthread_mutex_lock(&list_lock);
    put_in(&waiting_requests, request);
    atomic_store(&request->is_listed, 1);
    pthread_mutex_unlock(&list_lock);
}

void offbeat_partitioned_remove_waiting(offbeat_partitioned_request *request) {
    if (!atomic_load(&request->is_listed))
        return;
    pthread_mutex_lock(&list_lock);
    if (atomic_load(&request->is_listed)) /* it may have left the ring before the lock was free */
        take_out(&waiting_requests, request);
    atomic_store(&request->is_listed, 0);
    pthread_mutex_unlock(&list_lock);
}

void offbeat_partitioned_add_freed(offbeat_partitioned_request *request) {
    pthread_mutex_lock(&list_lock);
    put_in(&freed_requests, request);
    pthread_mutex_unlock(&list_lock);
}

/* Whether a request can leave the list, after progress. */
static int is_settled(offbeat_partitioned_request *request) {
    request->operations->progress(request, -1);
    return request->operations->is_settled(request);
}

/* Unmarks the settled requests after they left the ring, as their owners do not look for them any more then.
 */
static void remove_settled(int limit) {
    for (int left = limit < waiting_requests.count ? limit : waiting_requests.count; left > 0; left--) {
        offbeat_partitioned_request *request = waiting_requests.next;
        waiting_requests.next = request->next_listed;
        if (!is_settled(request))
            continue;
        take_out(&waiting_requests, request);
        atomic_store(&request->is_listed, 0);
    }
}

/* Destroys a freed request if MPI is done with it. */
static int is_destroyed(offbeat_partitioned_request *request) {
    if (!offbeat_partitioned_try_enter(request))
        return 0;
    int is_idle = request->operations->is_idle(request);
    offbeat_partitioned_leave(request);
    if (is_idle)
        offbeat_partitioned_destroy(request);
    return is_idle;
}

/* Removes the freed requests that a function destroyed. */
static void remove_freed(int (*has_destroyed)(offbeat_partitioned_request *), int limit) {
    for (int left = limit < freed_requests.count ? limit : freed_requests.count; left > 0; left--) {
        offbeat_partitioned_request *request = freed_requests.next;
        take_out(&freed_requests, request);
        if (!has_destroyed(request))
            put_in(&freed_requests, request);
    }
}

int offbeat_partitioned_needs_progress(void) {
    return atomic_load_explicit(&listed_count, memory_order_relaxed) > 0;
}

static void progress(int limit) {
    if (!offbeat_partitioned_needs_progress() || pthread_mutex_trylock(&list_lock) != 0)
        return;
    remove_settled(limit);
    remove_freed(is_destroyed, limit);
    pthread_mutex_unlock(&list_lock);
}

void offbeat_partitioned_progress_some(void) {
    progress(CALL_LIMIT);
}

void offbeat_partitioned_progress(void) {
    progress(INT_MAX);
}

static int has_any(const ring *requests) {
    pthread_mutex_lock(&list_lock);
    int is_any = requests->count > 0;
    pthread_mutex_unlock(&list_lock);
    return is_any;
}

int offbeat_partitioned_has_waiting(void) {
    return offbeat_partitioned_needs_progress() && has_any(&waiting_requests);
}

static int is_discarded(offbeat_partitioned_request *request) {
    if (!is_destroyed(request))
        offbeat_partitioned_discard(request);
    return 1;
}

void offbeat_partitioned_end_freed(void) {
    const int64_t deadline_ns = offbeat_partitioned_now_ns() + LAST_REPLIES_NS;
    offbeat_partitioned_progress(); /* other processes wait for the replies of receives that were not freed */
    while (has_any(&freed_requests) && offbeat_partitioned_now_ns() < deadline_ns) {
        offbeat_partitioned_progress();
        sched_yield();
    }
    pthread_mutex_lock(&list_lock);
    remove_freed(is_discarded, INT_MAX);
    pthread_mutex_unlock(&list_lock);
}

/* --- the thread --- */

static pthread_mutex_t thread_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static int is_running;
static atomic_int is_ending;

/* A probe that matches nothing lets MPI drive all messages of a communicator. */
static void drive(offbeat_partitioned_comm *comm) {
    int flag;
    for (int i = 0; comm->root == comm && i < comm->lane_count && !atomic_load(&is_ending); i++)
        if (comm->lanes[i] != MPI_COMM_NULL) /* as after a failed creation, until the attach ends */
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->lanes[i], &flag, MPI_STATUS_IGNORE);
}

static void *drive_all(void *argument) {
    while (!atomic_load(&is_ending)) {
        offbeat_partitioned_comm *comm = NULL;
        while ((comm = offbeat_partitioned_comm_next(comm)) != NULL)
            drive(comm);
        offbeat_partitioned_progress();
        sched_yield();
    }
    return argument;
}

const char *offbeat_partitioned_progress_thread_begin(int *has_begun) {
    *has_begun = 0;
    if (!offbeat_partitioned_may_use_thread())
        return "a progress thread needs MPI_Init_thread with MPI_THREAD_MULTIPLE";
    pthread_mutex_lock(&thread_lock);
    if (!is_running) {
        atomic_store(&is_ending, 0);
        *has_begun = is_running = pthread_create(&thread, NULL, drive_all, NULL) == 0;
    }
    const char *refusal = is_running ? NULL : "no progress thread could be created";
    pthread_mutex_unlock(&thread_lock);
    return refusal;
}

/* A thread that begins meanwhile waits for the end of this one. */
void offbeat_partitioned_progress_thread_end(void) {
    pthread_mutex_lock(&thread_lock);
    if (is_running) {
        atomic_store(&is_ending, 1);
        pthread_join(thread, NULL);
        is_running = 0;
    }
    pthread_mutex_unlock(&thread_lock);
}

int offbeat_partitioned_finalize(void) {
    offbeat_partitioned_progress_thread_end();
    return MPI_SUCCESS;
}
