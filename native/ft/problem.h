/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file problem.h
 * The problem classes of FT, and the checksums that were published for them.
 */
#ifndef OFFBEAT_FT_PROBLEM_H
#define OFFBEAT_FT_PROBLEM_H

#include "ft/fft.h"

/** A class: the grid, how often it is transformed back, and the sum after each of those times. */
typedef struct {
    const char *name;
    size_t nx, ny, nz; /**< powers of two; x is the fastest in memory and in the sequence of random numbers */
    int iterations;
    const ft_complex *sums; /**< one an iteration; the first is that of t = 1 */
} ft_problem;

/** The class of a name such as "S"; NULL where there is none. */
const ft_problem *ft_problem_named(const char *name);

/** The names of all classes, for sentences: "S, W, ...". */
#define FT_PROBLEM_NAMES "S, W, A, B, C and D"

/**
 * Whether a sum is the published one: relative to it, the distance is at most 1e-12.
 *
 * @param iteration from 1
 * @return 1 or 0; -1 where no sum was published for that iteration
 */
int ft_problem_agrees(const ft_problem *problem, int iteration, ft_complex sum);

#endif
