/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.h  What the user typed. */
#ifndef OFFBEAT_FT_OPTIONS_H
#define OFFBEAT_FT_OPTIONS_H

#include "ft/imbalance.h"
#include "ft/problem.h"

/** The options; every rank reads the same. */
typedef struct {
    const ft_problem *problem;
    int iterations; /**< the class's own unless another number was asked for */
    int repeat;
    ft_imbalance imbalance;
    int json; /**< result as JSON on standard output, progress on standard error */
    int help; /**< only the help was asked for */
} ft_options;

/**
 * Reads the command line.
 *
 * @param why gets a sentence of less than @p bytes
 * @return 0, or -1 where something was typed that cannot be meant
 */
int ft_options_parse(int argc, char **argv, ft_options *options, char *why, size_t bytes);

/** All options, for --help. */
extern const char *const ft_options_help;

#endif
