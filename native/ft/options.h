/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.h  The command line. */
#ifndef OFFBEAT_FT_OPTIONS_H
#define OFFBEAT_FT_OPTIONS_H

#include "ft/imbalance.h"
#include "ft/problem.h"

/** The options, identical on every rank. */
typedef struct {
    const ft_problem *problem;
    int iterations; /**< those of the class unless --iterations is given */
    int repeat;
    int rows, columns;        /**< of the process grid; 0: as many rows as processes, and one column */
    const char *pattern_path; /**< pattern file of the injected imbalance; NULL: no imbalance */
    ft_delay_by delay_by;
    int json; /**< result as JSON on standard output, progress on standard error */
    int help; /**< print the help and exit */
} ft_options;

/**
 * Parses the command line.
 *
 * @param why receives an error message of less than @p bytes
 * @return 0, or -1 if the command line is invalid
 */
int ft_options_parse(int argc, char **argv, ft_options *options, char *why, size_t bytes);

/** The text of --help. */
extern const char *const ft_options_help;

#endif
