/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file solver.h
 * Conjugate gradients, preconditioned by one multigrid cycle, as in the HPCG benchmark; but the smoother is
 * Jacobi's.
 *
 * HPCG's symmetric Gauss-Seidel sweeps depend on how the grid is divided. Two damped Jacobi sweeps do not,
 * and have nearly the same costs: in a cycle, each level but the coarsest reads its matrix 4 times (HPCG: 5)
 * and exchanges its halo 4 times (3). For this stencil the best damping, 26/27, reduces the errors that a
 * coarse grid cannot show to a third in each sweep.
 */
#ifndef MULTIGRID_SOLVER_H
#define MULTIGRID_SOLVER_H

#include "multigrid/allreduce.h"
#include "multigrid/level.h"

/** A system and the vectors of its solution. */
typedef struct solver {
    level *grid;
    allreduce_algorithm algorithm; /**< of the dot products */
    timing timing;
    double *b, *x, *r, *z, *p, *product;
} solver;

/** Creates the system whose solution is 1 everywhere. */
void solver_create(solver *s, level *grid, allreduce_algorithm algorithm);
void solver_free(solver *s);

/** Solves from x = 0. Each iteration has three dot products. Collective.
 * @param residuals receives for each iteration the norm of the residual over that of b
 * @return the iterations that were done: fewer than wanted if the residual became 0 */
int solver_solve(solver *s, int iterations, double *residuals);

/** The residual that b - A x has, over the norm of b; the solver computes its own from that of the iteration
 * before. */
double solver_true_residual(solver *s);

/** The largest difference of x from 1. */
double solver_error(const solver *s);

/** For two vectors u, v that have no structure: |u·Mv - v·Mu| / |u·Mv|, of the matrix, and of the
 * preconditioner. */
void solver_asymmetry(solver *s, double *of_matrix, double *of_preconditioner);

/** Floating-point operations of an iteration, of this process. */
double solver_flops(const solver *s);

#endif
