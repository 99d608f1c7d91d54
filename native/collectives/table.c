/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include <string.h>

/* The arguments of the MPI functions, by signature, before the communicator. */
// NOLINTBEGIN(bugprone-macro-parentheses)
#define SEND_ARGUMENTS c->arguments.send, c->arguments.send_count, c->arguments.send_type,
#define ARGUMENTS_BARRIER
#define ARGUMENTS_BCAST c->arguments.receive, c->count, c->type, c->root,
#define ARGUMENTS_EXCHANGE SEND_ARGUMENTS c->arguments.receive, c->count, c->type,
#define ARGUMENTS_GATHER                                                                                     \
    SEND_ARGUMENTS c->arguments.receive, c->arguments.receive_count, c->arguments.receive_type, c->root,
#define ARGUMENTS_SCATTER ARGUMENTS_GATHER
#define ARGUMENTS_GATHERV                                                                                    \
    SEND_ARGUMENTS c->arguments.receive, c->counts, c->displacements, c->arguments.receive_type, c->root,
#define SEND_BLOCK_ARGUMENTS c->arguments.send, c->arguments.send_counts, c->arguments.send_displacements,
#define ARGUMENTS_SCATTERV                                                                                   \
    SEND_BLOCK_ARGUMENTS c->arguments.send_type, c->arguments.receive, c->arguments.receive_count,           \
        c->arguments.receive_type, c->root,
#define ARGUMENTS_ALLGATHERV SEND_ARGUMENTS c->arguments.receive, c->counts, c->displacements, c->type,
#define ARGUMENTS_ALLTOALLV                                                                                  \
    SEND_BLOCK_ARGUMENTS c->arguments.send_type, c->arguments.receive, c->counts, c->displacements, c->type,
#define ARGUMENTS_ALLTOALLW                                                                                  \
    SEND_BLOCK_ARGUMENTS c->arguments.send_types, c->arguments.receive, c->counts, c->displacements,         \
        c->arguments.receive_types,
#define ARGUMENTS_ALLREDUCE c->arguments.send, c->arguments.receive, c->count, c->type, c->operation,
#define ARGUMENTS_REDUCE ARGUMENTS_ALLREDUCE c->root,
#define ARGUMENTS_REDUCE_SCATTER c->arguments.send, c->arguments.receive, c->counts, c->type, c->operation,
// NOLINTEND(bugprone-macro-parentheses)

#define OFFBEAT_COLLECTIVE(MpiName, row_name, signature, ...)                                                \
    static int run_##row_name(offbeat_call *c) {                                                             \
        return MPI_##MpiName(ARGUMENTS_##signature c->comm);                                                 \
    }
#define OFFBEAT_MEASURED_COLLECTIVE OFFBEAT_COLLECTIVE
#define OFFBEAT_CHECKED_COLLECTIVE OFFBEAT_COLLECTIVE
#include "collectives.def"

#define ROW(row_name, send_blocks, receive_blocks, content, root_role, count_kind, is_measured_row)          \
    {.name = #row_name,                                                                                      \
     .send = OFFBEAT_##send_blocks,                                                                          \
     .receive = OFFBEAT_##receive_blocks,                                                                    \
     .result = OFFBEAT_##content,                                                                            \
     .root = OFFBEAT_##root_role,                                                                            \
     .counts = OFFBEAT_##count_kind,                                                                         \
     .is_measured = (is_measured_row),                                                                       \
     .run = run_##row_name},

/* Those that are measured come first. */
static const offbeat_collective rows[] = {
#define OFFBEAT_COLLECTIVE(MpiName, row_name, signature, send_blocks, receive_blocks, content, root_role,    \
                           count_kind)                                                                       \
    ROW(row_name, send_blocks, receive_blocks, content, root_role, count_kind, 1)
#define OFFBEAT_MEASURED_COLLECTIVE OFFBEAT_COLLECTIVE
#include "collectives.def"
#define OFFBEAT_CHECKED_COLLECTIVE(MpiName, row_name, signature, send_blocks, receive_blocks, content,       \
                                   root_role, count_kind)                                                    \
    ROW(row_name, send_blocks, receive_blocks, content, root_role, count_kind, 0)
#include "collectives.def"
};

enum { COLLECTIVES = sizeof rows / sizeof *rows };

int offbeat_collective_count(void) {
    int count = 0;
    while (count < COLLECTIVES && rows[count].is_measured)
        count++;
    return count;
}

const char *offbeat_collective_name(int i) {
    return i >= 0 && i < offbeat_collective_count() ? rows[i].name : NULL;
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
