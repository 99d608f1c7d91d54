/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file solver.h
 * The benchmark itself: a heat equation on a periodic grid, solved by Fourier transforms.
 *
 * Specification: D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.2.4. A grid of
 * pseudo-random complex numbers is transformed once. For t = 1, 2, ... the amplitude of wave number k is
 * multiplied by exp(-4 alpha pi^2 |k|^2 t), alpha = 1e-6, the grid is transformed back, and 1,024 of its
 * elements are added up.
 */
#ifndef OFFBEAT_FT_SOLVER_H
#define OFFBEAT_FT_SOLVER_H

#include "ft/calls.h"
#include "ft/imbalance.h"
#include "ft/problem.h"

/** What one process spent on a run. */
typedef struct {
    double total_s, alltoall_s, delay_s; /**< the last two are parts of the first */
} ft_times;

/** One run: what is wished, and what came of it. */
typedef struct {
    int iterations;
    double delay_s; /**< of this rank, before every transpose */
    ft_delay_by by;
    void (*progress)(void *context, int iteration, ft_complex sum); /**< called at rank 0 */
    void *context;
    ft_times times;
} ft_run;

/** A process's part of the grid, with all that its transforms need. */
typedef struct ft_solver ft_solver;

/** @return NULL when memory is short. Not collective. */
ft_solver *ft_solver_create(const ft_problem *problem, int p, int rank);

/** Frees a solver; NULL is allowed. */
void ft_solver_free(ft_solver *solver);

/** Bytes that a solver of any rank takes, about. */
double ft_solver_bytes(const ft_problem *problem, int p);

/** Solves the problem from the start. Collective: 1 + iterations transposes, and a sum an iteration. */
void ft_solve(ft_solver *solver, ft_job *job, ft_run *run);

#endif
