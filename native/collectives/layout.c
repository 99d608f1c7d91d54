/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/layout.h"

#include <stdlib.h>

const char *offbeat_layout_divide(int p, int communicators, int stride, offbeat_layout *layout) {
    *layout = (offbeat_layout){.communicators = communicators, .stride = stride, .size = p / communicators};
    if (p % communicators)
        return "communicators must divide the number of processes";
    if (communicators % stride)
        return "stride must divide the number of communicators";
    return NULL;
}

int offbeat_layout_communicator(const offbeat_layout *layout, int rank) {
    int together = layout->stride * layout->size;
    return rank / together * layout->stride + rank % layout->stride;
}

int offbeat_layout_member(const offbeat_layout *layout, int rank) {
    return rank % (layout->stride * layout->size) / layout->stride;
}

MPI_Comm offbeat_comm_of_ranks(const int *ranks, int count) {
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

MPI_Comm offbeat_layout_create_comm(const offbeat_layout *layout) {
    int *ranks = calloc((size_t)layout->size, sizeof *ranks);
    int rank;
    if (!ranks)
        return MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int first = rank - offbeat_layout_member(layout, rank) * layout->stride;
    for (int member = 0; member < layout->size; member++)
        ranks[member] = first + member * layout->stride;
    MPI_Comm comm = offbeat_comm_of_ranks(ranks, layout->size);
    free(ranks);
    return comm;
}
