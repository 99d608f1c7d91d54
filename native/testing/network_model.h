/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file network_model.h
 * A deterministic model of processes with virtual clocks that are connected by a network. It synchronises the
 * shared clock without MPI: with the same schedule and the same estimators, but simulated delays. The true
 * time of every process is known. For tests and benchmarks.
 */
#ifndef OFFBEAT_TESTING_NETWORK_MODEL_H
#define OFFBEAT_TESTING_NETWORK_MODEL_H

#include "clock/pair_sync.h"
#include "clock/sync_schedule.h"
#include "clock/virtual_clock.h"

#include <stdint.h>

/** The latency of messages; all in nanoseconds. */
typedef struct network_delays {
    double to_reference_ns, to_client_ns; /**< minimum latency in each direction */
    double jitter_ns;                     /**< mean of an exponentially distributed additional latency */
    double tail;             /**< share of messages with a heavy-tailed jitter, up to a thousandfold */
    double preemption_share; /**< share of messages whose receiver is descheduled */
    double preemption_ns;    /**< for at most this time */
} network_delays;

typedef struct network_process {
    offbeat_clock_distortion distortion; /**< of its local clock */
    offbeat_clock_sync_schedule schedule;
    offbeat_clock_state state;
    int next_step;
    int64_t free_ns; /**< true time at which its last step ended */
} network_process;

typedef struct network_model {
    int size;
    network_delays delays;
    int64_t resolution_ns; /**< clock readings are multiples of this */
    uint64_t seed;
    int64_t exchanges; /**< in all synchronisations so far */
    network_process *processes;
} network_model;

/** Creates processes that were never synchronised, with undistorted clocks. Exits when memory is exhausted.
 */
network_model network_create(int size, const offbeat_sync_method *method, network_delays delays,
                             uint64_t seed);

void network_free(network_model *network);

/** Sets the resolution of all clocks; initially 1 ns. */
void network_set_resolution(network_model *network, int64_t resolution_ns);

/** Gives each process, including rank 0, a random offset, a random drift of at most @p drift_ppm and a random
 * wander, which changes the drift by at most @p wander_ppm_per_s. */
void network_distort_clocks(network_model *network, double drift_ppm, double wander_ppm_per_s);

/** Synchronises all processes, which begin at a true time. @return the true time at which the last one ends
 */
int64_t network_sync(network_model *network, int64_t at_ns);

/** The error of a process's shared time at a true time, in nanoseconds; negative: it is behind. The reference
 * is rank 0's clock with a resolution of 1 ns. */
int64_t network_error_ns(const network_model *network, int rank, int64_t at_ns);

/** The error bound of a process at a true time. */
int64_t network_bound_ns(const network_model *network, int rank, int64_t at_ns);

/** The next pseudorandom number in [0, 1). */
double network_random(uint64_t *seed);

#endif
