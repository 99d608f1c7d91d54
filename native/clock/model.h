/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file model.h
 * What a process believes of the shared clock, and which lines are possible beside it.
 *
 * One line (estimate) converts times; the bound is the largest distance of a possible line from it, and what
 * the rate may have changed since. No pointers: a teacher hands its model to a learner that reads the same
 * physical clock.
 */
#ifndef OFFBEAT_CLOCK_MODEL_H
#define OFFBEAT_CLOCK_MODEL_H

#include "clock/polygon.h"

#include <stdint.h>

typedef struct offbeat_model {
    int is_shared;            /**< the local clock is rank 0's own physical clock: the rest doesn't matter */
    int64_t at_ns;            /**< local time from which lines count */
    int64_t offset_ns;        /**< shared minus local clock, from which lines' offsets count */
    int64_t resolution_ns;    /**< how far a reading of the local clock can be off */
    offbeat_line line;        /**< the estimate */
    offbeat_polygon possible; /**< never empty */
} offbeat_model;

/** The model of rank 0, and of processes that read its physical clock. */
offbeat_model offbeat_model_of_reference(int64_t at_ns, int64_t resolution_ns);

/** A local time on the shared clock. */
int64_t offbeat_model_global_ns(const offbeat_model *model, int64_t local_ns);

/** The first local time that is not before @p global_ns on the shared clock. */
int64_t offbeat_model_local_ns(const offbeat_model *model, int64_t global_ns);

/** How wrong offbeat_model_global_ns can be at a local time; 0 where is_shared. */
int64_t offbeat_model_bound_ns(const offbeat_model *model, int64_t local_ns);

#endif
