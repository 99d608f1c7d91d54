/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/solver.h"

#include "ft/slabs.h"

#include <math.h>
#include <stdlib.h>

#define ALPHA 1e-6

enum { CHECKSUM_ELEMENTS = 1024 };

/*
 * The processes form a grid. z is divided among its rows; x and y are divided among its columns, one at a
 * time:
 *
 *   transformed along x: [y of this column][z of this row][x]
 *   transformed along y: [y][z of this row][x of this column]
 *   transformed along z: [y of this row][z][x of this column]
 *
 * A transpose within a row leads from the first to the second, one within a column from the second to the
 * third.
 */
struct ft_solver {
    const ft_problem *problem;
    int has_xy, has_yz;     /* which transposes are called: not those of a process with itself */
    ft_slabs xy, yz;        /* of the transposes within a row and within a column */
    size_t first_x, nx;     /* of this column, after the transpose of x and y */
    size_t first_y, ny;     /* of this column, before it */
    size_t first_z, nz;     /* of this row, before the transpose of y and z */
    size_t first_y_z, ny_z; /* y of this row, after it */
    ft_plan *along_x, *along_y, *along_z;
    ft_complex *spectrum; /* of the initial state, transformed along all three */
    ft_complex *data;     /* what is transformed, and the received blocks */
    ft_complex *other;    /* the blocks to send, and then the data after the transpose */
    double *decay_x, *decay_y, *decay_z;
};

/* All rows and columns of the process grid use the block of the largest part. */
static ft_slabs slabs_xy(const ft_problem *problem, int rows, int columns, int rank) {
    return ft_slabs_with_blocks((ft_slabs){.planes = problem->ny,
                                           .depth = ft_part_largest(problem->nz, rows),
                                           .columns = problem->nx,
                                           .width = 1,
                                           .p = columns,
                                           .rank = rank});
}

static ft_slabs slabs_yz(const ft_problem *problem, int rows, int columns, int rank) {
    return ft_slabs_with_blocks((ft_slabs){.planes = problem->ny,
                                           .depth = 1,
                                           .columns = problem->nz,
                                           .width = ft_part_largest(problem->nx, columns),
                                           .p = rows,
                                           .rank = rank});
}

/* Which transposes are called: not that of a process with itself, but one in any case. */
static int transposes_xy(int columns) {
    return columns > 1;
}

static int transposes_yz(int rows, int columns) {
    return rows > 1 || columns == 1;
}

size_t ft_solver_largest_block(const ft_problem *problem, int rows, int columns) {
    size_t xy = transposes_xy(columns) ? slabs_xy(problem, rows, columns, 0).block : 0;
    size_t yz = transposes_yz(rows, columns) ? slabs_yz(problem, rows, columns, 0).block : 0;
    return xy > yz ? xy : yz;
}

static void distribute(ft_solver *s, const ft_job *job) {
    const ft_problem *problem = s->problem;
    int row = job->rank / job->columns, column = job->rank % job->columns;
    s->has_xy = transposes_xy(job->columns);
    s->has_yz = transposes_yz(job->rows, job->columns);
    s->first_x = ft_part_first(problem->nx, job->columns, column);
    s->nx = ft_part_size(problem->nx, job->columns, column);
    s->first_y = ft_part_first(problem->ny, job->columns, column);
    s->ny = ft_part_size(problem->ny, job->columns, column);
    s->first_z = ft_part_first(problem->nz, job->rows, row);
    s->nz = ft_part_size(problem->nz, job->rows, row);
    s->first_y_z = ft_part_first(problem->ny, job->rows, row);
    s->ny_z = ft_part_size(problem->ny, job->rows, row);
    s->xy = slabs_xy(problem, job->rows, job->columns, column);
    s->yz = slabs_yz(problem, job->rows, job->columns, row);
    s->xy.depth = s->nz;
    s->yz.width = s->nx;
}

