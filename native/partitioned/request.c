/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/request.h"

#include "partitioned/collective.h"

#include <stdlib.h>
#include <time.h>

MPI_Status *offbeat_partitioned_no_statuses = MPI_STATUSES_IGNORE;

int64_t offbeat_partitioned_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void offbeat_partitioned_note_failure(offbeat_partitioned_request *request, int failure) {
    int none = MPI_SUCCESS;
    if (failure != MPI_SUCCESS)
        atomic_compare_exchange_strong(&request->failure, &none, failure);
}

/* The message that holds a byte of the whole send buffer. */
static int message_at(const offbeat_partitioned_request *request, int64_t byte) {
    if (request->sender_partitions == 0 || request->sender_partition_bytes == 0)
        return 0;
    return offbeat_partitioned_message_of(request->sender_partitions, request->messages,
                                          (int)(byte / request->sender_partition_bytes));
}

static void map_partitions(offbeat_partitioned_request *request) {
    const int64_t bytes = request->count * request->element_bytes;
    for (int i = 0; i < request->partitions; i++) {
        request->first_of[i] = message_at(request, i * bytes);
        request->last_of[i] = bytes == 0 ? request->first_of[i] : message_at(request, (i + 1) * bytes - 1);
    }
    request->mapped_messages = request->messages;
}

/* Memory on a boundary of cache lines, so that counters of different messages share none. */
static void *allocate_lines(size_t bytes) {
    const size_t line = _Alignof(offbeat_partitioned_message);
    return aligned_alloc(line, (bytes + line - 1) / line * line);
}

int offbeat_partitioned_allocate_messages(offbeat_partitioned_request *request) {
    const size_t most = (size_t)request->most_messages;
    request->message = allocate_lines(most * sizeof *request->message);
    request->requests = malloc((most + 1) * sizeof(MPI_Request));
    request->first_of = malloc(((size_t)request->partitions + 1) * sizeof *request->first_of);
    request->last_of = malloc(((size_t)request->partitions + 1) * sizeof *request->last_of);
    request->indices = malloc((most + 1) * sizeof *request->indices);
    if (request->message == NULL || request->requests == NULL || request->first_of == NULL ||
        request->last_of == NULL || request->indices == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < most; i++) {
        atomic_init(&request->message[i].missing, 0);
        atomic_init(&request->message[i].stamp, 0);
        atomic_init(&request->message[i].thread, NULL);
    }
    for (size_t i = 0; i <= most; i++)
        request->requests[i] = MPI_REQUEST_NULL;
    request->messages = offbeat_partitioned_plan_messages(&request->plan, 0);
    map_partitions(request);
    return MPI_SUCCESS;
}

void offbeat_partitioned_begin_iteration(offbeat_partitioned_request *request) {
    const int64_t iteration = (int64_t)atomic_load_explicit(&request->stamp, memory_order_relaxed) - 1;
    request->messages = offbeat_partitioned_plan_messages(&request->plan, iteration);
    request->has_announcement = offbeat_partitioned_plan_announces(&request->plan, iteration);
    if (request->messages != request->mapped_messages)
        map_partitions(request);
}

int offbeat_partitioned_take_tags(offbeat_partitioned_request *request, int count) {
    pthread_mutex_lock(&request->comm->tag_lock);
    int is_taken = offbeat_partitioned_tags_take(&request->comm->tags, count, &request->tags);
    pthread_mutex_unlock(&request->comm->tag_lock);
    request->first_tag = request->tags.first;
    return is_taken ? MPI_SUCCESS : MPI_ERR_TAG;
}

void offbeat_partitioned_destroy(offbeat_partitioned_request *request) {
    offbeat_partitioned_comm *comm = request->comm;
    if (request->owns_datatype)
        PMPI_Type_free(&request->datatype);
    if (comm != NULL) {
        pthread_mutex_lock(&comm->tag_lock);
        offbeat_partitioned_tags_give_back(&comm->tags, &request->tags);
        pthread_mutex_unlock(&comm->tag_lock);
        offbeat_partitioned_comm_release(comm);
    }
    offbeat_partitioned_collective_free(request->collective);
    free(request->first_of);
    free(request->last_of);
    free(request->message);
    free(request->requests);
    free(request->indices);
    free(request->ready);
    free(request->staging);
    free(request->drain);
    free(request);
}
