/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pcg64.h
 * The random numbers of numpy.random.Generator(PCG64(seed)).random(), bit by bit: offbeat's shape "random" is
 * drawn with them, and must be the same pattern here.
 *
 * Sources: M. O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
 * Number Generation, 2014 (the generator XSL-RR 128/64); the description of numpy.random.SeedSequence (the
 * seed).
 */
#ifndef OFFBEAT_FT_PCG64_H
#define OFFBEAT_FT_PCG64_H

#include <stdint.h>

__extension__ typedef unsigned __int128 ft_wide; /* no part of C11, and a part of every compiler for MPI */

/** A generator: where it stands, and which of the many sequences it follows. */
typedef struct {
    ft_wide state, increment;
} ft_pcg64;

/** The generator that numpy makes of a seed. */
ft_pcg64 ft_pcg64_seeded(uint64_t seed);

/** Moves on by one and returns the new number, from 0 to below 1. */
double ft_pcg64_next(ft_pcg64 *generator);

#endif
