/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file random.h
 * The pseudo-random numbers of the NAS Parallel Benchmarks: x(k+1) = 5^13 x(k) mod 2^46, read as x / 2^46.
 *
 * Source: D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.3.
 */
#ifndef OFFBEAT_FT_RANDOM_H
#define OFFBEAT_FT_RANDOM_H

#include <stdint.h>

/** The seed of the benchmark FT. */
#define FT_SEED UINT64_C(314159265)

/** The state after @p steps further numbers, in time that grows with the logarithm of @p steps. */
uint64_t ft_random_jump(uint64_t state, uint64_t steps);

/** Moves on by one and returns the new number, between 0 and 1. */
double ft_random_next(uint64_t *state);

#endif
