/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file imbalance.h
 * Injected imbalance: a pattern file gives each rank a delay, which the rank adds before every transpose.
 *
 * A pattern file holds one delay a line; line i is the delay of rank i. Text after a # is a comment, and
 * blank lines are skipped. Two comments of the form "# key: value" have a meaning: `p` (the number of delays
 * in the file) and `unit` (of the delays; seconds by default).
 */
#ifndef OFFBEAT_FT_IMBALANCE_H
#define OFFBEAT_FT_IMBALANCE_H

#include <stddef.h>
#include <stdio.h>

/** How a delay passes: by computing, which occupies the core as an imbalance of work does, or asleep. */
typedef enum { FT_SPIN, FT_SLEEP } ft_delay_by;

/**
 * Reads the delays of p ranks in seconds, and subtracts the smallest from all.
 *
 * @param name file name for error messages
 * @param why receives an error message of less than @p bytes if the file is not a pattern of p processes
 * @return 0, or -1
 */
int ft_pattern_read(FILE *file, const char *name, int p, double *delays_s, char *why, size_t bytes);

/** Delays the calling rank; returns at once if the delay is 0. */
void ft_delay(double delay_s, ft_delay_by by);

#endif
