/* SPDX-License-Identifier: BSD-3-Clause */
#include "cavity/lattice.h"

#include "frame/program.h"
#include "frame/report.h"

#include <stdlib.h>
#include <string.h>

/* Opposite velocities are neighbours: 1 and 2, 3 and 4, ... */
static const int velocity[POPULATIONS][DIMENSIONS] = {
    {0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0}, {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1},
};

/* Not 0: where a flow spreads in a lattice of zeros, its first values are subnormal numbers, which are slow.
 */
static const double initial_density_difference = 1e-4;

static int opposite(int population) {
    return population == 0 ? 0 : ((population - 1) ^ 1) + 1;
}

static double weight(int population) {
    return population == 0 ? 1.0 / 3 : population < 7 ? 1.0 / 18 : 1.0 / 36;
}

static size_t at(const lattice *l, int x, int y, int z) {
    return (size_t)z * l->plane + (size_t)y * l->row + (size_t)x;
}

/* --- walls --- */

typedef enum site { INSIDE, WALL, LID, BEYOND } site;

/* What is at a place: BEYOND is the other end of a periodic Y. Ghost planes of a neighbour are inside. */
static site site_at(const cavity *f, const int place[DIMENSIONS]) {
    const int z = f->first_z + place[Z] - 1;
    const int is_beside = place[X] < 1 || place[X] > f->cells[X];
    const int is_beyond_y = place[Y] < 1 || place[Y] > f->cells[Y];
    if (is_beside || z < 0 || (is_beyond_y && !f->is_periodic))
        return WALL;
    if (z >= f->cells[Z])
        return LID;
    return is_beyond_y ? BEYOND : INSIDE;
}

static void add_link(links *list, link one, int is_counted_only) {
    if (!is_counted_only)
        list->link[list->count] = one;
    list->count++;
}

/* What a population of a cell comes from, if that is not another cell's slot. */
static void link_population(lattice *l, const int cell[DIMENSIONS], int population, int is_counted_only) {
    const int *c = velocity[population];
    int from[DIMENSIONS] = {cell[X] - c[X], cell[Y] - c[Y], cell[Z] - c[Z]};
    const site there = site_at(&l->flow, from);
    link one = {.ghost = (size_t)population * l->cells + at(l, from[X], from[Y], from[Z])};
    if (there == WALL || there == LID) {
        one.from = (size_t)opposite(population) * l->cells + at(l, cell[X], cell[Y], cell[Z]);
        one.added = there == LID ? 6 * weight(population) * c[X] * l->flow.lid_velocity : 0;
        add_link(&l->walls, one, is_counted_only);
    } else if (there == BEYOND) {
        from[Y] = from[Y] < 1 ? l->flow.cells[Y] : 1;
        one.from = (size_t)population * l->cells + at(l, from[X], from[Y], from[Z]);
        add_link(&l->wraps, one, is_counted_only);
    }
}

static void link_all(lattice *l, int is_counted_only) {
    const cavity *f = &l->flow;
    l->walls.count = l->wraps.count = 0;
    for (int z = 1; z <= f->planes; z++)
        for (int y = 1; y <= f->cells[Y]; y++)
            for (int x = 1; x <= f->cells[X]; x++) {
                const int is_boundary =
                    x == 1 || x == f->cells[X] || y == 1 || y == f->cells[Y] || z == 1 || z == f->planes;
                for (int i = 0; is_boundary && i < POPULATIONS; i++)
                    link_population(l, (int[]){x, y, z}, i, is_counted_only);
            }
}

static void set_ghosts(double *populations, const links *list) {
    for (size_t i = 0; i < list->count; i++)
        populations[list->link[i].ghost] = populations[list->link[i].from] + list->link[i].added;
}

void lattice_bounce(lattice *l) {
    set_ghosts(l->next, &l->walls);
}

void lattice_wrap(lattice *l) {
    set_ghosts(l->next, &l->wraps);
}

/* --- memory --- */

void lattice_create(lattice *l, const cavity *flow) {
    *l = (lattice){.flow = *flow};
    l->row = (size_t)flow->cells[X] + 2;
    l->plane = l->row * ((size_t)flow->cells[Y] + 2);
    l->cells = l->plane * ((size_t)flow->planes + 2);
    l->now = program_allocate(l->cells * POPULATIONS, sizeof *l->now);
    l->next = program_allocate(l->cells * POPULATIONS, sizeof *l->next);
    l->moments = program_allocate(5 * (size_t)flow->cells[X], sizeof *l->moments);
    link_all(l, 1);
    l->walls.link = program_allocate(l->walls.count, sizeof *l->walls.link);
    l->wraps.link = program_allocate(l->wraps.count, sizeof *l->wraps.link);
    link_all(l, 0);
    for (int i = 0; i < POPULATIONS; i++)
        for (size_t cell = 0; cell < l->cells; cell++)
            l->next[(size_t)i * l->cells + cell] = weight(i) * initial_density_difference;
    lattice_bounce(l);
    lattice_advance(l);
}

void lattice_free(lattice *l) {
    free(l->now);
    free(l->next);
    free(l->moments);
    free(l->walls.link);
    free(l->wraps.link);
}

void lattice_advance(lattice *l) {
    double *next = l->next;
    l->next = l->now;
    l->now = next;
}

/* --- a step --- */

/* Adds a population of a row of n cells to the density and the velocity. 7 operations a cell. */
static void add_moments(int n, const double *restrict f, const int c[DIMENSIONS], double *restrict moments) {
    double *density = moments, *ux = moments + n, *uy = moments + 2 * n, *uz = moments + 3 * n;
    const double cx = c[X], cy = c[Y], cz = c[Z];
    for (int x = 0; x < n; x++) {
        density[x] += f[x];
        ux[x] += cx * f[x];
        uy[x] += cy * f[x];
        uz[x] += cz * f[x];
    }
}

