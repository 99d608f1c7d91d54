/* SPDX-License-Identifier: BSD-3-Clause */
#include "multigrid/solver.h"

#include "frame/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(solver *s, const double *u, const double *v) {
    double sum = 0;
    for (int row = 0; row < s->grid->rows; row++)
        sum += u[row] * v[row];
    timing_enter(&s->timing, COLLECTIVE);
    allreduce(s->algorithm, &sum, 1, s->grid->comm);
    timing_enter(&s->timing, COMPUTATION);
    return sum;
}

/* target = u + factor v; the target may be u or v. */
static void combine(const solver *s, const double *u, double factor, const double *v, double *target) {
    for (int row = 0; row < s->grid->rows; row++)
        target[row] = u[row] + factor * v[row];
}

/* --- the preconditioner --- */

/* The damping 26/27 over the diagonal 26. The eigenvalues of the matrix over 26 are between 18/26 and 36/26
 * for waves that a coarse grid cannot show; the damping is 2 over their sum. */
static const double damped_inverse_diagonal = 1.0 / 27;

static void sweep(level *l, timing *t) {
    level_residual(l, l->b, l->x, l->residual, t);
    for (int row = 0; row < l->rows; row++)
        l->x[row] += damped_inverse_diagonal * l->residual[row];
}

/* Two sweeps from x = 0; the first one needs no product. */
static void smooth_first(level *l, timing *t) {
    for (int row = 0; row < l->rows; row++)
        l->x[row] = damped_inverse_diagonal * l->b[row];
    sweep(l, t);
}

/* x ≈ inverse of the matrix × b, by a V-cycle. A coarse cell takes the residual of the first of its eight
 * fine cells and gives its correction to the same cell. */
static void cycle(level *l, timing *t) {
    level *coarse = l->coarse;
    smooth_first(l, t);
    if (!coarse)
        return;
    level_residual(l, l->b, l->x, l->residual, t);
    for (int row = 0; row < coarse->rows; row++)
        coarse->b[row] = l->residual[l->fine_rows[row]];
    cycle(coarse, t);
    for (int row = 0; row < coarse->rows; row++)
        l->x[l->fine_rows[row]] += coarse->x[row];
    sweep(l, t);
    sweep(l, t);
}

static void precondition(solver *s, const double *r, double *z) {
    const size_t bytes = (size_t)s->grid->rows * sizeof *r;
    memcpy(s->grid->b, r, bytes);
    cycle(s->grid, &s->timing);
    memcpy(z, s->grid->x, bytes);
}

/* --- the solver --- */

void solver_create(solver *s, level *grid, allreduce_algorithm algorithm) {
    *s = (solver){.grid = grid, .algorithm = algorithm};
    double **const vectors[] = {&s->b, &s->x, &s->r, &s->z, &s->p, &s->product};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = program_allocate((size_t)grid->length, sizeof **vectors[i]);
    for (int row = 0; row < grid->length; row++)
        s->x[row] = 1;
    level_multiply(grid, s->x, s->b, &s->timing);
}

void solver_free(solver *s) {
    double *const vectors[] = {s->b, s->x, s->r, s->z, s->p, s->product};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        free(vectors[i]);
    level_free(s->grid);
}

int solver_solve(solver *s, int iterations, double *residuals) {
    const double norm = sqrt(dot(s, s->b, s->b));
    double rz_before = 0;
    memset(s->x, 0, (size_t)s->grid->length * sizeof *s->x);
    memcpy(s->r, s->b, (size_t)s->grid->length * sizeof *s->r);
    for (int i = 0; i < iterations; i++) {
        timing_iteration(&s->timing);
        precondition(s, s->r, s->z);
        const double rz = dot(s, s->r, s->z);
        combine(s, s->z, i > 0 ? rz / rz_before : 0, s->p, s->p);
        level_multiply(s->grid, s->p, s->product, &s->timing);
        const double step = rz / dot(s, s->p, s->product);
        combine(s, s->x, step, s->p, s->x);
        combine(s, s->r, -step, s->product, s->r);
        residuals[i] = sqrt(dot(s, s->r, s->r)) / norm;
        rz_before = rz;
        if (residuals[i] == 0)
            return i + 1;
    }
    return iterations;
}

/* Multiplications and additions, 2 for each entry of a matrix that is read; the coarsest level is read once.
 */
double solver_flops(const solver *s) {
    const double product = 2 * STENCIL;
    double flops = s->grid->rows * (product + 3 * 2 + 3 * 2);
    for (const level *l = s->grid; l; l = l->coarse)
        flops += l->rows * (l->coarse ? 4 * (product + 1) + 3 * 2 + 1 : product + 1 + 2 + 1);
    return flops;
}

/* --- verification --- */

double solver_true_residual(solver *s) {
    level_residual(s->grid, s->b, s->x, s->product, &s->timing);
    return sqrt(dot(s, s->product, s->product) / dot(s, s->b, s->b));
}

double solver_error(const solver *s) {
    double largest = 0;
    for (int row = 0; row < s->grid->rows; row++)
        largest = fmax(largest, fabs(s->x[row] - 1));
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, s->grid->comm);
    return largest;
}

/* A number from -1 to 1 for each cell of the grid, by Knuth's multiplicative hash. */
static void fill_without_structure(const level *l, uint64_t seed, double *vector) {
    for (int row = 0; row < l->rows; row++)
        vector[row] = (double)((level_number(l, row) + seed) * 2654435761U % 1000003) / 500001 - 1;
}

/* Overwrites the vectors of the solution. */
void solver_asymmetry(solver *s, double *of_matrix, double *of_preconditioner) {
    double *u = s->x, *v = s->p;
    fill_without_structure(s->grid, 1, u);
    fill_without_structure(s->grid, 777, v);
    level_multiply(s->grid, v, s->product, &s->timing);
    level_multiply(s->grid, u, s->z, &s->timing);
    const double uAv = dot(s, u, s->product), vAu = dot(s, v, s->z);
    *of_matrix = fabs(uAv - vAu) / fabs(uAv);
    precondition(s, v, s->product);
    precondition(s, u, s->z);
    const double uMv = dot(s, u, s->product), vMu = dot(s, v, s->z);
    *of_preconditioner = fabs(uMv - vMu) / fabs(uMv);
}
