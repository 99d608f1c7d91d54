/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cavity.c
 * The flow in a box below a moving lid, by the lattice Boltzmann method. Processes have planes of the lattice
 * and exchange populations with the processes below and above; an optional MPI_Allreduce checks the mass.
 */
#include "cavity/lattice.h"
#include "frame/report.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

typedef struct settings {
    int cells[DIMENSIONS], steps, span, collective_step, work, profile;
    double reynolds, lid_velocity;
} settings;

typedef struct run {
    const program *program;
    const settings *settings;
    lattice lattice;
    double *sent[2], *received[2]; /**< by neighbour: below, above */
    int neighbour[2];              /**< ranks, or MPI_PROC_NULL */
    timing timing;
    double mass_before; /**< the sum of the density differences at the beginning, of all processes */
} run;

/* Exchanges the populations that cross to the processes below (0) and above (1). */
static void exchange(run *r) {
    lattice *l = &r->lattice;
    const int count = 5 * l->flow.cells[X] * l->flow.cells[Y];
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++)
        if (r->neighbour[side] != MPI_PROC_NULL)
            lattice_pack(l, 2 * side - 1, r->sent[side]);
    timing_enter(&r->timing, HALO_EXCHANGE);
    for (int side = 0; side < 2; side++)
        MPI_Isend(r->sent[side], count, MPI_DOUBLE, r->neighbour[side], side, MPI_COMM_WORLD,
                  &requests[side]);
    for (int side = 0; side < 2; side++)
        MPI_Irecv(r->received[side], count, MPI_DOUBLE, r->neighbour[side], 1 - side, MPI_COMM_WORLD,
                  &requests[2 + side]);
    for (int i = 0; i < 4; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    timing_enter(&r->timing, COMPUTATION);
    for (int side = 0; side < 2; side++)
        if (r->neighbour[side] != MPI_PROC_NULL)
            lattice_unpack(l, 2 * side - 1, r->received[side]);
}

