/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file regions.c
 * A shock wave in a gas whose elements belong to regions of different costs, after the structure of LULESH:
 * in each iteration the equation of state region by region, an allreduce of the time step, and two halo
 * exchanges.
 */
#include "frame/report.h"
#include "regions/gas.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

typedef struct settings {
    int elements[DIMENSIONS], steps, problem, profile;
    double imbalance_percent;
    region_settings regions;
} settings;

static double sum_of_all(double own) {
    double sum;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Exchanges a group of fields for each direction, or, if their distance is 0, the same group for all. */
static void exchange(gas *g, timing *t, double *groups, size_t distance, double normal_sign) {
    timing_enter(t, HALO_EXCHANGE);
    block_exchange(&g->block, groups, distance);
    timing_enter(t, COMPUTATION);
    for (int d = X; d <= Z; d++)
        block_reflect(&g->block, groups + (size_t)d * distance, d, normal_sign, -normal_sign);
}

static void iterate(gas *g, timing *t, int steps) {
    timing_start(t);
    for (int step = 0; step < steps; step++) {
        timing_iteration(t);
        double time_step = gas_evaluate(g);
        timing_enter(t, COLLECTIVE);
        MPI_Allreduce(MPI_IN_PLACE, &time_step, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        timing_enter(t, COMPUTATION);
        exchange(g, t, g->primitive, 0, -1);
        gas_find_slopes(g);
        exchange(g, t, g->slopes, FIELDS * g->block.cells, 1);
        gas_advance(g, time_step);
    }
    timing_stop(t);
}

/* --- the report --- */

/* The density along z in the first column of elements. Collective; complete on rank 0. */
static table profile(const gas *g) {
    const block *b = &g->block;
    const int n = b->elements[Z];
    double *places = program_allocate((size_t)n, sizeof *places),
           *own = program_allocate((size_t)n, sizeof *own),
           *densities = program_allocate((size_t)n, sizeof *densities);
    for (int i = 0; i < n; i++)
        places[i] = (i + 0.5) / n;
    for (int z = 1; b->first[X] == 0 && b->first[Y] == 0 && z <= b->n[Z]; z++)
        own[b->first[Z] + z - 1] = g->conserved[DENSITY * b->cells + block_at(b, 1, 1, z)];
    MPI_Reduce(own, densities, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    free(own);
    return (table){.name = "profile", .columns = {"z", "density"}, .rows = n, .values = {places, densities}};
}

/* The elements of the largest block over their mean, and the same of the evaluations of the equation of
 * state. */
static void find_imbalances(const gas *g, double *of_elements, double *of_evaluations) {
    double own[2] = {0}, sums[2], largest[2];
    int p;
    for (int k = 0; k < g->regions; k++) {
        own[0] += (double)g->region[k].count;
        own[1] += (double)g->region[k].count * g->region[k].repetitions;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Allreduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(own, largest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *of_elements = 100 * (largest[0] * p / sums[0] - 1);
    *of_evaluations = 100 * (largest[1] * p / sums[1] - 1);
}

static int print_run(const program *p, const settings *s, const gas *g, const timing *t,
                     const double before[2]) {
    const double elements = (double)s->elements[X] * s->elements[Y] * s->elements[Z];
    const double largest_error = 1e-12 + 1e-14 * s->steps; // each step rounds every element again
    const double mass_error = fabs(sum_of_all(gas_sum(g, DENSITY)) / before[0] - 1);
    const double energy_error = fabs(sum_of_all(gas_sum(g, ENERGY)) / before[1] - 1);
    double of_elements, of_evaluations;
    report out = {.rate_unit = "Melement/s",
                  .work = elements * s->steps / 1e6,
                  .checksum = checksum_of_all(gas_checksum(g)),
                  .verified = "mass and energy are conserved"};
    find_imbalances(g, &of_elements, &of_evaluations);
    report_add_result(&out, "mass_error", "mass lost or gained, relative", mass_error);
    report_add_result(&out, "energy_error", "energy lost or gained, relative", energy_error);
    report_add_result(&out, "time", "time reached", g->time);
    report_add_result(&out, "element_imbalance_percent",
                      "most elements of a process over the mean, in percent", of_elements);
    report_add_result(&out, "evaluation_imbalance_percent",
                      "most evaluations of the equation of state over the mean, in percent", of_evaluations);
    if (!(mass_error <= largest_error && energy_error <= largest_error))
        out.failure = "mass or energy is not conserved";
    if (s->profile)
        report_add_table(&out, profile(g));
    const int status = report_print(&out, p, t);
    for (int column = 0; column < 2 && out.tables > 0; column++)
        free((void *)out.table[0].values[column]);
    return status;
}

/* --- the program --- */

static int run_regions(const program *p, void *context) {
    const settings *s = context;
    gas g = {0};
    timing t;
    MPI_Comm grid = program_grid(p);
    if (!block_create(&g.block, s->elements, s->imbalance_percent / 100, grid)) {
        MPI_Comm_free(&grid);
        return program_refuse(
            p,
            "--nx %d, --ny %d and --nz %d are too small for %d processes and --imbalance %g: "
            "each process needs an element",
            s->elements[X], s->elements[Y], s->elements[Z], p->processes, s->imbalance_percent);
    }
    gas_create(&g, (problem)s->problem, &s->regions);
    const double before[2] = {sum_of_all(gas_sum(&g, DENSITY)), sum_of_all(gas_sum(&g, ENERGY))};
    iterate(&g, &t, s->steps);
    const int status = print_run(p, s, &g, &t, before);
    gas_free(&g);
    block_free(&g.block);
    MPI_Comm_free(&grid);
    return status;
}

int main(int argc, char **argv) {
    settings s = {.elements = {32, 32, 32}, .steps = 100, .regions = {.regions = 11, .growth = 1, .cost = 1}};
    program p = {.name = "regions"};
    const option options[] = {
        {"--nx", OPTION_INTEGER, &s.elements[X], 1, 100000, NULL, "elements in x"},
        {"--ny", OPTION_INTEGER, &s.elements[Y], 1, 100000, NULL, "elements in y"},
        {"--nz", OPTION_INTEGER, &s.elements[Z], 1, 100000, NULL, "elements in z"},
        {"--steps", OPTION_INTEGER, &s.steps, 1, 1e9, NULL, "time steps"},
        {"--problem", OPTION_CHOICE, &s.problem, 0, 0, "blast|tube", "initial state"},
        {"--imbalance", OPTION_REAL, &s.imbalance_percent, 0, 60, NULL,
         "percent of elements that the largest process has above the mean"},
        {"--regions", OPTION_INTEGER, &s.regions.regions, 1, 1000, NULL, "regions of each process"},
        {"--region-growth", OPTION_INTEGER, &s.regions.growth, 0, 4, NULL,
         "region k = 1, 2, ... has a size of k to the power N; 0: all have the same size"},
        {"--region-cost", OPTION_INTEGER, &s.regions.cost, 0, 1000, NULL,
         "half of the regions cost 1 + N, and one in twenty 10 (1 + N) evaluations of the equation of state"},
        {"--profile", OPTION_FLAG, &s.profile, 0, 0, NULL, "print the density along z"},
        OPTION_JSON(p),
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    p.purpose = "A shock wave in a gas, after the structure of LULESH: regions of different costs, two halo "
                "exchanges and\n"
                "an allreduce of the time step in each iteration, and an imbalance among the processes.";
    p.options = options;
    return program_main(&p, argc, argv, run_regions, &s);
}
