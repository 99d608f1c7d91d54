/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/requests.h"

#include "trace/lane.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHAINS = 1024 };

_Atomic size_t offbeat_requests_known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_request *chains[CHAINS]; /* oldest first */

static offbeat_request **chain_of(MPI_Request request) {
    return &chains[offbeat_lane_place((uintptr_t)request, CHAINS)];
}

static void add(const offbeat_request *request) {
    offbeat_request *made = malloc(sizeof *made);
    if (made == NULL)
        return;
    *made = *request;
    pthread_mutex_lock(&lock);
    offbeat_request **link = chain_of(request->handle);
    while (*link != NULL)
        link = &(*link)->next;
    *link = made;
    pthread_mutex_unlock(&lock);
    offbeat_requests_known++;
}

void offbeat_request_made(MPI_Request request, const offbeat_trace_record *record, int is_persistent) {
    if (request == MPI_REQUEST_NULL)
        return;
    offbeat_request made = {
        .handle = request, .is_persistent = is_persistent, .is_active = !is_persistent, .record = *record};
    made.is_kept = !is_persistent;
    add(&made);
}

void offbeat_request_makes(MPI_Request request, const offbeat_trace_record *record, int is_kept,
                           const MPI_Comm *made, const MPI_Fint *made_for_fortran) {
    if (request == MPI_REQUEST_NULL)
        return;
    offbeat_request making = {.handle = request,
                              .is_active = 1,
                              .is_kept = is_kept,
                              .record = *record,
                              .made = made,
                              .made_for_fortran = made_for_fortran};
    add(&making);
}

offbeat_request *offbeat_request_claim(MPI_Request request) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    offbeat_request *found = *chain_of(request);
    while (found != NULL && (found->handle != request || found->is_claimed))
        found = found->next;
    if (found != NULL)
        found->is_claimed = 1;
    pthread_mutex_unlock(&lock);
    return found;
}

void offbeat_request_release(offbeat_request *request) {
    pthread_mutex_lock(&lock);
    request->is_claimed = 0;
    pthread_mutex_unlock(&lock);
}

void offbeat_request_forget(offbeat_request *request) {
    pthread_mutex_lock(&lock);
    offbeat_request **link = chain_of(request->handle);
    while (*link != NULL && *link != request)
        link = &(*link)->next;
    int is_there = *link != NULL;
    if (is_there)
        *link = request->next;
    pthread_mutex_unlock(&lock);
    if (is_there) {
        offbeat_requests_known--;
        free(request);
    }
}
