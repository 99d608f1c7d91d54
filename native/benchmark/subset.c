/* SPDX-License-Identifier: BSD-3-Clause */
/** @file subset.c  Communicators of some of the processes. */
#define _GNU_SOURCE
#include "benchmark/subset.h"

#include "control/abandon.h"

#include <stdlib.h>
#include <string.h>

static const char *listed(const offbeat_command *command) {
    return offbeat_command_text(command, "members", NULL);
}

/* The ranks of the list, to be freed; NULL and why where they are no group of distinct processes. */
static int *ranks_of(const offbeat_session *session, const offbeat_command *command, const char **why) {
    int count = offbeat_command_entries(command, "members");
    int *ranks = calloc((size_t)count + 1, sizeof *ranks);
    char *is_taken = calloc((size_t)session->p, 1);
    if (!ranks || !is_taken)
        offbeat_abandon("no memory for a list of members");
    for (int i = 0; i < count && !*why; i++) {
        int64_t rank = offbeat_command_listed(command, "members", i);
        if (rank >= session->p)
            *why = "members must be ranks of the launch";
        else if (is_taken[rank]++)
            *why = "members must be different ranks";
        else
            ranks[i] = (int)rank;
    }
    free(is_taken);
    return ranks;
}

static MPI_Comm make(const int *ranks, int count) {
    enum { TAG = 7 };
    MPI_Group world, group;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Group_rank(group, &rank);
    if (rank != MPI_UNDEFINED)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &comm);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return comm;
}

const char *offbeat_subset_comm(offbeat_session *session, const offbeat_command *command, MPI_Comm *comm) {
    const char *list = listed(command), *why = NULL;
    *comm = session->test;
    if (!list)
        return NULL;
    for (offbeat_subset *known = session->subsets; known; known = known->next)
        if (strcmp(known->ranks, list) == 0)
            return *comm = known->comm, NULL;
    int *ranks = ranks_of(session, command, &why);
    if (!why) {
        offbeat_subset *made = malloc(sizeof *made);
        char *copy = strdup(list);
        if (!made || !copy)
            offbeat_abandon("no memory for a communicator");
        *made = (offbeat_subset){copy, make(ranks, offbeat_command_entries(command, "members")),
                                 session->subsets};
        session->subsets = made;
        *comm = made->comm;
    }
    free(ranks);
    return why;
}

/* Takes one out of its list and frees it. */
static void end(offbeat_subset **place) {
    offbeat_subset *gone = *place;
    *place = gone->next;
    if (gone->comm != MPI_COMM_NULL)
        MPI_Comm_free(&gone->comm);
    free(gone->ranks);
    free(gone);
}

void offbeat_subset_renew(offbeat_session *session, const offbeat_command *command) {
    const char *list = listed(command);
    for (offbeat_subset **place = &session->subsets; list && *place; place = &(*place)->next)
        if (strcmp((*place)->ranks, list) == 0) {
            end(place);
            return;
        }
}

void offbeat_subset_free(offbeat_session *session) {
    while (session->subsets)
        end(&session->subsets);
}
