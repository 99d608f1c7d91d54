/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/requests.h"

#include "trace/communicators.h"
#include "trace/process_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* --- the table of requests --- */

enum { CHAINS = 1024 };

static _Atomic size_t request_count; /* mostly 0, and then completing calls look up nothing */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_tracer_request *chains[CHAINS]; /* oldest first */

static offbeat_tracer_request **chain_of(MPI_Request request) {
    return &chains[offbeat_tracer_hash_slot((uintptr_t)request, CHAINS)];
}

static void add(const offbeat_tracer_request *request) {
    offbeat_tracer_request *added = request->handle != MPI_REQUEST_NULL ? malloc(sizeof *added) : NULL;
    if (added == NULL)
        return;
    *added = *request;
    pthread_mutex_lock(&lock);
    offbeat_tracer_request **link = chain_of(request->handle);
    while (*link != NULL)
        link = &(*link)->next;
    *link = added;
    pthread_mutex_unlock(&lock);
    request_count++;
}

void offbeat_tracer_request_add(MPI_Request request, const offbeat_trace_record *record, int is_persistent) {
    const offbeat_tracer_request added = {.handle = request,
                                          .is_persistent = is_persistent,
                                          .is_active = !is_persistent,
                                          .is_recorded = !is_persistent,
                                          .record = *record};
    add(&added);
}

void offbeat_tracer_request_add_constructor(MPI_Request request, const offbeat_trace_record *record,
                                            int is_recorded, const MPI_Comm *newcomm,
                                            const MPI_Fint *newcomm_fortran) {
    const offbeat_tracer_request added = {.handle = request,
                                          .is_active = 1,
                                          .is_recorded = is_recorded,
                                          .record = *record,
                                          .newcomm = newcomm,
                                          .newcomm_fortran = newcomm_fortran};
    add(&added);
}

/* Finds a request and claims it for the calling thread; NULL if there is none. Some libraries use one handle
 * for several requests that are complete from the start: then the oldest one that is not claimed. */
