/* SPDX-License-Identifier: BSD-3-Clause */
#include "regions/gas.h"

#include "frame/program.h"
#include "frame/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gamma_ratio = 1.4;    /* of the specific heats */
static const double courant_number = 0.2; /* of each direction */

/* The length of an element. The box is as long as 1 in its longest direction. */
static double element_length(const block *b) {
    const int *n = b->elements;
    const int longest = n[X] > n[Y] ? n[X] : n[Y];
    return 1.0 / (longest > n[Z] ? longest : n[Z]);
}

/* --- regions --- */

/* A number from 0 to below 1, and the next state of the generator (Knuth's MMIX). */
static double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static int random_region(const region_settings *s, uint64_t *state) {
    double sum = 0, limit;
    for (int k = 1; k <= s->regions; k++)
        sum += pow(k, s->growth);
    limit = sum * random_number(state);
    for (int k = 1; k < s->regions; k++) {
        limit -= pow(k, s->growth);
        if (limit < 0)
            return k - 1;
    }
    return s->regions - 1;
}

static int repetitions_of(const region_settings *s, int k) {
    if (k < s->regions / 2)
        return 1;
    return k < s->regions - (s->regions + 15) / 20 ? 1 + s->cost : 10 * (1 + s->cost);
}

/* Chooses a region for each run of 1 to 64 elements. @param regions receives one for each element */
static void choose_regions(const region_settings *s, size_t count, int *regions) {
    int rank, now = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t state = (uint64_t)rank + 1;
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == end) {
            now = random_region(s, &state);
            end += 1 + (size_t)(64 * random_number(&state));
        }
        regions[i] = now;
    }
}

static void create_regions(gas *g, const region_settings *s) {
    const block *b = &g->block;
    const size_t count = (size_t)b->n[X] * (size_t)b->n[Y] * (size_t)b->n[Z];
    int *regions = program_allocate(count, sizeof *regions);
    choose_regions(s, count, regions);
    g->regions = s->regions;
    g->region = program_allocate((size_t)s->regions, sizeof *g->region);
    for (size_t i = 0; i < count; i++)
        g->region[regions[i]].count++;
    for (int k = 0; k < s->regions; k++) {
        region *one = &g->region[k];
        one->repetitions = repetitions_of(s, k);
        one->element = program_allocate(one->count, sizeof *one->element);
        one->count = 0;
    }
    size_t i = 0;
    for (int z = 1; z <= b->n[Z]; z++)
        for (int y = 1; y <= b->n[Y]; y++)
            for (int x = 1; x <= b->n[X]; x++) {
                region *one = &g->region[regions[i++]];
                one->element[one->count++] = block_at(b, x, y, z);
            }
    free(regions);
}

/* --- the initial state --- */

/* Blast: hot gas in the corner of the box. Tube: Sod's shock tube (J. Comput. Phys. 27, 1978), along z. */
static void initial_state(problem problem, const double place[DIMENSIONS], double *density,
                          double *pressure) {
    const double distance2 = place[X] * place[X] + place[Y] * place[Y] + place[Z] * place[Z];
    if (problem == BLAST) {
        *density = 1;
        *pressure = distance2 < 0.04 ? 10 : 0.01;
    } else {
        *density = place[Z] < 0.5 ? 1 : 0.125;
        *pressure = place[Z] < 0.5 ? 1 : 0.1;
    }
}

void gas_create(gas *g, problem problem, const region_settings *settings) {
    const block *b = &g->block;
    const double h = element_length(b);
    g->time = 0;
    g->conserved = program_allocate(FIELDS * b->cells, sizeof *g->conserved);
    g->primitive = program_allocate(FIELDS * b->cells, sizeof *g->primitive);
    g->slopes = program_allocate(DIMENSIONS * FIELDS * b->cells, sizeof *g->slopes);
    for (int z = 1; z <= b->n[Z]; z++)
        for (int y = 1; y <= b->n[Y]; y++)
            for (int x = 1; x <= b->n[X]; x++) {
                const size_t at = block_at(b, x, y, z);
                const double place[DIMENSIONS] = {h * (b->first[X] + x - 0.5), h * (b->first[Y] + y - 0.5),
                                                  h * (b->first[Z] + z - 0.5)};
                double pressure;
                initial_state(problem, place, &g->conserved[DENSITY * b->cells + at], &pressure);
                g->conserved[ENERGY * b->cells + at] = pressure / (gamma_ratio - 1);
            }
    create_regions(g, settings);
}

void gas_free(gas *g) {
    for (int k = 0; k < g->regions; k++)
        free(g->region[k].element);
    free(g->region);
    free(g->conserved);
    free(g->primitive);
    free(g->slopes);
}

/* --- a time step --- */

/* Of one region. @return the highest speed of a wave */
static double evaluate_region(gas *g, const region *r) {
    const size_t cells = g->block.cells;
    const double *u = g->conserved;
    double fastest = 0;
    for (size_t i = 0; i < r->count; i++) {
        const size_t at = r->element[i];
        const double density = u[at], inverse = 1 / density;
        double square = 0, largest = 0;
        for (size_t d = X; d <= Z; d++) {
            const double velocity = u[(MOTION + d) * cells + at] * inverse;
            g->primitive[(MOTION + d) * cells + at] = velocity;
            square += velocity * velocity;
            largest = fmax(largest, fabs(velocity));
        }
        const double pressure = (gamma_ratio - 1) * (u[ENERGY * cells + at] - 0.5 * density * square);
        g->primitive[at] = density;
        g->primitive[PRESSURE * cells + at] = pressure;
        fastest = fmax(fastest, largest + sqrt(gamma_ratio * pressure * inverse));
    }
    return fastest;
}

