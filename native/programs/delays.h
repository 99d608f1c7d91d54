/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file delays.h
 * The delays of this process, which the front end draws: additional time on the core in a step of an
 * iteration.
 *
 * The file has int64 numbers in the byte order of the machine: for each rank the position of its first
 * record in bytes, and one position more for the end of the last rank's records; then the records.
 */
#ifndef OFFBEAT_DELAYS_H
#define OFFBEAT_DELAYS_H

#include <stdint.h>

/** A delay; iterations and steps are counted from 0. */
typedef struct program_delay {
    int64_t iteration, step, time_ns;
} program_delay;

/** The delays of one process in the order of iterations and steps, and the next of them. */
typedef struct program_delays {
    program_delay *records;
    int64_t count, next;
} program_delays;

/**
 * Reads the delays of a rank. Local.
 * @return NULL, or an error message (static storage); a file that does not exist has no delays
 */
const char *program_delays_read(const char *path, int rank, program_delays *delays);

/** The sum of the delays of a step, in nanoseconds. Steps must be asked for in their order; delays of steps
 * that are left out are dropped. */
int64_t program_delays_take(program_delays *delays, int64_t iteration, int step);

void program_delays_free(program_delays *delays);

#endif
