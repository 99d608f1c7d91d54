/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/solver.h"

#include "ft/slabs.h"

#include <math.h>
#include <stdlib.h>

#define ALPHA 1e-6

enum { CHECKSUM_ELEMENTS = 1024 };

struct ft_solver {
    const ft_problem *problem;
    ft_slabs slabs;
    ft_plan *along_x, *along_y, *along_z;
    ft_complex *spectrum; /* of the initial state, as pencils */
    ft_complex
        *received;    /* the initial state, the present spectrum, and the blocks that MPI_Alltoall received */
    ft_complex *sent; /* the blocks to send, and the grid after the backward transform */
    double *decay_x, *decay_y, *decay_z;
};

ft_solver *ft_solver_create(const ft_problem *problem, int p, int rank) {
    ft_solver *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->problem = problem;
    s->slabs = ft_slabs_create(problem->nz, problem->nx * problem->ny, p, rank);
    s->along_x = ft_plan_create(problem->nx);
    s->along_y = ft_plan_create(problem->ny);
    s->along_z = ft_plan_create(problem->nz);
    s->spectrum = calloc(ft_slabs_elements(&s->slabs), sizeof *s->spectrum);
    s->received = calloc(ft_slabs_elements(&s->slabs), sizeof *s->received);
    s->sent = calloc(ft_slabs_elements(&s->slabs), sizeof *s->sent);
    s->decay_x = calloc(problem->nx, sizeof *s->decay_x);
    s->decay_y = calloc(problem->ny, sizeof *s->decay_y);
    s->decay_z = calloc(problem->nz, sizeof *s->decay_z);
    if (s->along_x && s->along_y && s->along_z && s->spectrum && s->received && s->sent && s->decay_x &&
        s->decay_y && s->decay_z)
        return s;
    ft_solver_free(s);
    return NULL;
}

void ft_solver_free(ft_solver *s) {
    if (s == NULL)
        return;
    ft_plan_free(s->along_x);
    ft_plan_free(s->along_y);
    ft_plan_free(s->along_z);
    free(s->spectrum);
    free(s->received);
    free(s->sent);
    free(s->decay_x);
    free(s->decay_y);
    free(s->decay_z);
    free(s);
}

static size_t own_planes(const ft_solver *s) {
    return ft_part_size(s->slabs.planes, s->slabs.p, s->slabs.rank);
}

static size_t own_columns(const ft_solver *s) {
    return ft_part_size(s->slabs.columns, s->slabs.p, s->slabs.rank);
}

/* One sequence of random numbers fills the whole grid: each process starts at its own first plane. */
static void draw_initial_state(ft_solver *s) {
    size_t first = ft_part_first(s->slabs.planes, s->slabs.p, s->slabs.rank) * s->slabs.columns;
    uint64_t state = ft_random_jump(FT_SEED, 2 * (uint64_t)first);
    for (size_t i = 0; i < own_planes(s) * s->slabs.columns; i++) {
        s->received[i].re = ft_random_next(&state);
        s->received[i].im = ft_random_next(&state);
    }
}

static void transform_planes(const ft_solver *s, ft_direction direction, ft_complex *slab) {
    size_t nx = s->problem->nx, ny = s->problem->ny;
    ft_transform(s->along_x, direction, slab, 1, own_planes(s) * ny, nx);
    for (size_t z = 0; z < own_planes(s); z++)
        ft_transform(s->along_y, direction, slab + z * s->slabs.columns, nx, nx, 1);
}

static void transform_pencils(const ft_solver *s, ft_direction direction, ft_complex *pencils) {
    ft_transform(s->along_z, direction, pencils, own_columns(s), own_columns(s), 1);
}

/* Sends the blocks in `sent` to the other ranks, and receives theirs in `received`. */
static void exchange(ft_solver *s, ft_job *job, ft_run *run) {
    double ready_s = MPI_Wtime();
    ft_delay(run->delay_s, run->by);
    double arrived_s = MPI_Wtime();
    ft_alltoall(job, FT_TRANSPOSE, s->sent, s->received, s->slabs.block);
    run->times.delay_s += arrived_s - ready_s;
    run->times.alltoall_s += MPI_Wtime() - arrived_s;
}

