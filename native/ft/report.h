/* SPDX-License-Identifier: BSD-3-Clause */
/** @file report.h  What the program says: lines while it runs, and the result in words or as JSON. */
#ifndef OFFBEAT_FT_REPORT_H
#define OFFBEAT_FT_REPORT_H

#include "ft/calls.h"
#include "ft/options.h"
#include "ft/solver.h"

#include <stdio.h>

/** What one repetition gave. */
typedef struct {
    ft_complex *sums; /**< one an iteration */
    ft_times *times;  /**< one a rank */
    int agrees;       /**< whether every sum that was published is the published one */
} ft_repetition;

/** All that the result is told from. */
typedef struct {
    const ft_options *options;
    const ft_job *job;
    const double *delays_s; /**< of all ranks; all 0 without --imbalance */
    const ft_repetition *repetitions;
} ft_result;

/** Iterations whose sums can be compared with published ones. */
int ft_checked(const ft_options *options);

/** Whether all sums of all repetitions that were published are the published ones. */
int ft_verified(const ft_result *result);

/** A line on the iteration that is done. */
void ft_report_iteration(FILE *out, const ft_options *options, int repetition, int iteration, ft_complex sum);

/** The result for people. */
void ft_report_words(FILE *out, const ft_result *result);

/** The result as one JSON object on one line. */
void ft_report_json(FILE *out, const ft_result *result);

#endif