ft_solver *ft_solver_create(const ft_problem *problem, const ft_job *job) {
    ft_solver *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->problem = problem;
    distribute(s, job);
    size_t xy = ft_slabs_elements(&s->xy), yz = ft_slabs_elements(&s->yz), elements = xy > yz ? xy : yz;
    s->along_x = ft_plan_create(problem->nx);
    s->along_y = ft_plan_create(problem->ny);
    s->along_z = ft_plan_create(problem->nz);
    s->spectrum = calloc(elements, sizeof *s->spectrum);
    s->data = calloc(elements, sizeof *s->data);
    s->other = calloc(elements, sizeof *s->other);
    s->decay_x = calloc(problem->nx, sizeof *s->decay_x);
    s->decay_y = calloc(problem->ny, sizeof *s->decay_y);
    s->decay_z = calloc(problem->nz, sizeof *s->decay_z);
    if (s->along_x && s->along_y && s->along_z && s->spectrum && s->data && s->other && s->decay_x &&
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
    free(s->data);
    free(s->other);
    free(s->decay_x);
    free(s->decay_y);
    free(s->decay_z);
    free(s);
}

static void swap(ft_complex **a, ft_complex **b) {
    ft_complex *swapped = *a;
    *a = *b;
    *b = swapped;
}

/* One sequence of random numbers fills the whole grid, x first, then y: each process jumps to its own lines.
 */
static void draw_initial_state(ft_solver *s) {
    ft_complex *element = s->data;
    for (size_t y = s->first_y; y < s->first_y + s->ny; y++)
        for (size_t z = s->first_z; z < s->first_z + s->nz; z++) {
            uint64_t drawn = 2 * (uint64_t)s->problem->nx * (z * s->problem->ny + y);
            uint64_t state = ft_random_jump(FT_SEED, drawn);
            for (size_t x = 0; x < s->problem->nx; x++, element++) {
                element->re = ft_random_next(&state);
                element->im = ft_random_next(&state);
            }
        }
}

static void transform_along_x(const ft_solver *s, ft_direction direction) {
    ft_transform(s->along_x, direction, s->data, 1, s->ny * s->nz, s->problem->nx);
}

static void transform_along_y(const ft_solver *s, ft_direction direction) {
    ft_transform(s->along_y, direction, s->data, s->nz * s->nx, s->nz * s->nx, 1);
}

static void transform_along_z(const ft_solver *s, ft_direction direction) {
    for (size_t y = 0; y < s->ny_z; y++)
        ft_transform(s->along_z, direction, s->data + y * s->problem->nz * s->nx, s->nx, s->nx, 1);
}

/* Sends the blocks in `other` to the other ranks, and receives theirs in `data`. */
static void exchange(ft_solver *s, ft_job *job, ft_run *run, ft_site site, const ft_slabs *slabs) {
    double ready_s = MPI_Wtime();
    ft_delay(run->delay_s, run->by);
    double arrived_s = MPI_Wtime();
    ft_alltoall(job, site, s->other, s->data, slabs->block);
    run->times.delay_s += arrived_s - ready_s;
    run->times.alltoall_s += MPI_Wtime() - arrived_s;
}

static void slab_to_pencils(ft_solver *s, ft_job *job, ft_run *run, ft_site site, const ft_slabs *slabs) {
    ft_slab_to_blocks(slabs, s->data, s->other);
    exchange(s, job, run, site, slabs);
    ft_blocks_to_pencils(slabs, s->data, s->other);
    swap(&s->data, &s->other);
}

static void pencils_to_slab(ft_solver *s, ft_job *job, ft_run *run, ft_site site, const ft_slabs *slabs) {
    ft_pencils_to_blocks(slabs, s->data, s->other);
    exchange(s, job, run, site, slabs);
    ft_blocks_to_slab(slabs, s->data, s->other);
    swap(&s->data, &s->other);
}

/* Transforms the initial state in `data` to its spectrum. */
static void transform_forward(ft_solver *s, ft_job *job, ft_run *run) {
    transform_along_x(s, FT_FORWARD);
    if (s->has_xy)
        slab_to_pencils(s, job, run, FT_TRANSPOSE_XY, &s->xy);
    transform_along_y(s, FT_FORWARD);
    if (s->has_yz)
        pencils_to_slab(s, job, run, FT_TRANSPOSE_YZ, &s->yz);
    transform_along_z(s, FT_FORWARD);
    swap(&s->data, &s->spectrum);
}

/* Transforms the spectrum in `data` to the grid. */
static void transform_backward(ft_solver *s, ft_job *job, ft_run *run) {
    transform_along_z(s, FT_BACKWARD);
    if (s->has_yz)
        slab_to_pencils(s, job, run, FT_TRANSPOSE_YZ, &s->yz);
    transform_along_y(s, FT_BACKWARD);
    if (s->has_xy)
        pencils_to_slab(s, job, run, FT_TRANSPOSE_XY, &s->xy);
    transform_along_x(s, FT_BACKWARD);
}

/* exp(-4 alpha pi^2 k^2 t) for the wave numbers of one dimension; the upper half of them is negative. */
static void fill_decay(double *decay, size_t n, int t) {
    const double pi = acos(-1.0);
    for (size_t i = 0; i < n; i++) {
        double k = i < n / 2 ? (double)i : (double)n - (double)i;
        decay[i] = exp(-4.0 * ALPHA * pi * pi * k * k * t);
    }
}

/* Computes the spectrum at time t in `data`, always from the initial one, so that errors do not accumulate.
 */
static void evolve(ft_solver *s, int t) {
    size_t at = 0;
    fill_decay(s->decay_x, s->problem->nx, t);
    fill_decay(s->decay_y, s->problem->ny, t);
    fill_decay(s->decay_z, s->problem->nz, t);
    for (size_t y = s->first_y_z; y < s->first_y_z + s->ny_z; y++)
        for (size_t z = 0; z < s->problem->nz; z++)
            for (size_t x = s->first_x; x < s->first_x + s->nx; x++, at++) {
                double decay = s->decay_x[x] * s->decay_y[y] * s->decay_z[z];
                s->data[at].re = s->spectrum[at].re * decay;
                s->data[at].im = s->spectrum[at].im * decay;
            }
}

/* This process's part of the checksum. Dividing by the number of elements normalises the backward
 * transform. */
static ft_complex part_of_sum(const ft_solver *s) {
    const ft_problem *problem = s->problem;
    double elements = (double)problem->nx * (double)problem->ny * (double)problem->nz;
    ft_complex sum = {0.0, 0.0};
    for (size_t j = 1; j <= CHECKSUM_ELEMENTS; j++) {
        size_t x = j % problem->nx, y = 3 * j % problem->ny, z = 5 * j % problem->nz;
        if (y < s->first_y || y >= s->first_y + s->ny || z < s->first_z || z >= s->first_z + s->nz)
            continue;
        const ft_complex *element = s->data + ((y - s->first_y) * s->nz + z - s->first_z) * problem->nx + x;
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
