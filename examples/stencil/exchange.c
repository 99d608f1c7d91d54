/* SPDX-License-Identifier: BSD-3-Clause */
/** @file exchange.c  The ways of exchanging faces: what a program changes to send parts of a message early.
 *
 * A message has the number of its face as tag, as the sender sees it: 2 × direction + side. The face on the
 * other side of the receiver's boundary has the number with the last bit inverted.
 */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

/* Open MPI 5 has the partitioned functions of MPI 4, and states version 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_PARTITIONED 1
#else
#define HAS_MPI_PARTITIONED 0
#endif

/* --- plain: persistent messages, which are sent when all threads have finished --- */

static void plain_open(exchange *e) {
    for (int i = 0; i < e->count; i++) {
        const face *f = &e->faces[i];
        int cells = e->parts * f->part_cells;
        MPI_Send_init(f->sent, cells, MPI_DOUBLE, f->peer, f->face, e->comm, &e->requests[i]);
        MPI_Recv_init(f->received, cells, MPI_DOUBLE, f->peer, f->face ^ 1, e->comm,
                      &e->requests[e->count + i]);
    }
}

static void plain_start(exchange *e) {
    MPI_Startall(e->count, e->requests + e->count);
}

static void plain_ready(exchange *e, int i, int part) {
    (void)e, (void)i, (void)part;
}

static void plain_send(exchange *e) {
    MPI_Startall(e->count, e->requests);
}

static int plain_arrived(exchange *e, int i, int part) {
    (void)e, (void)i, (void)part;
    return 1;
}

/* One by one: MPI_Testall of MPICH and Intel MPI refuses partitioned requests. */
static int mpi_complete(exchange *e) {
    int flag = 1;
    for (int r = 0; flag && r < 2 * e->count; r++)
        MPI_Test(&e->requests[r], &flag, MPI_STATUS_IGNORE);
    return flag;
}

static void mpi_close(exchange *e) {
    for (int r = 0; r < 2 * e->count; r++)
        MPI_Request_free(&e->requests[r]);
}

/* --- offbeat: its own partitioned messages --- */

static void offbeat_open(exchange *e) {
    offbeat_partitioned_attach(e->comm, MPI_INFO_NULL);
    for (int i = 0; i < e->count; i++) {
        const face *f = &e->faces[i];
        offbeat_psend_init(f->sent, e->parts, f->part_cells, MPI_DOUBLE, f->peer, f->face, e->comm, e->info,
                           &e->own[i]);
        offbeat_precv_init(f->received, e->parts, f->part_cells, MPI_DOUBLE, f->peer, f->face ^ 1, e->comm,
                           MPI_INFO_NULL, &e->own[e->count + i]);
    }
}

static void offbeat_start(exchange *e) {
    offbeat_pstartall(2 * e->count, e->own);
}

static void offbeat_ready(exchange *e, int i, int part) {
    offbeat_pready(part, e->own[i]);
}

static int offbeat_arrived(exchange *e, int i, int part) {
    int flag;
    offbeat_parrived(e->own[e->count + i], part, &flag);
    return flag;
}

static int offbeat_complete(exchange *e) {
    int flag;
    offbeat_ptestall(2 * e->count, e->own, &flag, e->statuses);
    return flag;
}

static void offbeat_close(exchange *e) {
    for (int r = 0; r < 2 * e->count; r++)
        offbeat_prequest_free(&e->own[r]);
}

/* --- mpi: the library's partitioned messages --- */

#if HAS_MPI_PARTITIONED
static void partitioned_open(exchange *e) {
    for (int i = 0; i < e->count; i++) {
        const face *f = &e->faces[i];
        MPI_Psend_init(f->sent, e->parts, f->part_cells, MPI_DOUBLE, f->peer, f->face, e->comm, e->info,
                       &e->requests[i]);
        MPI_Precv_init(f->received, e->parts, f->part_cells, MPI_DOUBLE, f->peer, f->face ^ 1, e->comm,
                       MPI_INFO_NULL, &e->requests[e->count + i]);
    }
}

static void partitioned_start(exchange *e) {
    MPI_Startall(2 * e->count, e->requests);
}

static void partitioned_ready(exchange *e, int i, int part) {
    MPI_Pready(part, e->requests[i]);
}

static int partitioned_arrived(exchange *e, int i, int part) {
    int flag;
    MPI_Parrived(e->requests[e->count + i], part, &flag);
    return flag;
}
#endif

/* --- all ways --- */

static const way ways[] = {
    {"plain", plain_open, plain_start, plain_ready, plain_send, plain_arrived, mpi_complete, mpi_close},
    {"offbeat", offbeat_open, offbeat_start, offbeat_ready, NULL, offbeat_arrived, offbeat_complete,
     offbeat_close},
#if HAS_MPI_PARTITIONED
    {"mpi", partitioned_open, partitioned_start, partitioned_ready, NULL, partitioned_arrived, mpi_complete,
     mpi_close},
#endif
};

const way *way_find(const char *name) {
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}

double *exchange_part(const exchange *e, double *buffer, int i, int part) {
    return buffer + (size_t)part * (size_t)e->faces[i].part_cells;
}

int exchange_create(exchange *e, const way *w, const block *b, MPI_Comm grid, int parts,
                    const char *messages) {
    memset(e, 0, sizeof *e);
    e->comm = grid;
    e->parts = parts;
    for (int number = 0; number < FACES; number++) {
        int lower, upper;
        MPI_Cart_shift(grid, number / 2, 1, &lower, &upper);
        face f = {.face = number, .peer = number % 2 ? upper : lower};
        if (f.peer == MPI_PROC_NULL)
            continue;
        f.part_cells = block_face_cells(b, number, parts);
        f.sent = calloc((size_t)parts * (size_t)f.part_cells, sizeof *f.sent);
        f.received = calloc((size_t)parts * (size_t)f.part_cells, sizeof *f.received);
        e->faces[e->count++] = f;
        if (!f.sent || !f.received)
            return 0;
    }
    MPI_Info_create(&e->info);
    MPI_Info_set(e->info, "offbeat_messages", messages);
    w->open(e);
    return 1;
}

void exchange_free(exchange *e, const way *w) {
    w->close(e);
    MPI_Info_free(&e->info);
    for (int i = 0; i < e->count; i++) {
        free(e->faces[i].sent);
        free(e->faces[i].received);
    }
}
