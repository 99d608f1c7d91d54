/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include <string.h>

static int run_allreduce(offbeat_call *c) {
    return MPI_Allreduce(c->arguments.send, c->arguments.receive, c->count, c->type, c->operation, c->comm);
}

static int run_alltoall(offbeat_call *c) {
    return MPI_Alltoall(c->arguments.send, c->arguments.send_count, c->arguments.send_type,
                        c->arguments.receive, c->count, c->type, c->comm);
}

static int run_alltoallv(offbeat_call *c) {
    return MPI_Alltoallv(c->arguments.send, c->arguments.send_counts, c->arguments.send_displacements,
                         c->arguments.send_type, c->arguments.receive, c->counts, c->displacements, c->type,
                         c->comm);
}

static int run_allgather(offbeat_call *c) {
    return MPI_Allgather(c->arguments.send, c->arguments.send_count, c->arguments.send_type,
                         c->arguments.receive, c->count, c->type, c->comm);
}

static int run_allgatherv(offbeat_call *c) {
    return MPI_Allgatherv(c->arguments.send, c->arguments.send_count, c->arguments.send_type,
                          c->arguments.receive, c->counts, c->displacements, c->type, c->comm);
}

static int run_bcast(offbeat_call *c) {
    return MPI_Bcast(c->arguments.receive, c->count, c->type, c->root, c->comm);
}

static int run_reduce(offbeat_call *c) {
    return MPI_Reduce(c->arguments.send, c->arguments.receive, c->count, c->type, c->operation, c->root,
                      c->comm);
}

static int run_reduce_scatter(offbeat_call *c) {
    return MPI_Reduce_scatter(c->arguments.send, c->arguments.receive, c->counts, c->type, c->operation,
                              c->comm);
}

static int run_reduce_scatter_block(offbeat_call *c) {
    return MPI_Reduce_scatter_block(c->arguments.send, c->arguments.receive, c->count, c->type, c->operation,
                                    c->comm);
}

static int run_gather(offbeat_call *c) {
    return MPI_Gather(c->arguments.send, c->arguments.send_count, c->arguments.send_type,
                      c->arguments.receive, c->arguments.receive_count, c->arguments.receive_type, c->root,
                      c->comm);
}

static int run_scatter(offbeat_call *c) {
    return MPI_Scatter(c->arguments.send, c->arguments.send_count, c->arguments.send_type,
                       c->arguments.receive, c->arguments.receive_count, c->arguments.receive_type, c->root,
                       c->comm);
}

static int run_scan(offbeat_call *c) {
    return MPI_Scan(c->arguments.send, c->arguments.receive, c->count, c->type, c->operation, c->comm);
}

static int run_exscan(offbeat_call *c) {
    return MPI_Exscan(c->arguments.send, c->arguments.receive, c->count, c->type, c->operation, c->comm);
}

static int run_barrier(offbeat_call *c) {
    return MPI_Barrier(c->comm);
}

#define OFFBEAT_COLLECTIVE(MpiName, row_name, signature, sent, received, content, root_role, count_kind)     \
    {.name = #row_name,                                                                                      \
     .send = OFFBEAT_##sent,                                                                                 \
     .receive = OFFBEAT_##received,                                                                          \
     .result = OFFBEAT_##content,                                                                            \
     .root = OFFBEAT_##root_role,                                                                            \
     .counts = OFFBEAT_##count_kind,                                                                         \
     .run = run_##row_name},
#define OFFBEAT_MEASURED_COLLECTIVE OFFBEAT_COLLECTIVE

static const offbeat_collective rows[] = {
#include "collectives.def"
};

enum { COLLECTIVES = sizeof rows / sizeof *rows };

int offbeat_collective_count(void) {
    return COLLECTIVES;
}

const char *offbeat_collective_name(int i) {
    return i >= 0 && i < COLLECTIVES ? rows[i].name : NULL;
}

const offbeat_collective *offbeat_collective_find(const char *name) {
    for (int i = 0; name != NULL && i < COLLECTIVES; i++)
        if (strcmp(name, rows[i].name) == 0)
            return &rows[i];
    return NULL;
}

int offbeat_collective_is_reduction(const offbeat_collective *collective) {
    return collective->result == OFFBEAT_REDUCE_ALL || collective->result == OFFBEAT_REDUCE_UPTO ||
           collective->result == OFFBEAT_REDUCE_BEFORE;
}
