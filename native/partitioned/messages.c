/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/messages.h"

#include <stddef.h>
#include <stdlib.h>

typedef offbeat_partitioned_messages messages;
typedef offbeat_partitioned_message message;
typedef offbeat_partitioned_request request;

/* --- which message holds which partitions --- */

/* The message that holds a byte of the whole send buffer. */
static int message_at(const messages *list, int64_t byte) {
    /* The usual case of a single message needs no division. */
    if (list->count == 1 || list->partitions == 0 || list->partition_bytes == 0)
        return 0;
    return offbeat_partitioned_message_of(list->partitions, list->count, (int)(byte / list->partition_bytes));
}

uint64_t offbeat_partitioned_bits_of(const message *carrier, int word) {
    const int64_t low = (int64_t)word * OFFBEAT_PARTITIONED_WORD_BITS;
    const int64_t high = low + OFFBEAT_PARTITIONED_WORD_BITS;
    uint64_t bits = ~(uint64_t)0;
    if (carrier->first > low)
        bits <<= carrier->first - low;
    if (carrier->end < high)
        bits &= ((uint64_t)1 << (carrier->end - low)) - 1;
    return bits;
}

static void map_messages(messages *list, int lanes) {
    int first = 0;
    for (int i = 0; i < list->count; i++) {
        message *carrier = &list->message[i];
        carrier->first = first;
        carrier->end = first = offbeat_partitioned_first_partition(list->partitions, list->count, i + 1);
        const int word = carrier->first / OFFBEAT_PARTITIONED_WORD_BITS;
        const int is_in_one_word = (carrier->end - 1) / OFFBEAT_PARTITIONED_WORD_BITS == word;
        carrier->bits = is_in_one_word ? offbeat_partitioned_bits_of(carrier, word) : 0;
        carrier->lane = (list->first_lane + i * list->lane_step) % lanes;
    }
}

static void map_partitions(messages *list, const request *owner) {
    const int64_t bytes = offbeat_partitioned_partition_bytes(owner);
    for (int i = 0; i < owner->partitions; i++) {
        list->first_of[i] = message_at(list, i * bytes);
        list->last_of[i] = bytes == 0 ? list->first_of[i] : message_at(list, (i + 1) * bytes - 1);
    }
}

/* Prepares an iteration with another number of messages than the last one. */
static void map(messages *list, const request *owner) {
    const int is_in_one = list->count == 1 && list->mapped_count == 1;
    map_messages(list, owner->comm->lane_count);
    if (!is_in_one) /* a single message has all partitions, as before */
        map_partitions(list, owner);
    list->mapped_count = list->count;
}

/* --- memory --- */

/* Takes `bytes` of a block of memory, up to a boundary for any type; of a block that is NULL, only counts
 * them. */
static void *take(char *block, size_t *used_bytes, size_t bytes) {
    const size_t boundary = _Alignof(max_align_t);
    void *array = block == NULL ? NULL : block + *used_bytes;
    *used_bytes += (bytes + boundary - 1) / boundary * boundary;
    return array;
}

/* Divides a block among the arrays whose length depends on the number of messages. @return the bytes of the
 * block */
static size_t divide(messages *list, int partition_count, char *block) {
    const size_t limit = (size_t)list->capacity, partitions = (size_t)partition_count;
    size_t bytes = 0;
    list->message = take(block, &bytes, limit * sizeof *list->message);
    list->statuses = take(block, &bytes, (limit + 1) * sizeof *list->statuses);
    list->requests = take(block, &bytes, (limit + 1) * sizeof(MPI_Request));
    list->first_of = take(block, &bytes, partitions * sizeof *list->first_of);
    list->last_of = take(block, &bytes, partitions * sizeof *list->last_of);
    return bytes;
}

static int allocate_block(messages *list, int partitions) {
    free(list->block);
    list->capacity = list->limit;
    list->mapped_count = 0;
    /* On a boundary of cache lines, so that counters of different messages share none. */
    const size_t line = _Alignof(message);
    list->block = aligned_alloc(line, (divide(list, partitions, NULL) + line - 1) / line * line);
    if (list->block == NULL)
        return MPI_ERR_NO_MEM;
    divide(list, partitions, list->block);
    for (int i = 0; i < list->limit; i++) {
        atomic_init(&list->message[i].open_words, 0);
        atomic_init(&list->message[i].stamp, 0);
        atomic_init(&list->message[i].thread, NULL);
    }
    for (int i = 0; i <= list->limit; i++)
        list->requests[i] = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int offbeat_partitioned_messages_allocate(messages *list, const request *owner) {
    if (list->limit > list->capacity && allocate_block(list, owner->partitions) != MPI_SUCCESS)
        return MPI_ERR_NO_MEM;
    list->count = offbeat_partitioned_plan_messages(&list->plan, 0);
    map(list, owner);
    return MPI_SUCCESS;
}

/* --- iterations --- */

void offbeat_partitioned_messages_begin(messages *list, const request *owner) {
    const int64_t iteration = (int64_t)offbeat_partitioned_stamp(owner) - 1;
    list->count = offbeat_partitioned_plan_messages(&list->plan, iteration);
    list->has_announcement = offbeat_partitioned_plan_announces(&list->plan, iteration);
    if (list->count != list->mapped_count)
        map(list, owner);
}

int offbeat_partitioned_tests_after(const messages *list, int index) {
    enum { TESTED_BYTES = 8192, MOST_TESTS = 16 };
    const int partitions = list->message[index].end - list->message[index].first;
    const int64_t tests = list->partition_bytes * partitions / TESTED_BYTES;
    if (tests == 0)
        return index % OFFBEAT_PARTITIONED_RECENT_MESSAGES == OFFBEAT_PARTITIONED_RECENT_MESSAGES - 1;
    return tests < MOST_TESTS ? (int)tests : MOST_TESTS;
}