/* Transforms the initial state in `received` to its spectrum. */
static void transform_forward(ft_solver *s, ft_job *job, ft_run *run) {
    transform_planes(s, FT_FORWARD, s->received);
    ft_slab_to_blocks(&s->slabs, s->received, s->sent);
    exchange(s, job, run);
    ft_blocks_to_pencils(&s->slabs, s->received, s->spectrum);
    transform_pencils(s, FT_FORWARD, s->spectrum);
}

/* Transforms the spectrum in `received` to the grid in `sent`. */
static void transform_backward(ft_solver *s, ft_job *job, ft_run *run) {
    transform_pencils(s, FT_BACKWARD, s->received);
    ft_pencils_to_blocks(&s->slabs, s->received, s->sent);
    exchange(s, job, run);
    ft_blocks_to_slab(&s->slabs, s->received, s->sent);
    transform_planes(s, FT_BACKWARD, s->sent);
}

/* exp(-4 alpha pi^2 k^2 t) for the wave numbers of one dimension; the upper half of them is negative. */
static void fill_decay(double *decay, size_t n, int t) {
    const double pi = acos(-1.0);
    for (size_t i = 0; i < n; i++) {
        double k = i < n / 2 ? (double)i : (double)n - (double)i;
        decay[i] = exp(-4.0 * ALPHA * pi * pi * k * k * t);
    }
}

/* Computes the spectrum at time t in `received`, always from the initial one, so that errors do not
 * accumulate. */
static void evolve(ft_solver *s, int t) {
    size_t nx = s->problem->nx, width = own_columns(s);
    size_t first = ft_part_first(s->slabs.columns, s->slabs.p, s->slabs.rank);
    fill_decay(s->decay_x, s->problem->nx, t);
    fill_decay(s->decay_y, s->problem->ny, t);
    fill_decay(s->decay_z, s->problem->nz, t);
    for (size_t z = 0; z < s->slabs.planes; z++)
        for (size_t column = 0; column < width; column++) {
            size_t x = (first + column) % nx, y = (first + column) / nx, at = z * width + column;
            double decay = s->decay_x[x] * s->decay_y[y] * s->decay_z[z];
            s->received[at].re = s->spectrum[at].re * decay;
            s->received[at].im = s->spectrum[at].im * decay;
        }
}

/* This process's part of the checksum. Dividing by the number of elements normalises the backward
 * transform. */
static ft_complex part_of_sum(const ft_solver *s) {
    const ft_problem *problem = s->problem;
    size_t first = ft_part_first(s->slabs.planes, s->slabs.p, s->slabs.rank);
    double elements = (double)s->slabs.planes * (double)s->slabs.columns;
    ft_complex sum = {0.0, 0.0};
    for (size_t j = 1; j <= CHECKSUM_ELEMENTS; j++) {
        size_t x = j % problem->nx, y = 3 * j % problem->ny, z = 5 * j % problem->nz;
        if (z < first || z >= first + own_planes(s))
            continue;
        const ft_complex *element = s->sent + (z - first) * s->slabs.columns + y * problem->nx + x;
        sum.re += element->re / elements;
        sum.im += element->im / elements;
    }
    return sum;
}

void ft_solve(ft_solver *s, ft_job *job, ft_run *run) {
    run->times = (ft_times){0};
    ft_barrier(job, FT_START);
    double start_s = MPI_Wtime();
    draw_initial_state(s);
    transform_forward(s, job, run);
    for (int t = 1; t <= run->iterations; t++) {
        evolve(s, t);
        transform_backward(s, job, run);
        ft_complex sum = ft_sum(job, FT_CHECKSUM, part_of_sum(s));
        if (job->rank == 0)
            run->progress(run->context, t, sum);
    }
    run->times.total_s = MPI_Wtime() - start_s;
}
