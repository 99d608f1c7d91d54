/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lattice.h
 * A process's planes of a D3Q19 lattice, as two arrays of populations ("structure of arrays"), and its walls.
 *
 * Collision: BGK with the equilibrium of He & Luo (J. Stat. Phys. 88, 1997) for incompressible flow, whose
 * mean density is 1. Walls: bounce-back halfway between the last cell and the wall (Ladd, J. Fluid Mech. 271,
 * 1994). Populations are stored as differences from their weights, which makes rounding errors about a
 * thousand times smaller.
 */
#ifndef CAVITY_LATTICE_H
#define CAVITY_LATTICE_H

#include <stddef.h>
#include <stdint.h>

enum { X, Y, Z, DIMENSIONS };
enum { POPULATIONS = 19 };

/** The flow, and the planes of a process. */
typedef struct cavity {
    int cells[DIMENSIONS]; /**< of the whole cavity */
    int first_z, planes;   /**< this process's planes: first_z, ..., first_z + planes - 1 */
    int is_periodic;       /**< in Y: the flow is two-dimensional; otherwise Y has walls, too */
    double lid_velocity;   /**< in X, of the wall above the last plane; in cells per step */
    double omega;          /**< the relaxation rate, 1 / (3 viscosity + 1/2) */
    int work;              /**< how often each collision is computed */
} cavity;

/** A population that a cell beside a wall receives in a step: a slot of the ghost cells is set to the value
 * of another slot plus a constant. */
typedef struct link {
    size_t ghost, from;
    double added;
} link;

typedef struct links {
    link *link;
    size_t count;
} links;

/** Cells have the places 1 to n; 0 and n + 1 are ghost cells. Slot = population × cells + place of the cell.
 */
typedef struct lattice {
    cavity flow;
    size_t row, plane, cells; /**< distance of neighbours in Y, in Z; all cells with ghosts */
    double *now, *next;       /**< populations after a collision; those that the present step computes */
    links walls, wraps;       /**< bounce-back; copies from the other end of Y */
    double *moments;          /**< a row of density, velocity and the equilibrium's common part */
} lattice;

void lattice_create(lattice *l, const cavity *flow);
void lattice_free(lattice *l);

/** One step from `now` to `next`: streaming and collision. @return the sum of all density differences before
 * the collision, if is_sum_needed */
double lattice_stream_collide(lattice *l, int is_sum_needed);

/** Sets ghost cells of `next`: beside walls; and, after the halo exchange, those that continue Y
 * periodically. */
void lattice_bounce(lattice *l);
void lattice_wrap(lattice *l);

/** `next` becomes `now`. */
void lattice_advance(lattice *l);

/** The five populations that move up (+1) or down (-1) in Z. */
const int *lattice_crossing(int direction);

/** Copies the populations that cross to the neighbour in a direction from the last plane, and those that come
 * from there into the ghost plane. @param buffer 5 × cells of X × cells of Y numbers */
void lattice_pack(const lattice *l, int direction, double *buffer);
void lattice_unpack(lattice *l, int direction, const double *buffer);

/** The velocity of a cell of `now`, in units of the lid's. @param plane of this process, from 0 */
double lattice_velocity(const lattice *l, int x, int y, int plane, int component);

/** Over this process's cells: the sum of the density differences, and a checksum of all populations. */
double lattice_mass(const lattice *l);
uint64_t lattice_checksum(const lattice *l);

/** Floating-point operations of lattice_stream_collide for a cell, and the bytes that it moves if no row
 * stays in a cache from one step to the next. */
double lattice_flops(const cavity *flow);
enum { LATTICE_BYTES = 3 * POPULATIONS * 8 };

#endif
