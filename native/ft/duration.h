/* SPDX-License-Identifier: BSD-3-Clause */
/** @file duration.h  Times as people write them: "500us", "1.5 ms", "0.002". */
#ifndef OFFBEAT_FT_DURATION_H
#define OFFBEAT_FT_DURATION_H

#include <stddef.h>

/** Longer delays than a day are taken for a mistake in the unit. */
#define FT_LONGEST_S 86400.0

/** The units of times, for sentences. */
#define FT_DURATION_UNITS "ns, us, ms, s, min and h"

/**
 * Reads a number with a unit, or a bare number of seconds: the double that is nearest to what the text says.
 *
 * @param why gets a sentence of less than @p bytes where it is no time, negative, or longer than a day
 * @return 0, or -1
 */
int ft_duration_parse(const char *text, double *time_s, char *why, size_t bytes);

/** Reads a number without a unit; neither infinity nor NaN nor hexadecimal. @return 0, or -1 */
int ft_number_parse(const char *text, double *number);

#endif