/* What the equilibria of all populations contain: density - 3/2 velocity². 7 operations a cell. */
static void set_common_part(int n, double *restrict moments) {
    const double *density = moments, *ux = moments + n, *uy = moments + 2 * n, *uz = moments + 3 * n;
    double *common = moments + 4 * n;
    for (int x = 0; x < n; x++)
        common[x] = density[x] - 1.5 * (ux[x] * ux[x] + uy[x] * uy[x] + uz[x] * uz[x]);
}

/* Relaxes a population of a row towards its equilibrium. 13 operations a cell. */
static void relax(int n, int population, double omega, const double *restrict moments,
                  const double *restrict f, double *restrict relaxed) {
    const double *ux = moments + n, *uy = moments + 2 * n, *uz = moments + 3 * n, *common = moments + 4 * n;
    const double w = weight(population), cx = velocity[population][X], cy = velocity[population][Y],
                 cz = velocity[population][Z];
    for (int x = 0; x < n; x++) {
        const double cu = cx * ux[x] + cy * uy[x] + cz * uz[x];
        relaxed[x] = f[x] + omega * (w * (common[x] + cu * (3 + 4.5 * cu)) - f[x]);
    }
}

double lattice_flops(const cavity *flow) {
    return flow->work * (7.0 * POPULATIONS + 7 + 13.0 * POPULATIONS);
}

/* The populations that stream into the row of a cell, and what they become. */
static void stream_collide_row(lattice *l, size_t first) {
    const int n = l->flow.cells[X];
    const double *in[POPULATIONS];
    for (int i = 0; i < POPULATIONS; i++) {
        const int *c = velocity[i];
        const ptrdiff_t distance = c[Z] * (ptrdiff_t)l->plane + c[Y] * (ptrdiff_t)l->row + c[X];
        in[i] = l->now + (size_t)i * l->cells + first - distance;
    }
    for (int repetition = 0; repetition < l->flow.work; repetition++) {
        memset(l->moments, 0, 4 * (size_t)n * sizeof *l->moments);
        for (int i = 0; i < POPULATIONS; i++)
            add_moments(n, in[i], velocity[i], l->moments);
        set_common_part(n, l->moments);
        for (int i = 0; i < POPULATIONS; i++)
            relax(n, i, l->flow.omega, l->moments, in[i], l->next + (size_t)i * l->cells + first);
    }
}

double lattice_stream_collide(lattice *l, int is_sum_needed) {
    double sum = 0;
    for (int z = 1; z <= l->flow.planes; z++)
        for (int y = 1; y <= l->flow.cells[Y]; y++) {
            stream_collide_row(l, at(l, 1, y, z));
            for (int x = 0; is_sum_needed && x < l->flow.cells[X]; x++)
                sum += l->moments[x];
        }
    return sum;
}

/* --- halo --- */

const int *lattice_crossing(int direction) {
    static const int up[] = {5, 11, 14, 15, 18}, down[] = {6, 12, 13, 16, 17};
    return direction > 0 ? up : down;
}

void lattice_pack(const lattice *l, int direction, double *buffer) {
    const int z = direction > 0 ? l->flow.planes : 1, n = l->flow.cells[X];
    for (int i = 0; i < 5; i++)
        for (int y = 1; y <= l->flow.cells[Y]; y++, buffer += n)
            memcpy(buffer, l->next + (size_t)lattice_crossing(direction)[i] * l->cells + at(l, 1, y, z),
                   (size_t)n * sizeof *buffer);
}

void lattice_unpack(lattice *l, int direction, const double *buffer) {
    const int z = direction > 0 ? l->flow.planes + 1 : 0, n = l->flow.cells[X];
    for (int i = 0; i < 5; i++)
        for (int y = 1; y <= l->flow.cells[Y]; y++, buffer += n)
            memcpy(l->next + (size_t)lattice_crossing(-direction)[i] * l->cells + at(l, 1, y, z), buffer,
                   (size_t)n * sizeof *buffer);
}

/* --- results --- */

double lattice_velocity(const lattice *l, int x, int y, int plane, int component) {
    const size_t cell = at(l, x + 1, y + 1, plane + 1);
    double sum = 0;
    for (int i = 0; i < POPULATIONS; i++)
        sum += velocity[i][component] * l->now[(size_t)i * l->cells + cell];
    return sum / l->flow.lid_velocity;
}

double lattice_mass(const lattice *l) {
    double sum = 0;
    for (int i = 0; i < POPULATIONS; i++)
        for (int z = 1; z <= l->flow.planes; z++)
            for (int y = 1; y <= l->flow.cells[Y]; y++)
                for (int x = 1; x <= l->flow.cells[X]; x++)
                    sum += l->now[(size_t)i * l->cells + at(l, x, y, z)];
    return sum;
}

uint64_t lattice_checksum(const lattice *l) {
    const cavity *f = &l->flow;
    uint64_t sum = 0;
    for (int i = 0; i < POPULATIONS; i++)
        for (int z = 1; z <= f->planes; z++)
            for (int y = 1; y <= f->cells[Y]; y++) {
                const uint64_t row = ((uint64_t)(f->first_z + z - 1) * (uint64_t)f->cells[Y] + (uint64_t)y) *
                                     (uint64_t)f->cells[X];
                for (int x = 1; x <= f->cells[X]; x++)
                    sum = checksum_add(sum, (row + (uint64_t)x) * POPULATIONS + (uint64_t)i,
                                       l->now[(size_t)i * l->cells + at(l, x, y, z)]);
            }
    return sum;
}
