/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/request.h"

#include <time.h>

int64_t offbeat_partitioned_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void offbeat_partitioned_note_failure(offbeat_partitioned_request *request, int failure) {
    int none = MPI_SUCCESS;
    if (failure != MPI_SUCCESS)
        atomic_compare_exchange_strong(&request->failure, &none, failure);
}

int offbeat_partitioned_note_failures(offbeat_partitioned_request *request, int code,
                                      const MPI_Status *statuses, int count) {
    int error_class = MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        return 1;
    PMPI_Error_class(code, &error_class);
    for (int i = 0; i < count && error_class == MPI_ERR_IN_STATUS; i++)
        if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            offbeat_partitioned_note_failure(request, statuses[i].MPI_ERROR);
    offbeat_partitioned_note_failure(request, code);
    return error_class == MPI_ERR_IN_STATUS;
}

void offbeat_partitioned_destroy(offbeat_partitioned_request *request) {
    if (request->owns_datatype)
        PMPI_Type_free(&request->datatype);
    offbeat_partitioned_comm_give_tags_back(request->comm, &request->tags);
    offbeat_partitioned_comm_release(request->comm);
    request->operations->free(request);
}

void offbeat_partitioned_discard(offbeat_partitioned_request *request) {
    if (request->operations->abandon(request))
        offbeat_partitioned_destroy(request);
}
