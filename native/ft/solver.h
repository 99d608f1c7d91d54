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

/** Times of one process. */
typedef struct {
    double total_s, alltoall_s, delay_s; /**< the total includes the other two */
} ft_times;

/** Parameters and result of one run. */
typedef struct {
    int iterations;
    double delay_s; /**< of this rank, before every transpose */
    ft_delay_by by;
    void (*progress)(void *context, int iteration, ft_complex sum); /**< called on rank 0 */
    void *context;
    ft_times times; /**< result */
} ft_run;

/** A process's part of the grid, and the buffers of its transforms. */
typedef struct ft_solver ft_solver;

/** @return NULL without memory. Local. */
ft_solver *ft_solver_create(const ft_problem *problem, const ft_job *job);

/** The number of elements that a process sends to another in the larger of the transposes that are called. */
size_t ft_solver_largest_block(const ft_problem *problem, int rows, int columns);

/** Frees a solver; NULL is allowed. */
void ft_solver_free(ft_solver *solver);

/** Solves the problem from the initial state. Collective: 1 + iterations transforms of one transpose, or of
 * two on a process grid of several rows and columns, and one sum per iteration. */
void ft_solve(ft_solver *solver, ft_job *job, ft_run *run);

#endif
