/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file record_encoder.h
 * Encodes the records of a lane into its page (format.h).
 *
 * A record of which all but the times is that of an earlier one takes 8 bytes: less of the file is written,
 * and less of the caches of the program is used, than for a structure with all members.
 */
#ifndef OFFBEAT_TRACE_RECORD_ENCODER_H
#define OFFBEAT_TRACE_RECORD_ENCODER_H

#include "trace/page_checksum.h"
#include "trace/timestamp.h"

#include <stdatomic.h>

enum {
    OFFBEAT_TRACER_TEMPLATE_SLOTS = 2048, /**< a power of two, at most half of which are used */
    OFFBEAT_TRACER_SEQUENCE_SLOTS = 16,   /**< a power of two */
    OFFBEAT_TRACER_PREFETCHED_WORDS = 16  /**< two lines of the caches ahead */
};

/** The last record of a communicator in the page. */
typedef struct offbeat_tracer_last_sequence {
    uint32_t communicator, sequence;
} offbeat_tracer_last_sequence;

/** The page that is being filled. Zero-initialised: there is none. */
typedef struct offbeat_tracer_encoder {
    offbeat_trace_page *page;
    uint64_t sum;
    uint32_t words, templates; /**< that were written */
    uint32_t end; /**< a record of one word may be written before this word; 0: there is no template */
    uint32_t number, last; /**< the template that the next record probably has, and that of the last one */
    int64_t enter_ns, exit_ns; /**< of the last record */
    offbeat_tracer_last_sequence sequences[OFFBEAT_TRACER_SEQUENCE_SLOTS];
    uint16_t
        next[OFFBEAT_TRACE_MOST_TEMPLATES]; /**< the template of the record that followed the last time */
    uint16_t numbers[OFFBEAT_TRACER_TEMPLATE_SLOTS]; /**< a hash table: number of a template + 1; 0: unused */
} offbeat_tracer_encoder;

/** Begins a page. @param sum the checksum of the page without records */
void offbeat_tracer_encoder_begin(offbeat_tracer_encoder *encoder, offbeat_trace_page *page, uint64_t sum);

/** Writes a record whose template may be new, or which needs more than one word. @return 0 if the page has no
 * room for it, or there is no page */
int offbeat_tracer_encode_any(offbeat_tracer_encoder *encoder, const offbeat_trace_record *record);

/** Whether the page has room for any record: a template, an entry for each value, and the record. */
static inline int offbeat_tracer_encoder_has_room(const offbeat_tracer_encoder *encoder) {
    const uint32_t used_words = encoder->words + encoder->templates * OFFBEAT_TRACE_TEMPLATE_WORDS;
    return encoder->page != NULL &&
           used_words + OFFBEAT_TRACE_TEMPLATE_WORDS + 7 <= OFFBEAT_TRACE_PAGE_WORDS &&
           encoder->templates < OFFBEAT_TRACE_MOST_TEMPLATES;
}

OFFBEAT_TRACER_INLINE const offbeat_trace_template *
offbeat_tracer_template(const offbeat_tracer_encoder *encoder, uint32_t number) {
    const uint64_t *end = (const uint64_t *)(encoder->page + 1) + OFFBEAT_TRACE_PAGE_WORDS;
    return (const offbeat_trace_template *)end - 1 - number;
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_put(offbeat_tracer_encoder *encoder, uint64_t number,
                                              uint64_t value) {
    const uint64_t entry = number | value << OFFBEAT_TRACE_NUMBER_BITS;
    ((uint64_t *)(encoder->page + 1))[encoder->words] = entry;
    encoder->sum += offbeat_trace_mix(entry, encoder->words);
    encoder->words++;
}

/** Publishes what was written. @param number of the record's template */
OFFBEAT_TRACER_INLINE void offbeat_tracer_encoder_publish(offbeat_tracer_encoder *encoder,
                                                          const offbeat_trace_record *record,
                                                          uint32_t number) {
    encoder->enter_ns = record->enter_ns;
    encoder->exit_ns = record->exit_ns;
    encoder->last = number;
    encoder->number = encoder->next[number];
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&encoder->page->published_words =
        offbeat_trace_published(encoder->sum, encoder->words, encoder->templates);
}

/** Whether a record has the members of a template, and this advance of the sequence. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_is_of_template(const offbeat_trace_record *record, uint32_t advance,
                                                        const offbeat_trace_template *candidate) {
    const uint64_t wide = (candidate->address ^ record->address) | (candidate->bytes ^ record->bytes);
    const uint32_t narrow = (candidate->communicator ^ record->communicator) |
                            (candidate->advance ^ advance) | (candidate->round ^ record->round) |
                            (uint32_t)(candidate->root ^ record->root) | (candidate->blocks ^ record->blocks);
    const int kind = (candidate->function ^ record->function) | (candidate->datatype ^ record->datatype) |
                     (candidate->operation ^ record->operation) | (candidate->flags ^ record->flags);
    /* Without blocks, there is no largest one. */
    return (wide | narrow | (uint64_t)kind) == 0 &&
           (record->blocks == 0 || ((candidate->largest_bytes ^ record->largest_bytes) |
                                    (candidate->empty_blocks ^ record->empty_blocks)) == 0);
}

/** Whether the record is one word: it has the template that is expected, and the page has room. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_is_one_word(const offbeat_tracer_encoder *encoder,
                                                     const offbeat_trace_record *record) {
    const offbeat_tracer_last_sequence *last =
        &encoder->sequences[record->communicator & (OFFBEAT_TRACER_SEQUENCE_SLOTS - 1)];
    const uint64_t gap_ns = (uint64_t)record->enter_ns - (uint64_t)encoder->enter_ns,
                   duration_ns = (uint64_t)record->exit_ns - (uint64_t)record->enter_ns;
    return encoder->words < encoder->end && last->communicator == record->communicator &&
           offbeat_tracer_is_of_template(record, record->sequence - last->sequence,
                                         offbeat_tracer_template(encoder, encoder->number)) &&
           (gap_ns >> OFFBEAT_TRACE_ENTER_BITS | duration_ns >> OFFBEAT_TRACE_DURATION_BITS) == 0;
}

/** Writes a record, which most often is one word. It is inlined where most members are constant or in
 * registers. @return 0 if the page has no room for it, or there is no page */
OFFBEAT_TRACER_INLINE int offbeat_tracer_encode(offbeat_tracer_encoder *encoder,
                                                const offbeat_trace_record *record) {
    if (!offbeat_tracer_is_one_word(encoder, record)) {
        const offbeat_trace_record copy = *record; /* so that `record` itself needs no memory */
        return offbeat_tracer_encode_any(encoder, &copy);
    }
    const uint32_t number = encoder->number;
    /* A store that misses the caches would delay the next message of the program, as stores are in order. */
    __builtin_prefetch(
        (const uint64_t *)(encoder->page + 1) + encoder->words + OFFBEAT_TRACER_PREFETCHED_WORDS, 1);
    encoder->sequences[record->communicator & (OFFBEAT_TRACER_SEQUENCE_SLOTS - 1)].sequence =
        record->sequence;
    offbeat_tracer_put(encoder, number,
                       ((uint64_t)record->enter_ns - (uint64_t)encoder->enter_ns) |
                           ((uint64_t)record->exit_ns - (uint64_t)record->enter_ns)
                               << OFFBEAT_TRACE_ENTER_BITS);
    offbeat_tracer_encoder_publish(encoder, record, number);
    return 1;
}

#endif
