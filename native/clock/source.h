/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file source.h
 * The time source of a process: which clock is read, its resolution, and the identity of the physical clock.
 */
#ifndef OFFBEAT_CLOCK_SOURCE_H
#define OFFBEAT_CLOCK_SOURCE_H

#include "clock/virtual_clock.h"

#include <stddef.h>
#include <stdint.h>

/** Length of an identity in bytes, including the terminating zero. */
enum { OFFBEAT_CLOCK_IDENTITY_BYTES = 128 };

typedef enum offbeat_clock_source_kind {
    OFFBEAT_MONOTONIC,
    OFFBEAT_MONOTONIC_RAW,
    OFFBEAT_WTIME,
    OFFBEAT_VIRTUAL
} offbeat_clock_source_kind;

/** A plain value without resources; may be copied. */
typedef struct offbeat_time_source {
    offbeat_clock_source_kind kind;
    offbeat_clock_distortion distortion; /**< of this process's virtual clock from CLOCK_MONOTONIC */
} offbeat_time_source;

/**
 * Parses the name of a source as described in offbeat/clock.h.
 * @param rank whose part of a virtual source's text to use
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 when the text is invalid
 */
int offbeat_clock_source_parse(const char *text, int rank, offbeat_time_source *source, char *why,
                               size_t bytes);

/** The current time, in nanoseconds. */
int64_t offbeat_clock_source_now_ns(const offbeat_time_source *source);

/** The largest difference between a reading and the clock itself, at least 1 ns. */
int64_t offbeat_clock_source_resolution_ns(const offbeat_time_source *source);

/** The name, without the parameters of a virtual source; static storage. */
const char *offbeat_clock_source_name(const offbeat_time_source *source);

/**
 * Writes a text that identifies the physical clock of a source: the kernel's boot id, the time namespace and
 * the source. Two processes with the same text read the same clock, unless a running machine was cloned. The
 * text is empty when the physical clock cannot be identified. The rest of the buffer is zeroed.
 */
void offbeat_clock_source_identity(const offbeat_time_source *source,
                                   char identity[OFFBEAT_CLOCK_IDENTITY_BYTES]);

#endif
