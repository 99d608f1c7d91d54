/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file source.h
 * Where a process's local time comes from: which clock is read, how finely, and which physical clock it is.
 */
#ifndef OFFBEAT_CLOCK_SOURCE_H
#define OFFBEAT_CLOCK_SOURCE_H

#include "clock/virtual.h"

#include <stddef.h>
#include <stdint.h>

/** Length of an identity in bytes, the closing zero included. */
enum { OFFBEAT_IDENTITY_BYTES = 128 };

typedef enum offbeat_source_kind {
    OFFBEAT_MONOTONIC,
    OFFBEAT_MONOTONIC_RAW,
    OFFBEAT_WTIME,
    OFFBEAT_VIRTUAL
} offbeat_source_kind;

/** A time source of one process. No memory of its own: copied and forgotten at will. */
typedef struct offbeat_source {
    offbeat_source_kind kind;
    offbeat_virtual bend; /**< how a virtual clock of this process differs from CLOCK_MONOTONIC */
} offbeat_source;

/**
 * Reads the name of a source as clock.h describes it.
 * @param rank whose part of a virtual source's text to take
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 when the text cannot be read
 */
int offbeat_source_parse(const char *text, int rank, offbeat_source *source, char *why, size_t bytes);

/** The time now, in nanoseconds. */
int64_t offbeat_source_now_ns(const offbeat_source *source);

/** How far a reading can be from the clock it reads, at least 1 ns. */
int64_t offbeat_source_resolution_ns(const offbeat_source *source);

/** The name without a virtual source's text; static storage. */
const char *offbeat_source_name(const offbeat_source *source);

/**
 * Writes what names the physical clock behind a source: the kernel's boot id, the time namespace and the
 * source. Two processes with the same text read the same clock, unless a running machine was copied; the text
 * is empty when nothing certain can be said. The rest of the buffer is zeroed.
 */
void offbeat_source_identity(const offbeat_source *source, char identity[OFFBEAT_IDENTITY_BYTES]);

#endif
