/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file virtual.h
 * A virtual clock: a pure function of a physical one, so that a test knows the truth about every process.
 *
 * The text of a virtual clock describes all processes at once (see offbeat/clock.h):
 * "epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...".
 */
#ifndef OFFBEAT_CLOCK_VIRTUAL_H
#define OFFBEAT_CLOCK_VIRTUAL_H

#include <stddef.h>
#include <stdint.h>

enum { OFFBEAT_MOST_STEPS = 8 };

/** How one process's virtual clock differs from the physical one; zeroed: not at all. */
typedef struct offbeat_virtual {
    int64_t epoch_ns;  /**< physical time from which drift, wander and steps count */
    int64_t offset_ns; /**< added at all times */
    double drift_ppm;  /**< how much faster it runs */
    double wander_ppm; /**< the rate goes evenly to and fro between minus and plus this... */
    double
        wander_period_ns; /**< ...once in this time, so that it changes by 4 x wander_ppm in it; 0: never */
    struct {
        double after_ns; /**< since the epoch */
        int64_t size_ns;
    } steps[OFFBEAT_MOST_STEPS];
    int step_count;
} offbeat_virtual;

/**
 * Reads the part of one rank from the text of all.
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 when the text cannot be read, also where another rank's part is wrong
 */
int offbeat_virtual_parse(const char *text, int rank, offbeat_virtual *bend, char *why, size_t bytes);

/** What the virtual clock shows at a physical time, in nanoseconds. */
int64_t offbeat_virtual_ns(const offbeat_virtual *bend, int64_t physical_ns);

#endif
