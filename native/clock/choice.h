/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file choice.h
 * What a clock shall be made of: options of the call, else variables of the environment, else defaults.
 */
#ifndef OFFBEAT_CLOCK_CHOICE_H
#define OFFBEAT_CLOCK_CHOICE_H

#include "clock/method.h"
#include "clock/source.h"

#include <offbeat/clock.h>
#include <stddef.h>

typedef struct offbeat_choice {
    const offbeat_method *method;
    offbeat_source source;
    int exchanges, fit_points;
} offbeat_choice;

/**
 * Reads options and environment; what cannot be obeyed is refused.
 * @param world_rank whose virtual clock to take
 * @param[out] why on failure a sentence; @p bytes long
 * @return MPI_SUCCESS or MPI_ERR_ARG
 */
int offbeat_choose(const offbeat_clock_options *options, int world_rank, offbeat_choice *choice, char *why,
                   size_t bytes);

#endif
