/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sequence.h
 * The delays of consecutive calls, from a file that only rank 0 reads.
 *
 * Each line is a call: one delay per rank in whole nanoseconds, separated by blanks. Text after a '#' is a
 * comment, and blank lines are skipped.
 */
#ifndef OFFBEAT_SEQUENCE_H
#define OFFBEAT_SEQUENCE_H

#include "benchmark/session.h"

#define OFFBEAT_SEQUENCE_UNREADABLE "the sequence file could not be read"

/** The delays of one process, one per call. */
typedef struct offbeat_sequence {
    int64_t calls;
    int64_t *delays_ns;
} offbeat_sequence;

/**
 * Reads a file on rank 0 and sends every process its own delays. Collective.
 * @param path relative to the directory of the sample file, unless it begins with '/'
 * @return 0, or -1 on all processes after answering with the error
 */
int offbeat_sequence_read(offbeat_session *session, const char *path, offbeat_sequence *sequence);

void offbeat_sequence_free(offbeat_sequence *sequence);

#endif
