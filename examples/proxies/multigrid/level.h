/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file level.h
 * One level of the multigrid: a process's block of the grid, its rows of the matrix, and the halo exchange.
 *
 * The matrix is that of the HPCG benchmark (Dongarra, Heroux & Luszczek, 2016): a stencil of 27 points, 26 on
 * the diagonal and -1 for each neighbour in the grid. As there, it is stored row by row with its columns, so
 * that it is read from memory in each product.
 */
#ifndef MULTIGRID_LEVEL_H
#define MULTIGRID_LEVEL_H

#include "frame/timing.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { X, Y, Z, DIMENSIONS };
enum { STENCIL = 27, MOST_PEERS = STENCIL - 1 };

/** A process whose block touches this one's, and what is exchanged with it. */
typedef struct peer {
    int rank, tag; /**< the tag of messages to it; messages from it have MOST_PEERS - tag */
    int count;     /**< cells that are sent, and received */
    int *sent;     /**< rows of these cells */
    int received;  /**< the first of the received cells in a vector */
} peer;

/** Vectors have a number for each row, and, after these, for each cell that is received from a peer. */
typedef struct level {
    int n[DIMENSIONS];                         /**< cells of the block; equal at all processes */
    int places[DIMENSIONS], place[DIMENSIONS]; /**< blocks in each direction, and this process's place */
    int rows, length;                          /**< of a vector: without and with the received cells */
    double *values;                            /**< STENCIL a row; 0 beyond the grid */
    int *columns;                              /**< STENCIL a row; the row itself beyond the grid */
    int peers;
    peer peer[MOST_PEERS];
    double *sent; /**< cells for a peer */
    MPI_Comm comm;
    double *x, *b, *residual; /**< vectors of the multigrid cycle */
    struct level *coarse;     /**< half the cells in each direction; NULL: there is none */
    int *fine_rows;           /**< row of each row of the coarse level */
} level;

/** Creates a level and `coarser` levels below it. The sizes n can be halved that often. Collective.
 * @param comm a Cartesian communicator of three dimensions, Z first */
level *level_create(const int n[DIMENSIONS], int coarser, MPI_Comm comm);
void level_free(level *l);

/** Receives the cells of the peers into a vector. */
void level_exchange(level *l, double *vector, timing *t);

/** product = matrix × vector, with a halo exchange. */
void level_multiply(level *l, double *vector, double *product, timing *t);

/** residual = b - matrix × x, with a halo exchange. */
void level_residual(level *l, const double *b, double *x, double *residual, timing *t);

/** The number of a row in the whole grid. */
uint64_t level_number(const level *l, int row);

#endif
