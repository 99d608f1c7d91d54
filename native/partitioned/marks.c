/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/marks.h"

#include <stdlib.h>

typedef offbeat_partitioned_marked_request marked_request;

/* The words of the ready bits; at least 1. */
static int words_of_request(const marked_request *request) {
    return request->head.partitions / OFFBEAT_PARTITIONED_WORD_BITS + 1;
}

/* The words that hold the bits of a message's partitions. */
static int words_of_message(const offbeat_partitioned_message *message) {
    return (message->end - 1) / OFFBEAT_PARTITIONED_WORD_BITS -
           message->first / OFFBEAT_PARTITIONED_WORD_BITS + 1;
}

int offbeat_partitioned_marks_allocate(marked_request *request) {
    const size_t words = (size_t)words_of_request(request);
    offbeat_partitioned_owner_init(&request->owner, &request->head.comm->root->owners_allowed);
    request->ready_bits = calloc(words, sizeof *request->ready_bits);
    request->claimed_bits = calloc(words, sizeof *request->claimed_bits);
    return request->ready_bits == NULL || request->claimed_bits == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

void offbeat_partitioned_marks_free(marked_request *request) {
    free(request->messages.block);
    free(request->ready_bits);
    free(request->claimed_bits);
}

void offbeat_partitioned_marks_begin(marked_request *request) {
    offbeat_partitioned_messages *messages = &request->messages;
    atomic_store_explicit(&request->head.stamp, offbeat_partitioned_stamp(&request->head) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&request->head.failure, MPI_SUCCESS, memory_order_relaxed);
    offbeat_partitioned_messages_begin(messages, &request->head);
    for (int i = 0; i < messages->count; i++) {
        offbeat_partitioned_message *message = &messages->message[i];
        atomic_store_explicit(&message->open_words, words_of_message(message), memory_order_relaxed);
        atomic_store_explicit(&message->thread, NULL, memory_order_relaxed);
    }
    for (int i = 0; i < words_of_request(request); i++) {
        atomic_store_explicit(&request->ready_bits[i], 0, memory_order_relaxed);
        atomic_store_explicit(&request->claimed_bits[i], 0, memory_order_relaxed);
    }
}

/* Sets the ready bit of a partition. @return the word before */
static uint64_t set_ready(marked_request *request, int partition) {
    _Atomic uint64_t *word = &request->ready_bits[partition / OFFBEAT_PARTITIONED_WORD_BITS];
    const uint64_t bit = offbeat_partitioned_bit(partition);
    if (!request->head.is_threaded || !offbeat_partitioned_owner_begin(&request->owner))
        return offbeat_partitioned_set_bits(word, bit, request->head.is_threaded);
    const uint64_t bits_before = offbeat_partitioned_set_bits(word, bit, 0);
    offbeat_partitioned_owner_leave(&request->owner);
    return bits_before;
}

/* Marks a partition in any case. @return 0 if it was marked before in this iteration */
static int mark(marked_request *request, int partition) {
    const int index = request->messages.first_of[partition], word = partition / OFFBEAT_PARTITIONED_WORD_BITS;
    offbeat_partitioned_message *message = &request->messages.message[index];
    const uint64_t bit = offbeat_partitioned_bit(partition), bits_in_one_word = message->bits;
    const uint64_t bits = bits_in_one_word ? bits_in_one_word : offbeat_partitioned_bits_of(message, word);
    const uint64_t bits_before = set_ready(request, partition);
    if (bits_before & bit)
        return 0;
    /* Once all words of the message are complete, another thread may complete and free the request: a thread
     * that has not completed a word accesses nothing of the request from here on. */
    if (((bits_before | bit) & bits) != bits)
        return 1;
    /* The last thread sends what the others have written: their decrements are released, this one acquires.
     */
    if (bits_in_one_word || offbeat_partitioned_add(&message->open_words, -1, request->head.is_threaded) == 1)
        request->head.operations->send(&request->head, index);
    return 1;
}

int offbeat_partitioned_finish_mark(marked_request *request, int partition, offbeat_partitioned_mark result) {
    if (result == OFFBEAT_PARTITIONED_MARK_MISSING)
        return mark(request, partition);
    if (result == OFFBEAT_PARTITIONED_MARK_LAST)
        request->head.operations->send(&request->head, request->messages.first_of[partition]);
    return result != OFFBEAT_PARTITIONED_MARK_TWICE;
}

/* A call for several partitions first claims them all. This detects every wrong partition before one of them
 * is marked, but for partitions that another thread marks at the same time. */
int offbeat_partitioned_claim(marked_request *request, int partition) {
    const int word = partition / OFFBEAT_PARTITIONED_WORD_BITS;
    const uint64_t bit = offbeat_partitioned_bit(partition);
    if (atomic_load_explicit(&request->ready_bits[word], memory_order_relaxed) & bit)
        return 0;
    return !(offbeat_partitioned_set_bits(&request->claimed_bits[word], bit, request->head.is_threaded) &
             bit);
}

void offbeat_partitioned_unclaim(marked_request *request, int partition) {
    atomic_fetch_and_explicit(&request->claimed_bits[partition / OFFBEAT_PARTITIONED_WORD_BITS],
                              ~offbeat_partitioned_bit(partition), memory_order_relaxed);
}
