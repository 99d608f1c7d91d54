/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shapes.c  Fractions of the skew, as src/offbeat/pattern/shapes.py computes them: in the same order.
 */
#include "ft/shapes.h"

#include "ft/pcg64.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void no_delay(int p, const ft_draw *draw, double *fractions) {
    (void)draw;
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = 0.0;
}

static void ascending(int p, const ft_draw *draw, double *fractions) {
    (void)draw;
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = rank / (double)(p - 1);
}

static void descending(int p, const ft_draw *draw, double *fractions) {
    (void)draw;
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = (p - 1 - rank) / (double)(p - 1);
}

/* The ranks from one on are late, and none before it. */
static void late_from(int p, int first, double *fractions) {
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = rank >= first ? 1.0 : 0.0;
}

static void first_delayed(int p, const ft_draw *draw, double *fractions) {
    no_delay(p, draw, fractions);
    fractions[0] = 1.0;
}

static void last_delayed(int p, const ft_draw *draw, double *fractions) {
    (void)draw;
    late_from(p, p - 1, fractions);
}

static void mid_delayed(int p, const ft_draw *draw, double *fractions) {
    no_delay(p, draw, fractions);
    fractions[p / 2] = 1.0;
}

static void random_delays(int p, const ft_draw *draw, double *fractions) {
    ft_pcg64 generator = ft_pcg64_seeded(draw->seed);
    double least = 1.0, most = 0.0;
    for (int rank = 0; rank < p; rank++) {
        fractions[rank] = ft_pcg64_next(&generator);
        least = fmin(least, fractions[rank]);
        most = fmax(most, fractions[rank]);
    }
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = (fractions[rank] - least) / (most - least);
}

static void half_delayed(int p, const ft_draw *draw, double *fractions) {
    (void)draw;
    late_from(p, p - p / 2, fractions);
}

static void bell(int p, const ft_draw *draw, double *fractions) {
    const double pi = acos(-1.0);
    int middle = p / 2;
    (void)draw;
    for (int rank = 0; rank < p; rank++)
        fractions[rank] = (1.0 + cos(pi * fabs((double)rank - middle) / middle)) / 2.0;
}

static void node_delayed(int p, const ft_draw *draw, double *fractions) {
    late_from(p, (p - 1) / draw->ppn * draw->ppn, fractions);
}

static const struct {
    const char *name;
    void (*draw)(int p, const ft_draw *draw, double *fractions);
} shapes[] = {
    {"no_delay", no_delay},           {"ascending", ascending},       {"descending", descending},
    {"first_delayed", first_delayed}, {"last_delayed", last_delayed}, {"mid_delayed", mid_delayed},
    {"random", random_delays},        {"half_delayed", half_delayed}, {"bell", bell},
    {"node_delayed", node_delayed},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The number of a shape; SHAPES where there is none of that name. */
static int index_of(const char *name, size_t length) {
    int i = 0;
    while (i < SHAPES && (strlen(shapes[i].name) != length || memcmp(shapes[i].name, name, length) != 0))
        i++;
    return i;
}

int ft_shape_exists(const char *name, size_t length) {
    return index_of(name, length) < SHAPES;
}

const char *ft_shape_names(void) {
    static char names[256];
    size_t length = 0;
    for (int i = 0; i < SHAPES && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "",
                                   shapes[i].name);
    return names;
}

int ft_shape_draw(const char *name, const ft_draw *draw, int p, double *delays_s, char *why, size_t bytes) {
    int shape = index_of(name, strlen(name));
    if (p == 1) {
        delays_s[0] = 0.0;
        return 0;
    }
    if (shapes[shape].draw == node_delayed && draw->ppn < 1) {
        snprintf(why, bytes, "the shape node_delayed needs the number of processes a node: give --ppn N");
        return -1;
    }
    if (shapes[shape].draw == node_delayed && p <= draw->ppn) {
        snprintf(why, bytes,
                 "the shape node_delayed needs two nodes at least: %d processes with %d a node are one node",
                 p, draw->ppn);
        return -1;
    }
    shapes[shape].draw(p, draw, delays_s);
    for (int rank = 0; rank < p; rank++)
        delays_s[rank] *= draw->skew_s;
    return 0;
}
