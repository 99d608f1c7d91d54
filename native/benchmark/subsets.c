/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strdup */
#include "benchmark/subsets.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>
#include <string.h>

const offbeat_subset *offbeat_subset_find(const offbeat_subset *first, const char *ranks) {
    const offbeat_subset *subset = first;
    while (subset && strcmp(subset->ranks, ranks) != 0)
        subset = subset->next;
    return subset;
}

MPI_Comm offbeat_subset_add(offbeat_subset **first, const char *ranks, MPI_Comm comm) {
    offbeat_subset *subset = malloc(sizeof *subset);
    char *copy = strdup(ranks);
    if (!subset || !copy)
        offbeat_fatal("no memory for a communicator");
    *subset = (offbeat_subset){copy, comm, *first};
    *first = subset;
    return comm;
}

void offbeat_subset_free(offbeat_subset **link) {
    offbeat_subset *subset = *link;
    *link = subset->next;
    if (subset->comm != MPI_COMM_NULL)
        MPI_Comm_free(&subset->comm);
    free(subset->ranks);
    free(subset);
}

void offbeat_subsets_free(offbeat_subset **first) {
    while (*first)
        offbeat_subset_free(first);
}
