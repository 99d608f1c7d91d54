/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "benchmark/communicators.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>
#include <string.h>

/* --- layouts of several communicators --- */

const char *offbeat_layout_of(const offbeat_session *session, const offbeat_command *command,
                              offbeat_layout *layout) {
    return offbeat_layout_divide(session->p, (int)offbeat_command_number(command, "communicators"),
                                 (int)offbeat_command_number(command, "stride"), layout);
}

MPI_Comm offbeat_layout_comm(offbeat_session *session, const offbeat_layout *layout) {
    if (layout->communicators == 1)
        return session->test_comm;
    char name[32];
    snprintf(name, sizeof name, "%d/%d", layout->communicators, layout->stride);
    const offbeat_subset *known = offbeat_subset_find(session->subsets, name);
    if (known)
        return known->comm;
    MPI_Comm comm = offbeat_layout_create_comm(layout);
    if (comm == MPI_COMM_NULL)
        offbeat_fatal("no memory for the ranks of a communicator");
    return offbeat_subset_add(&session->subsets, name, comm);
}

offbeat_call *offbeat_call_in_layout(offbeat_session *session, const offbeat_command *command,
                                     offbeat_layout *layout) {
    const char *why = offbeat_layout_of(session, command, layout);
    if (why) {
        offbeat_answer_failure(&session->answer, why);
        return NULL;
    }
    return offbeat_session_call(session, command, offbeat_layout_comm(session, layout));
}

/* --- communicators of commands --- */

static const char *members_of(const offbeat_command *command) {
    return offbeat_command_text(command, "members");
}

/* Parses a list of ranks. @return the ranks, which the caller frees
 * @param[out] why an error message if the list is invalid; else unchanged */
static int *parse_members(const offbeat_session *session, const offbeat_command *command, const char *key,
                          const char **why) {
    int count = offbeat_command_list_length(command, key);
    int *ranks = calloc((size_t)count + 1, sizeof *ranks);
    char *is_listed = calloc((size_t)session->p, 1);
    if (!ranks || !is_listed)
        offbeat_fatal("no memory for a list of members");
    for (int i = 0; i < count && !*why; i++) {
        int64_t rank = offbeat_command_list_item(command, key, i);
        if (rank >= session->p)
            *why = "members must be ranks of the launch";
        else if (is_listed[rank]++)
            *why = "members must be different ranks";
        else
            ranks[i] = (int)rank;
    }
    free(is_listed);
    return ranks;
}

const char *offbeat_members_comm(offbeat_session *session, const offbeat_command *command, const char *key,
                                 MPI_Comm *comm) {
    const char *list = offbeat_command_text(command, key);
    const offbeat_subset *known = offbeat_subset_find(session->subsets, list);
    const char *why = NULL;
    if (known)
        return *comm = known->comm, NULL;
    int *ranks = parse_members(session, command, key, &why);
    if (!why)
        *comm = offbeat_subset_add(&session->subsets, list,
                                   offbeat_comm_of_ranks(ranks, offbeat_command_list_length(command, key)));
    free(ranks);
    return why;
}

const char *offbeat_command_comm(offbeat_session *session, const offbeat_command *command, MPI_Comm *comm) {
    *comm = MPI_COMM_NULL;
    if (members_of(command))
        return offbeat_members_comm(session, command, "members", comm);
    offbeat_layout layout;
    const char *why = offbeat_layout_of(session, command, &layout);
    if (!why)
        *comm = offbeat_layout_comm(session, &layout);
    return why;
}

void offbeat_command_comm_discard(offbeat_session *session, const offbeat_command *command) {
    MPI_Comm comm;
    if (offbeat_command_comm(session, command, &comm))
        return;
    const char *members = members_of(command);
    for (offbeat_subset **link = &session->subsets; *link; link = &(*link)->next)
        if (members ? strcmp((*link)->ranks, members) == 0 : (*link)->comm == comm) {
            offbeat_subset_free(link);
            return;
        }
}
