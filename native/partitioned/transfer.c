/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/transfer.h"

#include <limits.h>

/* Elements that one element of a large type holds. */
static const int64_t CHUNK = 1 << 30;

/* Whole chunks, followed by the remaining elements. */
static int type_of_chunks(int64_t count, MPI_Datatype datatype, MPI_Datatype *type) {
    MPI_Datatype chunk, parts[2];
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_extent(datatype, &lower, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Type_contiguous((int)CHUNK, datatype, &chunk);
    if (rc != MPI_SUCCESS)
        return rc;
    int lengths[2] = {(int)(count / CHUNK), (int)(count % CHUNK)};
    MPI_Aint offsets[2] = {0, (MPI_Aint)(count / CHUNK * CHUNK) * extent};
    parts[0] = chunk;
    parts[1] = datatype;
    rc = PMPI_Type_create_struct(2, lengths, offsets, parts, type);
    PMPI_Type_free(&chunk);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Type_commit(type);
    if (rc != MPI_SUCCESS)
        PMPI_Type_free(type);
    return rc;
}

/* Describes elements by an int: either as they are, or as one element of a large type, which the caller
 * frees. */
static int with_int_count(offbeat_partitioned_elements *elements, int *is_large) {
    MPI_Datatype large;
    *is_large = elements->count > INT_MAX;
    if (!*is_large)
        return MPI_SUCCESS;
    int rc = type_of_chunks(elements->count, elements->datatype, &large);
    *is_large = rc == MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        elements->datatype = large;
        elements->count = 1;
    }
    return rc;
}

int offbeat_partitioned_isend(offbeat_partitioned_elements elements, int dest, int tag, MPI_Comm comm,
                              MPI_Request *request) {
    int is_large;
    int rc = with_int_count(&elements, &is_large);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Isend(elements.first, (int)elements.count, elements.datatype, dest, tag, comm, request);
    if (is_large)
        PMPI_Type_free(&elements.datatype);
    return rc;
}

int offbeat_partitioned_irecv(offbeat_partitioned_elements elements, int source, int tag, MPI_Comm comm,
                              MPI_Request *request) {
    int is_large;
    int rc = with_int_count(&elements, &is_large);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Irecv(elements.first, (int)elements.count, elements.datatype, source, tag, comm, request);
    if (is_large)
        PMPI_Type_free(&elements.datatype);
    return rc;
}

int offbeat_partitioned_unpack(const char *packed_data, int64_t element_bytes, int64_t extent,
                               offbeat_partitioned_elements elements, MPI_Comm comm) {
    /* MPI_Unpack counts bytes with an int. */
    if (element_bytes > INT_MAX)
        return MPI_ERR_COUNT;
    const int64_t chunk_limit = element_bytes < CHUNK ? CHUNK / element_bytes : 1;
    for (int64_t done_count = 0; done_count < elements.count; done_count += chunk_limit) {
        int64_t count = elements.count - done_count < chunk_limit ? elements.count - done_count : chunk_limit;
        int position = 0;
        int rc =
            PMPI_Unpack(packed_data + done_count * element_bytes, (int)(count * element_bytes), &position,
                        elements.first + done_count * extent, (int)count, elements.datatype, comm);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

void offbeat_partitioned_cancel(MPI_Request *receive) {
    int is_done;
    if (PMPI_Test(receive, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done)
        return;
    PMPI_Cancel(receive);
    PMPI_Wait(receive, MPI_STATUS_IGNORE);
}
