/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file network.h
 * A deterministic model of processes with clocks and a network between them, on which the shared clock is
 * tried without MPI: the same lessons in the same order, carried by made-up delays. Everybody's true time is
 * known. For tests and benchmarks.
 */
#ifndef OFFBEAT_CLOCK_NETWORK_H
#define OFFBEAT_CLOCK_NETWORK_H

#include "clock/lesson.h"
#include "clock/order.h"
#include "clock/virtual.h"

#include <stdint.h>

/** How long messages take; all in nanoseconds. */
typedef struct offbeat_delays {
    double there_ns, back_ns; /**< at least, to the teacher and from it */
    double jitter_ns;         /**< mean of what comes on top, exponentially distributed */
    double tail;          /**< share of messages whose jitter is up to a thousandfold, with a heavy tail */
    double preempted;     /**< share of messages that meet a process without a core */
    double preemption_ns; /**< and wait up to so long */
} offbeat_delays;

/** One process. */
typedef struct offbeat_modelled {
    offbeat_virtual bend; /**< its local clock */
    offbeat_order order;
    offbeat_pupil pupil;
    int next;        /**< its next meeting */
    int64_t free_ns; /**< true time from which it can go on */
} offbeat_modelled;

typedef struct offbeat_network {
    int size;
    offbeat_delays delays;
    int64_t resolution_ns; /**< readings of clocks are multiples of this */
    uint64_t seed;
    int64_t exchanges; /**< in all syncs so far */
    offbeat_modelled *processes;
} offbeat_network;

/** Processes with clocks that are not bent yet, and know nothing. Ends the program when there is no memory.
 */
offbeat_network offbeat_network_create(int size, const offbeat_method *method, offbeat_delays delays,
                                       uint64_t seed);

/** Makes all clocks coarser than the 1 ns that they have. */
void offbeat_network_coarsen(offbeat_network *network, int64_t resolution_ns);

void offbeat_network_free(offbeat_network *network);

/** Bends the clocks at random: any offset, a drift within, and a wander that changes the rate by no more than
 * the given parts per million (a second). Rank 0's, too. */
void offbeat_network_bend(offbeat_network *network, double drift_ppm, double wander_ppm_per_s);

/** A sync of all processes, who come at a true time. @return the true time at which the last is done */
int64_t offbeat_network_sync(offbeat_network *network, int64_t at_ns);

/** How wrong a process is at a true time, in nanoseconds; negative: it is behind. The truth is what rank 0's
 * clock would show if it were fine. */
int64_t offbeat_network_error_ns(const offbeat_network *network, int rank, int64_t at_ns);

/** How wrong it says it can be. */
int64_t offbeat_network_bound_ns(const offbeat_network *network, int rank, int64_t at_ns);

/** A random number from 0 up to 1, the next of the seed's. */
double offbeat_random(uint64_t *seed);

#endif
