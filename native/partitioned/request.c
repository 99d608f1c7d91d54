/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/request.h"

#include "partitioned/collective.h"
#include "partitioned/matching.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

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

int offbeat_partitioned_note_failures(offbeat_partitioned_request *request, int code, int statuses) {
    int error_class = MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        return 1;
    PMPI_Error_class(code, &error_class);
    for (int i = 0; i < statuses && error_class == MPI_ERR_IN_STATUS; i++)
        if (request->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            offbeat_partitioned_note_failure(request, request->statuses[i].MPI_ERROR);
    offbeat_partitioned_note_failure(request, code);
    return error_class == MPI_ERR_IN_STATUS;
}

void offbeat_partitioned_cancel(MPI_Request *receive) {
    int is_done;
    if (PMPI_Test(receive, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done)
        return;
    PMPI_Cancel(receive);
    PMPI_Wait(receive, MPI_STATUS_IGNORE);
}

/* The message that holds a byte of the whole send buffer. */
static int message_at(const offbeat_partitioned_request *request, int64_t byte) {
    /* The usual case of a single message needs no division. */
    if (request->messages == 1 || request->sender_partitions == 0 || request->sender_partition_bytes == 0)
        return 0;
    return offbeat_partitioned_message_of(request->sender_partitions, request->messages,
                                          (int)(byte / request->sender_partition_bytes));
}

uint64_t offbeat_partitioned_bits_of(const offbeat_partitioned_message *message, int word) {
    const int64_t low = (int64_t)word * OFFBEAT_PARTITIONED_WORD_BITS;
    const int64_t high = low + OFFBEAT_PARTITIONED_WORD_BITS;
    uint64_t bits = ~(uint64_t)0;
    if (message->first > low)
        bits <<= message->first - low;
    if (message->end < high)
        bits &= ((uint64_t)1 << (message->end - low)) - 1;
    return bits;
}

static void map_messages(offbeat_partitioned_request *request) {
    int first = 0;
    for (int i = 0; i < request->messages; i++) {
        offbeat_partitioned_message *message = &request->message[i];
        message->first = first;
        message->end = first =
            offbeat_partitioned_first_partition(request->sender_partitions, request->messages, i + 1);
        const int word = message->first / OFFBEAT_PARTITIONED_WORD_BITS;
        const int is_in_one_word = (message->end - 1) / OFFBEAT_PARTITIONED_WORD_BITS == word;
        message->bits = is_in_one_word ? offbeat_partitioned_bits_of(message, word) : 0;
        message->lane = (request->first_lane + i * request->lane_step) % request->comm->lane_count;
    }
}

static void map_partitions(offbeat_partitioned_request *request) {
    const int64_t bytes = request->count * request->element_bytes;
    for (int i = 0; i < request->partitions; i++) {
        request->first_of[i] = message_at(request, i * bytes);
        request->last_of[i] = bytes == 0 ? request->first_of[i] : message_at(request, (i + 1) * bytes - 1);
    }
}

/* Prepares an iteration with another number of messages than the last one. */
static void map(offbeat_partitioned_request *request) {
    const int is_in_one = request->messages == 1 && request->mapped_messages == 1;
    map_messages(request);
    if (!is_in_one) /* a single message has all partitions, as before */
        map_partitions(request);
    request->mapped_messages = request->messages;
}

/* Takes `bytes` of a block of memory, up to a boundary for any type; of a block that is NULL, only counts
 * them. */
static void *take(char *block, size_t *used, size_t bytes) {
    const size_t boundary = _Alignof(max_align_t);
    void *place = block == NULL ? NULL : block + *used;
    *used += (bytes + boundary - 1) / boundary * boundary;
    return place;
}

/* Divides a block among the arrays whose length depends on the number of messages. @return the bytes of the
 * block */
static size_t divide(offbeat_partitioned_request *request, char *block) {
    const size_t most = (size_t)request->capacity, partitions = (size_t)request->partitions;
    size_t used = 0;
    request->message = take(block, &used, most * sizeof *request->message);
    request->statuses = take(block, &used, (most + 1) * sizeof *request->statuses);
    request->requests = take(block, &used, (most + 1) * sizeof(MPI_Request));
    request->first_of = take(block, &used, partitions * sizeof *request->first_of);
    request->last_of = take(block, &used, partitions * sizeof *request->last_of);
    return used;
}

int offbeat_partitioned_allocate_bits(offbeat_partitioned_request *send) {
    const size_t words = (size_t)offbeat_partitioned_words(send);
    offbeat_partitioned_owner_init(&send->owner, &send->comm->root->owners_allowed);
    send->ready = calloc(words, sizeof *send->ready);
    send->claimed = calloc(words, sizeof *send->claimed);
    return send->ready == NULL || send->claimed == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static int allocate_block(offbeat_partitioned_request *request) {
    free(request->block);
    request->capacity = request->most_messages;
    request->mapped_messages = 0;
    /* On a boundary of cache lines, so that counters of different messages share none. */
    const size_t line = _Alignof(offbeat_partitioned_message);
    request->block = aligned_alloc(line, (divide(request, NULL) + line - 1) / line * line);
    if (request->block == NULL)
        return MPI_ERR_NO_MEM;
    divide(request, request->block);
    for (int i = 0; i < request->most_messages; i++) {
        atomic_init(&request->message[i].missing, 0);
        atomic_init(&request->message[i].stamp, 0);
        atomic_init(&request->message[i].thread, NULL);
    }
    for (int i = 0; i <= request->most_messages; i++)
        request->requests[i] = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int offbeat_partitioned_allocate_messages(offbeat_partitioned_request *request) {
    if (request->most_messages > request->capacity && allocate_block(request) != MPI_SUCCESS)
        return MPI_ERR_NO_MEM;
    request->messages = offbeat_partitioned_plan_messages(&request->plan, 0);
    map(request);
    return MPI_SUCCESS;
}

void offbeat_partitioned_begin_iteration(offbeat_partitioned_request *request) {
    const int64_t iteration = (int64_t)offbeat_partitioned_stamp(request) - 1;
    request->messages = offbeat_partitioned_plan_messages(&request->plan, iteration);
    request->has_announcement = offbeat_partitioned_plan_announces(&request->plan, iteration);
    if (request->messages != request->mapped_messages)
        map(request);
}

int offbeat_partitioned_take_tags(offbeat_partitioned_request *request, int count) {
    offbeat_partitioned_comm *root = request->comm->root;
    pthread_mutex_lock(&root->tag_lock);
    int is_taken = offbeat_partitioned_tags_take(&root->tags, count, &request->tags);
    pthread_mutex_unlock(&root->tag_lock);
    request->first_tag = request->tags.first;
    return is_taken ? MPI_SUCCESS : OFFBEAT_PARTITIONED_NO_TAGS;
}

void offbeat_partitioned_destroy(offbeat_partitioned_request *request) {
    offbeat_partitioned_comm *comm = request->comm;
    if (request->owns_datatype)
        PMPI_Type_free(&request->datatype);
    if (comm != NULL) {
        pthread_mutex_lock(&comm->root->tag_lock);
        offbeat_partitioned_tags_give_back(&comm->root->tags, &request->tags);
        pthread_mutex_unlock(&comm->root->tag_lock);
        offbeat_partitioned_comm_release(comm);
    }
    offbeat_partitioned_collective_free(request->collective);
    free(request->block);
    free(request->ready);
    free(request->claimed);
    free(request->staging);
    free(request->drain);
    free(request);
}

void offbeat_partitioned_discard(offbeat_partitioned_request *request) {
    MPI_Request *sent = request->is_send ? &request->setup_request : &request->reply_request;
    int is_sent = 0;
    if (request->collective != NULL) /* MPI still sends from its memory: it failed */
        return;
    if (request->is_send)
        offbeat_partitioned_cancel(&request->reply_request);
    else
        offbeat_partitioned_matching_remove(request);
    if (PMPI_Test(sent, &is_sent, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_sent)
        offbeat_partitioned_destroy(request);
}
