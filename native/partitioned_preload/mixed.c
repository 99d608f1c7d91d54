/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned_preload/mixed.h"

#include "partitioned/errors.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/wait.h"

#include <stdlib.h>

int offbeat_preload_intervenes(int count, const MPI_Request *requests) {
    if (atomic_load_explicit(&offbeat_preload_handle_count, memory_order_relaxed) == 0 || requests == NULL)
        return 0;
    if (offbeat_preload_must_progress())
        return 1;
    for (int i = 0; i < count; i++)
        if (offbeat_preload_handle_find(requests[i]) != OFFBEAT_PREQUEST_NULL)
            return 1;
    return 0;
}

/* Takes all arrays from one piece of memory. Statuses have the alignment of pointers in some libraries, and
 * of int in others, whose requests are of type int, too. */
static int allocate(offbeat_preload_mixed *mixed) {
    const size_t count = (size_t)(mixed->count > 0 ? mixed->count : 0) + 1;
    mixed->memory =
        malloc(count * (sizeof *mixed->statuses + sizeof(offbeat_prequest) + sizeof(MPI_Request) +
                        sizeof *mixed->places + sizeof *mixed->completed + sizeof *mixed->errors));
    if (mixed->memory == NULL)
        return 0;
    mixed->own = mixed->memory;
    mixed->statuses = (void *)(mixed->own + count);
    mixed->others = (void *)(mixed->statuses + count);
    mixed->places = (void *)(mixed->others + count);
    mixed->completed = mixed->places + count;
    mixed->errors = mixed->completed + count;
    return 1;
}

int offbeat_preload_split(int count, MPI_Request *requests, offbeat_preload_mixed *mixed) {
    *mixed = (offbeat_preload_mixed){.count = count, .requests = requests};
    if (!allocate(mixed))
        return offbeat_partitioned_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM);
    for (int i = 0; i < count; i++) {
        mixed->own[i] = offbeat_preload_own(requests[i]);
        mixed->errors[i] = MPI_SUCCESS;
        mixed->own_count += mixed->own[i] != OFFBEAT_PREQUEST_NULL;
        if (mixed->own[i] == OFFBEAT_PREQUEST_NULL) {
            mixed->others[mixed->other_count] = requests[i];
            mixed->places[mixed->other_count++] = i;
        }
    }
    return MPI_SUCCESS;
}

void offbeat_preload_merge(offbeat_preload_mixed *mixed) {
    for (int i = 0; i < mixed->other_count; i++)
        mixed->requests[mixed->places[i]] = mixed->others[i];
    free(mixed->memory);
}
