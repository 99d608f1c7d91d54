/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/record_encoder.h"

#include <string.h>

enum { VALUE_BITS = 64 - OFFBEAT_TRACE_NUMBER_BITS };

static const uint64_t half_mask = (UINT64_C(1) << OFFBEAT_TRACE_HALF_BITS) - 1;

void offbeat_tracer_encoder_begin(offbeat_tracer_encoder *encoder, offbeat_trace_page *page, uint64_t sum) {
    memset(encoder, 0, sizeof *encoder);
    encoder->page = page;
    encoder->sum = sum;
    encoder->enter_ns = page->origin_ns;
}

/* Whether the values of the record that a template does not have can be in entries. */
static int fit(const offbeat_trace_template *candidate, const offbeat_trace_record *record) {
    return (record->bytes == candidate->bytes || record->bytes >> VALUE_BITS == 0) &&
           (record->largest_bytes == candidate->largest_bytes || record->largest_bytes >> VALUE_BITS == 0) &&
           ((record->blocks == candidate->blocks && record->empty_blocks == candidate->empty_blocks) ||
            (record->blocks | record->empty_blocks) <= half_mask);
}

/* Whether the template has the members of a record that are in no entry. */
static int is_template_of(const offbeat_trace_template *candidate, const offbeat_trace_record *record,
                          uint32_t advance) {
    return candidate->address == record->address && candidate->communicator == record->communicator &&
           candidate->advance == advance && candidate->root == record->root &&
           candidate->function == record->function && candidate->datatype == record->datatype &&
           candidate->operation == record->operation && candidate->flags == record->flags &&
           fit(candidate, record);
}

static uint32_t slot_of(const offbeat_trace_record *record, uint32_t advance) {
    const uint64_t location = record->communicator | (uint64_t)(uint32_t)record->root << 32,
                   kind = record->function | (uint64_t)record->datatype << 16 |
                          (uint64_t)record->operation << 32 | (uint64_t)record->flags << 48;
    const uint64_t hash = offbeat_trace_mix(record->address + offbeat_trace_mix(location, kind), advance);
    return (uint32_t)hash & (OFFBEAT_TRACER_TEMPLATE_SLOTS - 1);
}

static void add_template(offbeat_tracer_encoder *encoder, const offbeat_trace_record *record,
                         uint32_t advance) {
    const uint32_t number = encoder->templates++;
    const uint64_t first = OFFBEAT_TRACE_PAGE_WORDS - (number + 1) * (uint64_t)OFFBEAT_TRACE_TEMPLATE_WORDS;
    const offbeat_trace_template new_template = {.address = record->address,
                                                 .bytes = record->bytes,
                                                 .largest_bytes = record->largest_bytes,
                                                 .communicator = record->communicator,
                                                 .advance = advance,
                                                 .round = record->round,
                                                 .root = record->root,
                                                 .blocks = record->blocks,
                                                 .empty_blocks = record->empty_blocks,
                                                 .function = record->function,
                                                 .datatype = record->datatype,
                                                 .operation = record->operation,
                                                 .flags = record->flags};
    memcpy((uint64_t *)(encoder->page + 1) + first, &new_template, sizeof new_template);
    encoder->sum += offbeat_trace_mix_bytes(&new_template, sizeof new_template, first);
    encoder->end = (uint32_t)first - OFFBEAT_TRACE_TEMPLATE_WORDS - 7;
    encoder->next[number] = (uint16_t)number;
}

/* The number of the record's template, which is added if it is new. */
static uint32_t template_of(offbeat_tracer_encoder *encoder, const offbeat_trace_record *record,
                            uint32_t advance) {
    uint32_t slot = slot_of(record, advance);
    for (uint16_t number; (number = encoder->numbers[slot]) != 0;
         slot = (slot + 1) & (OFFBEAT_TRACER_TEMPLATE_SLOTS - 1))
        if (is_template_of(offbeat_tracer_template(encoder, number - 1U), record, advance))
            return number - 1U;
    add_template(encoder, record, advance);
    encoder->numbers[slot] = (uint16_t)encoder->templates;
    return encoder->templates - 1;
}

/* Writes the members that differ from those of the template. */
static void put_values(offbeat_tracer_encoder *encoder, const offbeat_trace_template *candidate,
                       const offbeat_trace_record *record) {
    if (record->round != candidate->round)
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_ROUND, record->round);
    if (record->bytes != candidate->bytes)
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_SIZE, record->bytes);
    if (record->largest_bytes != candidate->largest_bytes)
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_LARGEST, record->largest_bytes);
    if (record->blocks != candidate->blocks || record->empty_blocks != candidate->empty_blocks)
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_BLOCKS,
                           record->blocks | (uint64_t)record->empty_blocks << OFFBEAT_TRACE_HALF_BITS);
}

/* Writes the record itself, and the upper bits of its times if they are needed. */
static void put_times(offbeat_tracer_encoder *encoder, uint32_t number, const offbeat_trace_record *record) {
    const uint64_t gap_ns = (uint64_t)record->enter_ns - (uint64_t)encoder->enter_ns,
                   duration_ns = (uint64_t)record->exit_ns - (uint64_t)record->enter_ns;
    const uint64_t upper_gap = gap_ns >> OFFBEAT_TRACE_ENTER_BITS,
                   upper_duration = duration_ns >> OFFBEAT_TRACE_DURATION_BITS;
    if ((upper_gap | upper_duration) != 0)
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_TIMES,
                           (upper_gap & half_mask) | (upper_duration & half_mask) << OFFBEAT_TRACE_HALF_BITS);
    offbeat_tracer_put(encoder, number,
                       (gap_ns & ((UINT64_C(1) << OFFBEAT_TRACE_ENTER_BITS) - 1)) |
                           duration_ns << OFFBEAT_TRACE_ENTER_BITS);
}

int offbeat_tracer_encode_any(offbeat_tracer_encoder *encoder, const offbeat_trace_record *record) {
    if (!offbeat_tracer_encoder_has_room(encoder))
        return 0;
    offbeat_tracer_last_sequence *last =
        &encoder->sequences[record->communicator & (OFFBEAT_TRACER_SEQUENCE_SLOTS - 1)];
    uint32_t advance = record->sequence - last->sequence;
    if (last->communicator != record->communicator || advance > 1) {
        offbeat_tracer_put(encoder, OFFBEAT_TRACE_SEQUENCE, record->sequence);
        advance = 0;
    }
    *last = (offbeat_tracer_last_sequence){record->communicator, record->sequence};
    const uint32_t number = template_of(encoder, record, advance);
    put_values(encoder, offbeat_tracer_template(encoder, number), record);
    put_times(encoder, number, record);
    encoder->next[encoder->last] = (uint16_t)number;
    offbeat_tracer_encoder_publish(encoder, record, number);
    return 1;
}
