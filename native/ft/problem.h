/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file problem.h
 * The problem classes of FT: grids, the random numbers of the initial state, and published checksums.
 */
#ifndef OFFBEAT_FT_PROBLEM_H
#define OFFBEAT_FT_PROBLEM_H

#include "ft/fft.h"

#include <stdint.h>

/** A class: the grid, the number of backward transforms, and the checksum after each. */
typedef struct {
    const char *name;
    size_t nx, ny, nz; /**< powers of two; x varies fastest in memory and in the sequence of random numbers */
    int iterations;
    const ft_complex *sums; /**< one per iteration; the first is that of t = 1 */
} ft_problem;

/** The class of that name, such as "S"; NULL if there is none. */
const ft_problem *ft_problem_named(const char *name);

/** The names of all classes, for messages. */
#define FT_PROBLEM_NAMES "S, W, A, B, C and D"

/**
 * Whether a sum agrees with the published one: to a relative distance of 1e-12.
 *
 * @param iteration from 1
 * @return 1 or 0; -1 if no sum is published for that iteration
 */
int ft_problem_agrees(const ft_problem *problem, int iteration, ft_complex sum);

/** The seed of FT's random numbers. */
#define FT_SEED UINT64_C(314159265)

/**
 * The next pseudo-random number between 0 and 1: x(k+1) = 5^13 x(k) mod 2^46, divided by 2^46.
 *
 * Source: D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.3.
 */
double ft_random_next(uint64_t *state);

/** The state after @p steps calls of ft_random_next, in logarithmic time. */
uint64_t ft_random_jump(uint64_t state, uint64_t steps);

#endif
