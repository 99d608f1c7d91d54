/* SPDX-License-Identifier: BSD-3-Clause */
/** @file exchange.h  The exchange of faces between neighbours, in one of several ways. */
#ifndef STENCIL_EXCHANGE_H
#define STENCIL_EXCHANGE_H

#include "block.h"

#include <mpi.h>
#include <offbeat/partitioned.h>

enum { FACES = 6 };

/** A face with a neighbour, and the buffers in which it is sent and the neighbour's is received. */
typedef struct face {
    int face, peer; /**< as in block_face; the neighbour's rank */
    int part_cells;
    double *sent, *received;
} face;

/** One way's exchange. Requests: the sends of all faces, then the receives of all faces. */
typedef struct exchange {
    MPI_Comm comm;
    MPI_Info info; /**< of the partitioned sends */
    int parts;     /**< of each face */
    int count;     /**< of faces with a neighbour */
    face faces[FACES];
    MPI_Request requests[2 * FACES];
    offbeat_prequest own[2 * FACES];
    MPI_Status statuses[2 * FACES];
} exchange;

/** A way. An iteration is: start by one thread; ready and arrived by any thread; complete by one thread. */
typedef struct way {
    const char *name;
    void (*open)(exchange *e);
    void (*start)(exchange *e);
    void (*ready)(exchange *e, int i, int part); /**< part of faces[i].sent is filled */
    void (*send)(exchange *e); /**< all threads have finished; NULL: nothing remains to be sent */
    int (*arrived)(exchange *e, int i, int part); /**< whether part of faces[i].received is here */
    int (*complete)(exchange *e);                 /**< whether all requests are complete */
    void (*close)(exchange *e);
} way;

/** A way by its name; NULL if there is none, or if the MPI library has no functions for it. */
const way *way_find(const char *name);

/** Prepares the exchange of a block's faces on a communicator of a Cartesian grid. Collective.
 * @param messages the value of the key offbeat_messages @return 0 without memory */
int exchange_create(exchange *e, const way *w, const block *b, MPI_Comm grid, int parts,
                    const char *messages);
void exchange_free(exchange *e, const way *w);

double *exchange_part(const exchange *e, double *buffer, int i, int part);

#endif