double gas_evaluate(gas *g) {
    double fastest = 0;
    for (int k = 0; k < g->regions; k++)
        for (int i = 0; i < g->region[k].repetitions; i++)
            fastest = fmax(fastest, evaluate_region(g, &g->region[k]));
    return courant_number * element_length(&g->block) / fastest;
}

/* The smaller of two slopes; 0 if they have different signs (minmod). */
static double limited(double below, double above) {
    if (below * above <= 0)
        return 0;
    return fabs(below) < fabs(above) ? below : above;
}

void gas_find_slopes(gas *g) {
    const block *b = &g->block;
    for (size_t k = 0; k < DIMENSIONS * FIELDS; k++) {
        const size_t step = b->distance[k / FIELDS];
        const double *field = g->primitive + k % FIELDS * b->cells;
        double *slopes = g->slopes + k * b->cells;
        for (int z = 1; z <= b->n[Z]; z++)
            for (int y = 1; y <= b->n[Y]; y++)
                for (size_t at = block_at(b, 1, y, z), end = at + (size_t)b->n[X]; at < end; at++)
                    slopes[at] = limited(field[at] - field[at - step], field[at + step] - field[at]);
    }
}

/* What flows through a face by the state on one of its sides. @return the speed of the fastest wave */
static double flux_of(const double w[FIELDS], int direction, double conserved[FIELDS], double flux[FIELDS]) {
    const double normal = w[MOTION + direction];
    double square = 0;
    conserved[DENSITY] = w[DENSITY];
    for (int d = X; d <= Z; d++) {
        conserved[MOTION + d] = w[DENSITY] * w[MOTION + d];
        square += w[MOTION + d] * w[MOTION + d];
    }
    conserved[ENERGY] = w[PRESSURE] / (gamma_ratio - 1) + 0.5 * w[DENSITY] * square;
    for (int f = 0; f < FIELDS; f++)
        flux[f] = normal * conserved[f];
    flux[MOTION + direction] += w[PRESSURE];
    flux[ENERGY] += normal * w[PRESSURE];
    return fabs(normal) + sqrt(gamma_ratio * w[PRESSURE] / w[DENSITY]);
}

/* Moves what flows through the face above an element, in a direction, to the next element. */
static void flow(gas *g, int direction, size_t at, double step_over_length) {
    const size_t cells = g->block.cells, next = at + g->block.distance[direction];
    const double *slopes = g->slopes + (size_t)direction * FIELDS * cells;
    double below[FIELDS], above[FIELDS], u_below[FIELDS], u_above[FIELDS], f_below[FIELDS], f_above[FIELDS];
    for (size_t f = 0; f < FIELDS; f++) {
        below[f] = g->primitive[f * cells + at] + 0.5 * slopes[f * cells + at];
        above[f] = g->primitive[f * cells + next] - 0.5 * slopes[f * cells + next];
    }
    const double fastest =
        fmax(flux_of(below, direction, u_below, f_below), flux_of(above, direction, u_above, f_above));
    for (size_t f = 0; f < FIELDS; f++) {
        const double flux = 0.5 * (f_below[f] + f_above[f] - fastest * (u_above[f] - u_below[f]));
        g->conserved[f * cells + at] -= step_over_length * flux;
        g->conserved[f * cells + next] += step_over_length * flux;
    }
}

/* Each element adds up the flows through its faces in the same order, however the grid is divided. */
void gas_advance(gas *g, double time_step) {
    const block *b = &g->block;
    const double ratio = time_step / element_length(b);
    for (int d = X; d <= Z; d++)
        for (int z = d == Z ? 0 : 1; z <= b->n[Z]; z++)
            for (int y = d == Y ? 0 : 1; y <= b->n[Y]; y++)
                for (int x = d == X ? 0 : 1; x <= b->n[X]; x++)
                    flow(g, d, block_at(b, x, y, z), ratio);
    g->time += time_step;
}

/* --- results --- */

double gas_sum(const gas *g, int field) {
    const block *b = &g->block;
    double sum = 0;
    for (int z = 1; z <= b->n[Z]; z++)
        for (int y = 1; y <= b->n[Y]; y++)
            for (int x = 1; x <= b->n[X]; x++)
                sum += g->conserved[(size_t)field * b->cells + block_at(b, x, y, z)];
    return sum;
}

uint64_t gas_checksum(const gas *g) {
    const block *b = &g->block;
    uint64_t sum = 0;
    for (size_t f = 0; f < FIELDS; f++)
        for (int z = 1; z <= b->n[Z]; z++)
            for (int y = 1; y <= b->n[Y]; y++)
                for (int x = 1; x <= b->n[X]; x++)
                    sum = checksum_add(sum, block_number(b, x, y, z) * FIELDS + f,
                                       g->conserved[f * b->cells + block_at(b, x, y, z)]);
    return sum;
}
