/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file multigrid.c
 * Conjugate gradients with a multigrid preconditioner, after the structure of the HPCG benchmark. The
 * algorithm of the dot products' allreduce is an option.
 */
#include "frame/report.h"
#include "multigrid/solver.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

enum { MOST_LEVELS = 4 };

typedef struct settings {
    int n[DIMENSIONS], levels, iterations, solves, algorithm, history;
} settings;

/* How often all sizes can be halved, and at least one cell remains. */
static int most_levels(const int n[DIMENSIONS]) {
    int levels = 1;
    for (int size = 2; levels < MOST_LEVELS; size *= 2, levels++)
        for (int d = X; d <= Z; d++)
            if (n[d] % size != 0)
                return levels;
    return levels;
}

/* What is wrong with the solution; NULL: nothing. */
static const char *judge(const report *r, double residual, double true_residual,
                         int allreduce_is_as_library) {
    const double asymmetry = 1e-10, difference = 1e-10;
    if (!allreduce_is_as_library)
        return "the allreduce does not compute what MPI_Allreduce computes";
    if (!(fabs(true_residual - residual) <= difference))
        return "the residual of the solution is not what the iterations say";
    if (!(residual < 1))
        return "the iterations do not converge";
    if (!(r->result[2].value <= asymmetry))
        return "the matrix is not symmetric";
    if (!(r->result[3].value <= asymmetry))
        return "the preconditioner is not symmetric";
    return NULL;
}

static int print_run(const program *p, const settings *s, solver *solver, const double *residuals, int last) {
    const timing measured = solver->timing;
    double *numbers = program_allocate((size_t)last, sizeof *numbers);
    const double true_residual = solver_true_residual(solver);
    double of_matrix, of_preconditioner, flops = solver_flops(solver) * (double)measured.iterations;
    report out = {.rate_unit = "GFLOP/s", .verified = "residual, symmetry and allreduce are right"};
    MPI_Allreduce(MPI_IN_PLACE, &flops, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    out.work = flops / 1e9;
    report_add_result(&out, "residual", "norm of the residual, relative", true_residual);
    report_add_result(&out, "error", "largest difference from the solution", solver_error(solver));
    solver_asymmetry(solver, &of_matrix, &of_preconditioner);
    report_add_result(&out, "matrix_asymmetry", "asymmetry of the matrix", of_matrix);
    report_add_result(&out, "preconditioner_asymmetry", "asymmetry of the preconditioner", of_preconditioner);
    report_add_result(&out, "levels", "levels of the multigrid", s->levels);
    out.failure = judge(&out, residuals[last - 1], true_residual,
                        allreduce_is_right((allreduce_algorithm)s->algorithm, solver->grid->comm));
    for (int i = 0; i < last; i++)
        numbers[i] = i + 1;
    if (s->history)
        report_add_table(&out, (table){.name = "history",
                                       .columns = {"iteration", "residual"},
                                       .rows = last,
                                       .values = {numbers, residuals}});
    const int status = report_print(&out, p, &measured);
    free(numbers);
    return status;
}

static int run_multigrid(const program *p, void *context) {
    settings *s = context;
    int last = 0;
    if ((double)s->n[X] * s->n[Y] * s->n[Z] > 50e6)
        return program_refuse(
            p, "--nx %d, --ny %d and --nz %d are too large: a process has at most 50 million cells", s->n[X],
            s->n[Y], s->n[Z]);
    if (s->levels > most_levels(s->n))
        return program_refuse(
            p, "--levels %d does not fit: --nx %d, --ny %d and --nz %d must be multiples of %d", s->levels,
            s->n[X], s->n[Y], s->n[Z], 1 << (s->levels - 1));
    if (s->levels == 0)
        s->levels = most_levels(s->n);
    MPI_Comm grid = program_grid(p);
    solver solver;
    solver_create(&solver, level_create(s->n, s->levels - 1, grid), (allreduce_algorithm)s->algorithm);
    double *residuals = program_allocate((size_t)s->iterations, sizeof *residuals);
    timing_start(&solver.timing);
    for (int i = 0; i < s->solves; i++)
        last = solver_solve(&solver, s->iterations, residuals);
    timing_stop(&solver.timing);
    const int status = print_run(p, s, &solver, residuals, last);
    free(residuals);
    solver_free(&solver);
    MPI_Comm_free(&grid);
    return status;
}

int main(int argc, char **argv) {
    settings s = {.n = {32, 32, 32}, .iterations = 50, .solves = 1};
    program p = {.name = "multigrid"};
    const option options[] = {
        {"--nx", OPTION_INTEGER, &s.n[X], 1, 10000, NULL, "cells of each process in x"},
        {"--ny", OPTION_INTEGER, &s.n[Y], 1, 10000, NULL, "cells of each process in y"},
        {"--nz", OPTION_INTEGER, &s.n[Z], 1, 10000, NULL, "cells of each process in z"},
        {"--levels", OPTION_INTEGER, &s.levels, 0, MOST_LEVELS, NULL,
         "grids; 0: as many as the sizes allow, up to 4"},
        {"--iterations", OPTION_INTEGER, &s.iterations, 1, 1e6, NULL, "iterations of a solve"},
        {"--solves", OPTION_INTEGER, &s.solves, 1, 1e6, NULL,
         "solve the system N times, each time from zero"},
        {"--allreduce", OPTION_CHOICE, &s.algorithm, 0, 0, allreduce_names, "algorithm of the dot products"},
        {"--history", OPTION_FLAG, &s.history, 0, 0, NULL, "print the residual of each iteration"},
        OPTION_JSON(p),
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    p.purpose = "Conjugate gradients with a multigrid preconditioner, after the structure of HPCG: a halo "
                "exchange with\n"
                "up to 26 neighbours for each product, and three allreduces of 8 bytes in each iteration.";
    p.options = options;
    return program_main(&p, argc, argv, run_multigrid, &s);
}
