/* SPDX-License-Identifier: BSD-3-Clause */
/** @file report.h  The program's output: a line per iteration, and the result as text or JSON. */
#ifndef OFFBEAT_FT_REPORT_H
#define OFFBEAT_FT_REPORT_H

#include "ft/calls.h"
#include "ft/options.h"
#include "ft/solver.h"

#include <stdio.h>

/** The result of one repetition. */
typedef struct {
    ft_complex *sums; /**< one an iteration */
    ft_times *times;  /**< one a rank */
    int agrees;       /**< whether every sum agrees with the published one, where there is one */
} ft_repetition;

/** The result of all repetitions. */
typedef struct {
    const ft_options *options;
    const ft_job *job;
    const double *delays_s; /**< of all ranks; all 0 without --imbalance */
    const ft_repetition *repetitions;
} ft_result;

/** Whether all sums of all repetitions agree with the published ones, where there are any. */
int ft_verified(const ft_result *result);

/** Writes the line of one iteration. */
void ft_report_iteration(FILE *out, const ft_options *options, int repetition, int iteration, ft_complex sum);

/** Writes the result as text. */
void ft_report_text(FILE *out, const ft_result *result);

/** Writes the result as one JSON object on one line. */
void ft_report_json(FILE *out, const ft_result *result);

#endif
