/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <string.h>

#include "call.h"

static int run_allreduce(offbeat_call *c) {
    return MPI_Allreduce(c->with.send, c->with.receive, c->count, c->type, c->operation, c->comm);
}

static int run_alltoall(offbeat_call *c) {
    return MPI_Alltoall(c->with.send, c->with.send_count, c->with.send_type, c->with.receive, c->count,
                        c->type, c->comm);
}

static int run_alltoallv(offbeat_call *c) {
    return MPI_Alltoallv(c->with.send, c->with.send_counts, c->with.send_displacements, c->with.send_type,
                         c->with.receive, c->counts, c->displacements, c->type, c->comm);
}

static int run_allgather(offbeat_call *c) {
    return MPI_Allgather(c->with.send, c->with.send_count, c->with.send_type, c->with.receive, c->count,
                         c->type, c->comm);
}

static int run_allgatherv(offbeat_call *c) {
    return MPI_Allgatherv(c->with.send, c->with.send_count, c->with.send_type, c->with.receive, c->counts,
                          c->displacements, c->type, c->comm);
}

static int run_bcast(offbeat_call *c) {
    return MPI_Bcast(c->with.receive, c->count, c->type, c->root, c->comm);
}

static int run_reduce(offbeat_call *c) {
    return MPI_Reduce(c->with.send, c->with.receive, c->count, c->type, c->operation, c->root, c->comm);
}

static int run_reduce_scatter(offbeat_call *c) {
    return MPI_Reduce_scatter(c->with.send, c->with.receive, c->counts, c->type, c->operation, c->comm);
}

static int run_reduce_scatter_block(offbeat_call *c) {
    return MPI_Reduce_scatter_block(c->with.send, c->with.receive, c->count, c->type, c->operation, c->comm);
}

static int run_gather(offbeat_call *c) {
    return MPI_Gather(c->with.send, c->with.send_count, c->with.send_type, c->with.receive,
                      c->with.receive_count, c->with.receive_type, c->root, c->comm);
}

static int run_scatter(offbeat_call *c) {
    return MPI_Scatter(c->with.send, c->with.send_count, c->with.send_type, c->with.receive,
                       c->with.receive_count, c->with.receive_type, c->root, c->comm);
}

static int run_scan(offbeat_call *c) {
    return MPI_Scan(c->with.send, c->with.receive, c->count, c->type, c->operation, c->comm);
}

static int run_exscan(offbeat_call *c) {
    return MPI_Exscan(c->with.send, c->with.receive, c->count, c->type, c->operation, c->comm);
}

static int run_barrier(offbeat_call *c) {
    return MPI_Barrier(c->comm);
}

static const offbeat_collective table[] = {
    {.name = "allreduce",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_ALL,
     .run = run_allreduce},
    {.name = "alltoall",
     .send = OFFBEAT_BLOCK_PER_RANK,
     .receive = OFFBEAT_BLOCK_PER_RANK,
     .content = OFFBEAT_FROM_EACH,
     .takes_own_block = 1,
     .run = run_alltoall},
    {.name = "alltoallv",
     .send = OFFBEAT_BLOCK_PER_RANK,
     .receive = OFFBEAT_BLOCK_PER_RANK,
     .content = OFFBEAT_FROM_EACH,
     .takes_own_block = 1,
     .is_irregular = 1,
     .run = run_alltoallv},
    {.name = "allgather",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_BLOCK_PER_RANK,
     .content = OFFBEAT_FROM_EACH,
     .run = run_allgather},
    {.name = "allgatherv",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_BLOCK_PER_RANK,
     .content = OFFBEAT_FROM_EACH,
     .is_irregular = 1,
     .run = run_allgatherv},
    {.name = "bcast",
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FROM_ROOT,
     .has_root = 1,
     .run = run_bcast},
    {.name = "reduce",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_ALL,
     .has_root = 1,
     .receives_at_root = 1,
     .run = run_reduce},
    {.name = "reduce_scatter",
     .send = OFFBEAT_BLOCK_PER_RANK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_ALL,
     .takes_own_block = 1,
     .is_irregular = 1,
     .run = run_reduce_scatter},
    {.name = "reduce_scatter_block",
     .send = OFFBEAT_BLOCK_PER_RANK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_ALL,
     .takes_own_block = 1,
     .run = run_reduce_scatter_block},
    {.name = "gather",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_BLOCK_PER_RANK,
     .content = OFFBEAT_FROM_EACH,
     .has_root = 1,
     .receives_at_root = 1,
     .run = run_gather},
    {.name = "scatter",
     .send = OFFBEAT_BLOCK_PER_RANK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FROM_ROOT,
     .has_root = 1,
     .sends_at_root = 1,
     .takes_own_block = 1,
     .run = run_scatter},
    {.name = "scan",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_UPTO,
     .run = run_scan},
    {.name = "exscan",
     .send = OFFBEAT_ONE_BLOCK,
     .receive = OFFBEAT_ONE_BLOCK,
     .content = OFFBEAT_FOLD_BEFORE,
     .run = run_exscan},
    {.name = "barrier", .content = OFFBEAT_NOTHING, .run = run_barrier},
};

enum { COLLECTIVES = sizeof table / sizeof *table };

int offbeat_collective_count(void) {
    return COLLECTIVES;
}

const char *offbeat_collective_name(int i) {
    return i >= 0 && i < COLLECTIVES ? table[i].name : NULL;
}

const offbeat_collective *offbeat_collective_find(const char *name) {
    for (int i = 0; name != NULL && i < COLLECTIVES; i++)
        if (strcmp(name, table[i].name) == 0)
            return &table[i];
    return NULL;
}

int offbeat_collective_folds(const offbeat_collective *collective) {
    return collective->content == OFFBEAT_FOLD_ALL || collective->content == OFFBEAT_FOLD_UPTO ||
           collective->content == OFFBEAT_FOLD_BEFORE;
}

int offbeat_collective_reduces(const char *name) {
    const offbeat_collective *collective = offbeat_collective_find(name);
    return collective != NULL && offbeat_collective_folds(collective);
}
