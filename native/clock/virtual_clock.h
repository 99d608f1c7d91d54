/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file virtual_clock.h
 * A virtual clock: a deterministic function of a physical clock, so that a test knows the true error of every
 * process.
 *
 * The text of a virtual clock describes all processes at once (see offbeat/clock.h):
 * "epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...".
 */
#ifndef OFFBEAT_CLOCK_VIRTUAL_CLOCK_H
#define OFFBEAT_CLOCK_VIRTUAL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { OFFBEAT_MOST_STEPS = 8 };

/** The difference between one process's virtual clock and the physical one; zeroed: none. */
typedef struct offbeat_clock_distortion {
    int64_t epoch_ns;        /**< physical time from which drift, wander and steps count */
    int64_t offset_ns;       /**< added at all times */
    double drift_ppm;        /**< how much faster the virtual clock runs */
    double wander_ppm;       /**< a triangle wave is added to the drift: this is its amplitude... */
    double wander_period_ns; /**< ...and its period; the drift changes by 4 x wander_ppm in it; 0: none */
    struct {
        double after_ns; /**< since the epoch */
        int64_t size_ns;
    } steps[OFFBEAT_MOST_STEPS];
    int step_count;
} offbeat_clock_distortion;

/**
 * Reads the distortion of one rank from the text for all ranks.
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 when the text is invalid, also in another rank's part
 */
int offbeat_clock_virtual_parse(const char *text, int rank, offbeat_clock_distortion *distortion, char *why,
                                size_t bytes);

/** The virtual clock's reading at a physical time, in nanoseconds. */
int64_t offbeat_clock_virtual_ns(const offbeat_clock_distortion *distortion, int64_t physical_ns);

#endif
