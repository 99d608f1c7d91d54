/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file options.h
 * The settings of a clock: options of the call, else environment variables, else defaults.
 */
#ifndef OFFBEAT_CLOCK_OPTIONS_H
#define OFFBEAT_CLOCK_OPTIONS_H

#include "clock/source.h"
#include "clock/sync_schedule.h"

#include <offbeat/clock.h>
#include <stddef.h>

typedef struct offbeat_clock_settings {
    const offbeat_sync_method *method;
    offbeat_time_source source;
    int exchanges, fit_points;
} offbeat_clock_settings;

/**
 * Combines options and environment; invalid ones are refused.
 * @param world_rank whose virtual clock to use
 * @param[out] why on failure a sentence; @p bytes long
 * @return MPI_SUCCESS or MPI_ERR_ARG
 */
int offbeat_clock_settings_read(const offbeat_clock_options *options, int world_rank,
                                offbeat_clock_settings *settings, char *why, size_t bytes);

#endif
