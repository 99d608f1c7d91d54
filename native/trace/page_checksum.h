/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file page_checksum.h
 * The checksum of a page or a header of a trace file (format.h): a sum of mixed words, to which words are
 * added, and in which words are replaced, as they are written.
 *
 * The mixing function is a bijection of 64 bits with two multiplications and three shifts, known as degski64:
 * a changed bit changes every bit of the result with a probability of about one half. So words that were
 * changed, exchanged or set to zero leave the sum as it was with a probability of about 2^-64.
 */
#ifndef OFFBEAT_TRACE_PAGE_CHECKSUM_H
#define OFFBEAT_TRACE_PAGE_CHECKSUM_H

#include "trace/format.h"

#include <stddef.h>
#include <string.h>

/** What a word adds to a checksum. @param i the index of the word */
static inline uint64_t offbeat_trace_mix(uint64_t word, uint64_t i) {
    const uint64_t constant = UINT64_C(0xD6E8FEB86659FD93);
    word += (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    word = (word ^ word >> 32) * constant;
    word = (word ^ word >> 32) * constant;
    return word ^ word >> 32;
}

/** What several words add. @param bytes a multiple of 8 */
static inline uint64_t offbeat_trace_mix_bytes(const void *data, size_t bytes, uint64_t first) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i < bytes / 8; i++) {
        memcpy(&word, (const char *)data + 8 * i, 8);
        sum += offbeat_trace_mix(word, first + i);
    }
    return sum;
}

/** The checksum of an empty page. */
static inline uint64_t offbeat_trace_empty_sum(const offbeat_trace_header *header, uint64_t page_number,
                                               uint32_t kind, uint32_t lane, int64_t origin_ns) {
    return offbeat_trace_mix(kind | (uint64_t)lane << 32, OFFBEAT_TRACE_KIND_WORD) +
           offbeat_trace_mix((uint64_t)origin_ns, OFFBEAT_TRACE_ORIGIN_WORD) +
           offbeat_trace_mix(header->run, OFFBEAT_TRACE_RUN_WORD) +
           offbeat_trace_mix((uint32_t)header->rank | page_number << 32, OFFBEAT_TRACE_PLACE_WORD);
}

/** The value of `published_words`. */
static inline uint64_t offbeat_trace_published(uint64_t sum, uint64_t words, uint64_t templates) {
    return words | templates << OFFBEAT_TRACE_TEMPLATES_SHIFT |
           sum >> OFFBEAT_TRACE_CHECKSUM_SHIFT << OFFBEAT_TRACE_CHECKSUM_SHIFT;
}

/** `checksum` of a header. */
static inline uint64_t offbeat_trace_header_checksum(const offbeat_trace_header *header) {
    offbeat_trace_header constant = *header;
    constant.state = constant.lanes = 0;
    constant.ended_ns = constant.stamps_wrong_ns = 0;
    constant.pages = constant.lost_count = constant.checksum = constant.state_checksum = 0;
    constant.lost_because = 0;
    return offbeat_trace_mix_bytes(&constant, sizeof constant, 0);
}

/** `state_checksum` of a header. */
static inline uint64_t offbeat_trace_state_checksum(const offbeat_trace_header *header) {
    const uint64_t words[] = {header->state,
                              header->lanes,
                              (uint64_t)header->ended_ns,
                              header->pages,
                              header->lost_count,
                              (uint32_t)header->lost_because,
                              (uint64_t)header->stamps_wrong_ns};
    return offbeat_trace_mix_bytes(words, sizeof words, 0);
}

#endif
