/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/nodes.h"

#include <stdlib.h>
#include <string.h>

void offbeat_members_free(offbeat_members *members) {
    free(members->ranks);
    memset(members, 0, sizeof *members);
}

/* Fills the list with the ranks in `comm` of all processes of `part`; local. */
static int translate(MPI_Comm part, MPI_Comm comm, offbeat_members *members) {
    MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
    int rc = PMPI_Comm_size(part, &members->count);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank(part, &members->index);
    if (rc != MPI_SUCCESS)
        return rc;
    int *numbers = malloc((size_t)members->count * sizeof *numbers);
    members->ranks = malloc((size_t)members->count * sizeof *members->ranks);
    for (int i = 0; numbers != NULL && i < members->count; i++)
        numbers[i] = i;
    rc = PMPI_Comm_group(part, &from);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_group(comm, &to);
    if (numbers == NULL || members->ranks == NULL)
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS)
        rc = PMPI_Group_translate_ranks(from, members->count, numbers, to, members->ranks);
    if (from != MPI_GROUP_NULL)
        PMPI_Group_free(&from);
    if (to != MPI_GROUP_NULL)
        PMPI_Group_free(&to);
    free(numbers);
    return rc;
}

/* The members of a communicator that is then freed; MPI_COMM_NULL has none. */
static int members_of(MPI_Comm *part, MPI_Comm comm, offbeat_members *members) {
    if (*part == MPI_COMM_NULL)
        return MPI_SUCCESS;
    int rc = translate(*part, comm, members);
    int freed = PMPI_Comm_free(part);
    return rc != MPI_SUCCESS ? rc : freed;
}

int offbeat_nodes_find(MPI_Comm comm, offbeat_members *node, offbeat_members *leaders) {
    MPI_Comm part = MPI_COMM_NULL;
    int rank;
    memset(node, 0, sizeof *node);
    memset(leaders, 0, sizeof *leaders);
    int rc = PMPI_Comm_rank(comm, &rank);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
    if (rc == MPI_SUCCESS)
        rc = members_of(&part, comm, node);
    /* Others may not have failed and wait in this call. */
    int split = PMPI_Comm_split(comm, node->count > 0 && node->index == 0 ? 0 : MPI_UNDEFINED, rank, &part);
    if (split == MPI_SUCCESS)
        split = members_of(&part, comm, leaders);
    return rc != MPI_SUCCESS ? rc : split;
}
