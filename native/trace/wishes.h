/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wishes.h
 * What the environment wants to have traced. Nothing here knows MPI.
 *
 *   - OFFBEAT_TRACE_DIR: the folder of the files; `offbeat-trace` where it isn't set
 *   - OFFBEAT_TRACE_RANKS: ranks of MPI_COMM_WORLD that write a file: `0-3,8`, `16-`
 *   - OFFBEAT_TRACE_EVERY: every so many-th call of a communicator, every so many-th start of a persistent
 * one
 *   - OFFBEAT_TRACE_COLLECTIVES: `allreduce,alltoall`: these with all their variants; `constructors`
 *   - OFFBEAT_TRACE_COMM_SIZES: calls on communicators of these sizes (inter-communicators: of both groups)
 *   - OFFBEAT_TRACE_WINDOW: seconds since rank 0 left MPI_Init on the shared clock, `10-60`, `2.5-`
 *   - OFFBEAT_TRACE_BYTES: how long a rank's file may become: `100 MB`, `1GiB`, `65536`
 *   - OFFBEAT_TRACE_DEPTH: how many callers a call path holds; 1: the call alone; 0: as 1, and Python is not
 * asked for its frames
 *   - OFFBEAT_TRACE_SYNC_LEVEL: MPI_Pcontrol with this level synchronises the clocks anew, and is then
 * collective over MPI_COMM_WORLD
 */
#ifndef OFFBEAT_TRACE_WISHES_H
#define OFFBEAT_TRACE_WISHES_H

#include "trace/functions.h"

#include <stddef.h>

enum { OFFBEAT_MOST_RANGES = 64, OFFBEAT_MOST_DEPTH = 16, OFFBEAT_USUAL_DEPTH = 4 };

/** Whole numbers; none: all. */
typedef struct offbeat_ranges {
    int count;
    struct {
        long from, to; /**< both included */
    } ranges[OFFBEAT_MOST_RANGES];
} offbeat_ranges;

typedef struct offbeat_wishes {
    const char *folder;
    offbeat_ranges ranks, sizes;
    unsigned every;                         /**< at least 1 */
    unsigned char takes[OFFBEAT_FUNCTIONS]; /**< by function: whether its calls are recorded */
    double window_from_s, window_to_s;      /**< 0 and infinity: always */
    uint64_t limit_bytes;                   /**< 0: none */
    int depth;                              /**< of call paths, 0 to OFFBEAT_MOST_DEPTH */
    int syncs, sync_level;                  /**< whether MPI_Pcontrol synchronises, at which level */
} offbeat_wishes;

/**
 * Reads the environment.
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 where a variable cannot be read
 */
int offbeat_wishes_read(offbeat_wishes *wishes, char *why, size_t bytes);

/** Writes the variables that are set, as NAME=VALUE, separated by spaces. */
void offbeat_wishes_say(char *text, size_t bytes);

/** Whether a number is in one of the ranges, or there are none. */
int offbeat_ranges_have(const offbeat_ranges *ranges, long number);

#endif
