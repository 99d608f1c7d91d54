/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned_preload/split_list.h"

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
static int allocate(offbeat_preload_split_list *list) {
    const size_t count = (size_t)(list->count > 0 ? list->count : 0) + 1;
    list->memory = malloc(count * (sizeof *list->statuses + sizeof(offbeat_prequest) + sizeof(MPI_Request) +
                                   sizeof *list->indices_of_mpi + sizeof *list->completed_indices +
                                   sizeof *list->errors));
    if (list->memory == NULL)
        return 0;
    list->prequests = list->memory;
    list->statuses = (void *)(list->prequests + count);
    list->mpi_requests = (void *)(list->statuses + count);
    list->indices_of_mpi = (void *)(list->mpi_requests + count);
    list->completed_indices = list->indices_of_mpi + count;
    list->errors = list->completed_indices + count;
    return 1;
}

int offbeat_preload_split(int count, MPI_Request *requests, offbeat_preload_split_list *list) {
    *list = (offbeat_preload_split_list){.count = count, .requests = requests};
    if (!allocate(list))
        return offbeat_partitioned_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM);
    for (int i = 0; i < count; i++) {
        list->prequests[i] = offbeat_preload_partitioned_request(requests[i]);
        list->errors[i] = MPI_SUCCESS;
        list->prequest_count += list->prequests[i] != OFFBEAT_PREQUEST_NULL;
        if (list->prequests[i] == OFFBEAT_PREQUEST_NULL) {
            list->mpi_requests[list->other_count] = requests[i];
            list->indices_of_mpi[list->other_count++] = i;
        }
    }
    return MPI_SUCCESS;
}

void offbeat_preload_merge(offbeat_preload_split_list *list) {
    for (int i = 0; i < list->other_count; i++)
        list->requests[list->indices_of_mpi[i]] = list->mpi_requests[i];
    free(list->memory);
}