static double sum_of_all(double own) {
    double sum;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* How much mass was lost or gained, relative to the whole mass: one for each cell. */
static double mass_error(const run *r, double density_differences) {
    const int *cells = r->settings->cells;
    return fabs(density_differences - r->mass_before) / ((double)cells[X] * cells[Y] * cells[Z]);
}

/* The larger of two errors; not a number if one is, as in an unstable flow. */
static double worse(double one, double other) {
    return isnan(one) || one > other ? one : other;
}

/* @return the largest mass error that was found by the collective checks */
static double iterate(run *r) {
    const int collective_step = r->settings->collective_step;
    double worst = 0;
    timing_start(&r->timing);
    for (int step = 1; step <= r->settings->steps; step++) {
        const int is_checked = collective_step > 0 && step % collective_step == 0;
        timing_iteration(&r->timing);
        const double mass = lattice_stream_collide(&r->lattice, is_checked);
        lattice_bounce(&r->lattice);
        exchange(r);
        lattice_wrap(&r->lattice);
        if (is_checked) {
            timing_enter(&r->timing, COLLECTIVE);
            worst = worse(worst, mass_error(r, sum_of_all(mass)));
            timing_enter(&r->timing, COMPUTATION);
        }
        lattice_advance(&r->lattice);
    }
    timing_stop(&r->timing);
    return worst;
}

/* --- the report --- */

/* The mean of a velocity over the one or two cells, in each of two directions, that are beside a centreline.
 * Planes of other processes count as 0, so that the sum over the processes is the velocity. */
static double centreline_velocity(const run *r, const int place[DIMENSIONS], int component) {
    const cavity *f = &r->lattice.flow;
    double sum = 0;
    int cells = 0, from[DIMENSIONS], to[DIMENSIONS];
    for (int d = 0; d < DIMENSIONS; d++) {
        from[d] = place[d] < 0 ? (f->cells[d] - 1) / 2 : place[d];
        to[d] = place[d] < 0 ? f->cells[d] / 2 : place[d];
    }
    for (int z = from[Z]; z <= to[Z]; z++)
        for (int y = from[Y]; y <= to[Y]; y++)
            for (int x = from[X]; x <= to[X]; x++, cells++)
                if (z >= f->first_z && z < f->first_z + f->planes)
                    sum += lattice_velocity(&r->lattice, x, y, z - f->first_z, component);
    return sum / cells;
}

/* The velocity in direction `component` along the centreline in direction `along`. Collective; the columns
 * are complete on rank 0. */
static table profile(const run *r, const char *name, int along, int component) {
    const int n = r->settings->cells[along];
    double *places = program_allocate((size_t)n, sizeof *places),
           *own = program_allocate((size_t)n, sizeof *own),
           *velocities = program_allocate((size_t)n, sizeof *velocities);
    for (int i = 0; i < n; i++) {
        int place[DIMENSIONS] = {-1, -1, -1};
        place[along] = i;
        places[i] = (i + 0.5) / n;
        own[i] = centreline_velocity(r, place, component);
    }
    MPI_Reduce(own, velocities, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    free(own);
    return (table){.name = name,
                   .columns = {along == X ? "x" : "z", component == X ? "u" : "w"},
                   .rows = n,
                   .values = {places, velocities}};
}

static void free_tables(report *out) {
    for (int i = 0; i < out->tables; i++)
        for (int column = 0; column < 2; column++)
            free((void *)out->table[i].values[column]);
}

static int print_run(run *r, double worst_checked) {
    const settings *s = r->settings;
    const double largest_error = 1e-12, sites = (double)s->cells[X] * s->cells[Y] * s->cells[Z];
    const double error = worse(worst_checked, mass_error(r, sum_of_all(lattice_mass(&r->lattice))));
    report out = {.rate_unit = "MLUP/s",
                  .work = sites * s->steps / 1e6,
                  .checksum = checksum_of_all(lattice_checksum(&r->lattice)),
                  .verified = "the mass is conserved"};
    const double flops = lattice_flops(&r->lattice.flow);
    report_add_result(&out, "mass_error", "mass lost or gained, relative", error);
    report_add_result(&out, "flop_per_site", "floating-point operations for each lattice site", flops);
    report_add_result(&out, "flop_per_byte", "operations for each byte of memory traffic",
                      flops / LATTICE_BYTES);
    if (!(error <= largest_error))
        out.failure = isfinite(error) ? "the mass is not conserved"
                                      : "the flow is unstable: choose more cells, or a lower Reynolds number";
    if (s->profile) {
        report_add_table(&out, profile(r, "vertical_centreline", Z, X));
        report_add_table(&out, profile(r, "horizontal_centreline", X, Z));
    }
    const int status = report_print(&out, r->program, &r->timing);
    free_tables(&out);
    return status;
}

/* --- the program --- */

static void create(run *r) {
    const settings *s = r->settings;
    const int p = r->program->processes, rank = r->program->rank;
    const int64_t nz = s->cells[Z];
    const int first_z = (int)(nz * rank / p);
    const cavity flow = {.cells = {s->cells[X], s->cells[Y], s->cells[Z]},
                         .first_z = first_z,
                         .planes = (int)(nz * (rank + 1) / p) - first_z,
                         .is_periodic = s->span,
                         .lid_velocity = s->lid_velocity,
                         .omega = 1 / (3 * s->lid_velocity * s->cells[X] / s->reynolds + 0.5),
                         .work = s->work};
    lattice_create(&r->lattice, &flow);
    for (int side = 0; side < 2; side++) {
        const size_t count = 5 * (size_t)s->cells[X] * (size_t)s->cells[Y];
        r->sent[side] = program_allocate(count, sizeof *r->sent[side]);
        r->received[side] = program_allocate(count, sizeof *r->received[side]);
    }
    r->neighbour[0] = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    r->neighbour[1] = rank < p - 1 ? rank + 1 : MPI_PROC_NULL;
    r->mass_before = sum_of_all(lattice_mass(&r->lattice));
}

static int run_cavity(const program *p, void *context) {
    const settings *s = context;
    if (s->cells[Z] < p->processes)
        return program_refuse(p, "--nz %d is too small: each of the %d processes needs a plane", s->cells[Z],
                              p->processes);
    if (5.0 * s->cells[X] * s->cells[Y] > 2147483647.0)
        return program_refuse(
            p, "--nx %d and --ny %d are too large: a message has 5 nx ny numbers, at most 2^31 - 1",
            s->cells[X], s->cells[Y]);
    run r = {.program = p, .settings = s};
    create(&r);
    const int status = print_run(&r, iterate(&r));
    for (int side = 0; side < 2; side++) {
        free(r.sent[side]);
        free(r.received[side]);
    }
    lattice_free(&r.lattice);
    return status;
}

int main(int argc, char **argv) {
    settings s = {.cells = {48, 48, 48}, .steps = 100, .work = 1, .reynolds = 100, .lid_velocity = 0.1};
    program p = {.name = "cavity"};
    const option options[] = {
        {"--nx", OPTION_INTEGER, &s.cells[X], 1, 100000, NULL,
         "cells in x, the direction of the lid's movement"},
        {"--ny", OPTION_INTEGER, &s.cells[Y], 1, 100000, NULL, "cells in y"},
        {"--nz", OPTION_INTEGER, &s.cells[Z], 1, 1000000, NULL,
         "cells in z, which is divided among the processes"},
        {"--steps", OPTION_INTEGER, &s.steps, 1, 1e9, NULL, "time steps"},
        {"--reynolds", OPTION_REAL, &s.reynolds, 1e-3, 1e6, NULL,
         "Reynolds number, of the lid's velocity and nx"},
        {"--lid-velocity", OPTION_REAL, &s.lid_velocity, 1e-6, 0.3, NULL, "cells per time step"},
        {"--span", OPTION_CHOICE, &s.span, 0, 0, "walls|periodic", "ends of y"},
        {"--collective-step", OPTION_INTEGER, &s.collective_step, 0, 1e9, NULL,
         "check the mass by MPI_Allreduce every N steps; 0: never"},
        {"--work", OPTION_INTEGER, &s.work, 1, 10000, NULL,
         "compute each collision N times: the same result and messages, N times the arithmetic"},
        {"--profile", OPTION_FLAG, &s.profile, 0, 0, NULL, "print the velocities on the centrelines"},
        OPTION_JSON(p),
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    p.purpose = "The flow below a moving lid, by the lattice Boltzmann method (D3Q19, BGK): limited by "
                "memory bandwidth;\n"
                "with --work 13 by arithmetic.";
    p.options = options;
    return program_main(&p, argc, argv, run_cavity, &s);
}
