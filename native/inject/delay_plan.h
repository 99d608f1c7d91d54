/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file delay_plan.h
 * Which ranks are delayed at which calls, and for how long: the environment variables, and what is drawn from
 * them. Nothing here depends on MPI.
 *
 *   - OFFBEAT_INJECT_CALL: the function whose calls are counted: `MPI_Allreduce`; without it, nothing is done
 *   - OFFBEAT_INJECT_NS: the time of a delay in nanoseconds; default 0: calls are counted, and none is
 *     delayed
 *   - OFFBEAT_INJECT_DISTRIBUTION: `fixed` (default) or `exponential`, with this time as the mean
 *   - OFFBEAT_INJECT_WHEN: `before` or `after` (default) the call
 *   - OFFBEAT_INJECT_RANKS: which ranks of MPI_COMM_WORLD are delayed: `all` (default), `0-3,8`, `random:2`
 *     (that number of random ones), or `each-domain` (a random one of each memory domain)
 *   - OFFBEAT_INJECT_EVERY, OFFBEAT_INJECT_FIRST, OFFBEAT_INJECT_LAST: each rank counts its calls from 1;
 *     those whose numbers are multiples of EVERY (default 1), from FIRST (default 1) to LAST (default 0: the
 *     program's last), are *occasions*
 *   - OFFBEAT_INJECT_SEED: the seed of all draws; default 1
 *   - OFFBEAT_INJECT_REPORT: a file that rank 0 writes in MPI_Finalize
 *
 * A draw is a function of the seed, the number of the call, and the rank or domain. So all ranks draw the
 * same without communication.
 */
#ifndef OFFBEAT_INJECT_DELAY_PLAN_H
#define OFFBEAT_INJECT_DELAY_PLAN_H

#include "settings/settings.h"

#include <stddef.h>
#include <stdint.h>

typedef enum offbeat_inject_pick {
    OFFBEAT_INJECT_ALL,
    OFFBEAT_INJECT_LIST,
    OFFBEAT_INJECT_RANDOM,
    OFFBEAT_INJECT_EACH_DOMAIN
} offbeat_inject_pick;

typedef struct offbeat_inject_plan {
    const char *call, *report; /**< NULL: not given */
    int64_t delay_ns;
    int is_exponential, is_before;
    offbeat_inject_pick pick;
    offbeat_ranges ranks; /**< with OFFBEAT_INJECT_LIST */
    long count;           /**< with OFFBEAT_INJECT_RANDOM: how many ranks */
    long period, first, last;
    uint64_t seed;
} offbeat_inject_plan;

/** The place of a process among those of MPI_COMM_WORLD. */
typedef struct offbeat_inject_place {
    int rank, size;
    int domain;         /**< the lowest rank of its memory domain; with OFFBEAT_INJECT_EACH_DOMAIN only */
    int rank_in_domain; /**< from 0 */
    int domain_size;
} offbeat_inject_place;

/**
 * Reads the environment.
 * @param[out] error a message, on failure; @p bytes long
 * @return 0, or -1 if a variable is invalid
 */
int offbeat_inject_plan_read(offbeat_inject_plan *plan, char *error, size_t bytes);

/** Checks that the ranks exist. @return 0, or -1 with a message */
int offbeat_inject_plan_check(const offbeat_inject_plan *plan, int size, char *error, size_t bytes);

/** Whether a call, by its number from 1, is an occasion for delays of any ranks. */
int offbeat_inject_is_occasion(const offbeat_inject_plan *plan, uint64_t number);

/** How long a process is delayed on an occasion, by the number of the call; 0: it is not. */
int64_t offbeat_inject_delay_ns(const offbeat_inject_plan *plan, const offbeat_inject_place *process,
                                uint64_t number);

#endif