static offbeat_tracer_request *claim(MPI_Request handle) {
    if (handle == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    offbeat_tracer_request *request = *chain_of(handle);
    while (request != NULL && (request->handle != handle || request->is_claimed))
        request = request->next;
    if (request != NULL)
        request->is_claimed = 1;
    pthread_mutex_unlock(&lock);
    return request;
}

static void release(offbeat_tracer_request *request) {
    pthread_mutex_lock(&lock);
    request->is_claimed = 0;
    pthread_mutex_unlock(&lock);
}

static void remove_claimed(offbeat_tracer_request *request) {
    pthread_mutex_lock(&lock);
    offbeat_tracer_request **link = chain_of(request->handle);
    while (*link != NULL && *link != request)
        link = &(*link)->next;
    int is_in_table = *link != NULL;
    if (is_in_table)
        *link = request->next;
    pthread_mutex_unlock(&lock);
    if (is_in_table) {
        request_count--;
        free(request);
    }
}

/* --- completing and starting calls --- */

static void claim_all(offbeat_tracer_completion *completion, const offbeat_tracer_request_list *requests) {
    for (int i = 0; i < requests->count; i++) {
        MPI_Request handle =
            requests->handles != NULL ? requests->handles[i] : PMPI_Request_f2c(requests->fortran_handles[i]);
        offbeat_tracer_request *request = claim(handle);
        if (request != NULL)
            completion->matched[completion->count++] = (offbeat_tracer_matched_request){i, request};
    }
}

void offbeat_tracer_completion_enter(offbeat_tracer_completion *completion, int completed_by,
                                     offbeat_tracer_request_list requests, offbeat_tracer_caller caller) {
    completion->thread = &offbeat_tracer_this_thread;
    completion->count = 0;
    completion->matched = completion->inline_requests;
    completion->caller = caller;
    completion->flags = (uint16_t)(completed_by << OFFBEAT_TRACE_BY_SHIFT);
    if (completion->thread->depth++ > 0 || request_count == 0 || !offbeat_tracer_is_tracing)
        return;
    if (requests.count > OFFBEAT_TRACER_INLINE_REQUESTS)
        completion->matched = malloc(sizeof *completion->matched * (size_t)requests.count);
    if (completion->matched == NULL) /* out of memory: the completions are not recorded */
        completion->matched = completion->inline_requests;
    else
        claim_all(completion, &requests);
    if (completion->count > 0)
        completion->enter_ns = offbeat_tracer_timestamp_ns(&completion->thread->timestamps);
}

static int64_t exit_time(offbeat_tracer_completion *completion) {
    return completion->count > 0 ? offbeat_tracer_timestamp_ns(&completion->thread->timestamps) : 0;
}

static void leave(offbeat_tracer_completion *completion) {
    completion->thread->depth--;
    if (completion->matched != completion->inline_requests)
        free(completion->matched);
}

static void write_record(offbeat_tracer_completion *completion, const offbeat_tracer_request *request,
                         uint16_t phase, int code, int64_t exit_ns) {
    const uint16_t issue_flags =
        request->record.flags & (uint16_t) ~(OFFBEAT_TRACE_PHASE | OFFBEAT_TRACE_FAILED);
    offbeat_trace_record record = request->record;
    record.enter_ns = completion->enter_ns;
    record.exit_ns = exit_ns;
    record.address = offbeat_tracer_call_site(completion->thread, completion->caller);
    record.flags = issue_flags | completion->flags | phase | (code == MPI_SUCCESS ? 0 : OFFBEAT_TRACE_FAILED);
    offbeat_tracer_write_record(completion->thread, &record);
}

static void define_newcomm(const offbeat_tracer_request *request) {
    MPI_Comm newcomm =
        request->newcomm != NULL ? *request->newcomm : PMPI_Comm_f2c(*request->newcomm_fortran);
    offbeat_tracer_communicator_created(newcomm, request->record.communicator, request->record.function);
}

static void complete(offbeat_tracer_completion *completion, offbeat_tracer_request *request, int code,
                     int64_t exit_ns) {
    if (request->is_active && request->is_recorded)
        write_record(completion, request, OFFBEAT_TRACE_COMPLETION, code, exit_ns);
    if (code == MPI_SUCCESS && (request->newcomm != NULL || request->newcomm_fortran != NULL))
        define_newcomm(request);
    request->is_active = 0;
    if (request->is_persistent)
        release(request);
    else
        remove_claimed(request);
}

void offbeat_tracer_completion_leave_all(offbeat_tracer_completion *completion, int code, int are_complete) {
    const int64_t exit_ns = exit_time(completion);
    for (int i = 0; i < completion->count; i++) {
        if (are_complete)
            complete(completion, completion->matched[i].request, code, exit_ns);
        else
            release(completion->matched[i].request);
    }
    leave(completion);
}

static int contains(const int *indices, int count, int index) {
    for (int i = 0; i < count; i++)
        if (indices[i] == index)
            return 1;
    return 0;
}

void offbeat_tracer_completion_leave_some(offbeat_tracer_completion *completion, int code, int count,
                                          const int *indices, int first) {
    const int64_t exit_ns = exit_time(completion);
    for (int i = 0; i < completion->count; i++) {
        const offbeat_tracer_matched_request *matched = &completion->matched[i];
        if (count != MPI_UNDEFINED && contains(indices, count, matched->index + first))
            complete(completion, matched->request, code, exit_ns);
        else
            release(matched->request);
    }
    leave(completion);
}

void offbeat_tracer_start_leave(offbeat_tracer_completion *completion, int code) {
    const int64_t exit_ns = exit_time(completion);
    for (int i = 0; i < completion->count; i++) {
        offbeat_tracer_request *request = completion->matched[i].request;
        if (request->is_persistent) {
            uint32_t round = ++request->record.round;
            request->is_active = code == MPI_SUCCESS;
            request->is_recorded = (round - 1) % offbeat_tracer_state.config.every == 0 &&
                                   offbeat_tracer_in_window(completion->enter_ns);
            if (request->is_recorded)
                write_record(completion, request, OFFBEAT_TRACE_START, code, exit_ns);
        }
        release(request);
    }
    leave(completion);
}

void offbeat_tracer_free_leave(offbeat_tracer_completion *completion, int code) {
    const int64_t exit_ns = exit_time(completion);
    for (int i = 0; i < completion->count; i++) {
        offbeat_tracer_request *request = completion->matched[i].request;
        if (request->is_active && request->is_recorded)
            write_record(completion, request, OFFBEAT_TRACE_COMPLETION, code, exit_ns);
        remove_claimed(request);
    }
    leave(completion);
}
