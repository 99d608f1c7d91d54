/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sequence.h
 * The delays of one call after another, from a file that rank 0 alone reads.
 *
 * A line is a call: one delay a rank, whole nanoseconds, separated by blanks. What follows a '#' is a
 * comment, and blank lines are skipped.
 */
#ifndef OFFBEAT_SEQUENCE_H
#define OFFBEAT_SEQUENCE_H

#include "benchmark/session.h"

#define OFFBEAT_SEQUENCE_UNREAD "the sequence file could not be read"

/** One process's delay in each call. */
typedef struct offbeat_sequence {
    int64_t calls;
    int64_t *delays_ns;
} offbeat_sequence;

/**
 * Reads a file on rank 0 and gives every process its own delays over the control communicator. Collective.
 * @param path looked for beside the sample file unless it begins with '/'
 * @return 0, or -1 on all processes after answering what is wrong with the file
 */
int offbeat_sequence_read(offbeat_session *session, const char *path, offbeat_sequence *sequence);

void offbeat_sequence_free(offbeat_sequence *sequence);

#endif
