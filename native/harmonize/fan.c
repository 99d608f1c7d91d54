/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/fan.h"

#include "clock/messages.h"
#include "clock/tree.h"

enum { TAG_FAN_IN = 1, TAG_FAN_OUT = 2 };

/* Polls before a waiting process gives its core away, when it shall at all: it shares the core for certain.
 */
enum { PATIENCE = 20 };

int offbeat_fan_open(offbeat_fan *fan, MPI_Comm comm) {
    fan->comm = comm;
    fan->yields = 0;
    int rc = PMPI_Comm_rank(comm, &fan->rank);
    return rc == MPI_SUCCESS ? PMPI_Comm_size(comm, &fan->size) : rc;
}

static int receive(const offbeat_fan *fan, int64_t *values, int source, int tag) {
    int patience = fan->yields ? PATIENCE : OFFBEAT_NEVER_YIELD;
    return offbeat_receive(values, OFFBEAT_FAN_VALUES, MPI_INT64_T, source, tag, fan->comm, patience);
}

static int give(const offbeat_fan *fan, const int64_t *values, int target, int tag) {
    return PMPI_Send(values, OFFBEAT_FAN_VALUES, MPI_INT64_T, target, tag, fan->comm);
}

int offbeat_fan_in(const offbeat_fan *fan, int64_t values[OFFBEAT_FAN_VALUES]) {
    int span = offbeat_tree_span(fan->rank, fan->size);
    for (int distance = 1; distance < span && fan->rank + distance < fan->size; distance *= 2) {
        int64_t others[OFFBEAT_FAN_VALUES];
        int rc = receive(fan, others, fan->rank + distance, TAG_FAN_IN);
        if (rc != MPI_SUCCESS)
            return rc;
        for (int i = 0; i < OFFBEAT_FAN_VALUES; i++)
            values[i] = others[i] > values[i] ? others[i] : values[i];
    }
    return fan->rank == 0 ? MPI_SUCCESS : give(fan, values, offbeat_tree_parent(fan->rank), TAG_FAN_IN);
}

int offbeat_fan_out(const offbeat_fan *fan, int64_t values[OFFBEAT_FAN_VALUES]) {
    int rc = MPI_SUCCESS;
    if (fan->rank != 0)
        rc = receive(fan, values, offbeat_tree_parent(fan->rank), TAG_FAN_OUT);
    int distance = offbeat_tree_span(fan->rank, fan->size) / 2;
    for (; rc == MPI_SUCCESS && distance > 0; distance /= 2) {
        if (fan->rank + distance < fan->size)
            rc = give(fan, values, fan->rank + distance, TAG_FAN_OUT);
    }
    return rc;
}
