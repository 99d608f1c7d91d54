/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/arguments.h"

#include "partitioned/errors.h"

#include <stdlib.h>

int offbeat_partitioned_find_comm(const offbeat_partitioned_arguments *given, offbeat_partitioned_comm **comm,
                                  offbeat_prequest *request) {
    if (given->comm == MPI_COMM_NULL)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_COMM, "%s: the communicator is null",
                                        given->function);
    if (request == NULL)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_ARG, "%s: there is no place for the request",
                                        given->function);
    *request = OFFBEAT_PREQUEST_NULL;
    *comm = offbeat_partitioned_comm_of(given->comm);
    if (*comm == NULL)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_COMM,
                                        "%s: the communicator is not attached; all its processes must call "
                                        "offbeat_partitioned_attach first",
                                        given->function);
    return MPI_SUCCESS;
}

int offbeat_partitioned_check_elements(const offbeat_partitioned_arguments *given) {
    if (given->partitions < 0)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_ARG,
                                        "%s: %d partitions; the number must be at least 0", given->function,
                                        given->partitions);
    if (given->count < 0)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_COUNT,
                                        "%s: %lld elements in a partition; the number must be at least 0",
                                        given->function, (long long)given->count);
    if (given->datatype == MPI_DATATYPE_NULL)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_TYPE, "%s: the datatype is null",
                                        given->function);
    return MPI_SUCCESS;
}

/* Datatypes for a precision or range of Fortran are predefined, too. */
int offbeat_partitioned_is_predefined(MPI_Datatype datatype) {
    int integers, addresses, datatypes, combiner;
    return PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) == MPI_SUCCESS &&
           (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
            combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER);
}

/* The caller may free a datatype of its own while the request exists. */
static int keep_datatype(MPI_Datatype datatype, offbeat_partitioned_request *request) {
    MPI_Count size;
    MPI_Aint lower, extent;
    int rc = PMPI_Type_size_x(datatype, &size);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_get_extent(datatype, &lower, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    request->element_bytes = size;
    request->extent = extent;
    request->datatype = datatype;
    if (offbeat_partitioned_is_predefined(datatype))
        return MPI_SUCCESS;
    rc = PMPI_Type_dup(datatype, &request->datatype);
    request->owns_datatype = rc == MPI_SUCCESS;
    /* With a datatype that is not committed, every message would fail, and the other side would wait. */
    return rc == MPI_SUCCESS ? PMPI_Type_commit(&request->datatype) : rc;
}

int offbeat_partitioned_describe(const offbeat_partitioned_arguments *given, offbeat_partitioned_comm *comm,
                                 offbeat_partitioned_request **created) {
    offbeat_partitioned_request *request = calloc(1, sizeof *request);
    *created = request;
    if (request == NULL)
        return MPI_ERR_NO_MEM;
    offbeat_partitioned_comm_use(comm);
    request->comm = comm;
    request->is_send = given->is_send;
    request->is_threaded = comm->root->is_threaded;
    request->is_null = given->peer == MPI_PROC_NULL;
    request->buffer = given->buffer;
    request->partitions = given->partitions;
    request->count = given->count;
    request->user_peer = given->peer;
    request->peer =
        request->is_null || comm->root_ranks == NULL ? given->peer : comm->root_ranks[given->peer];
    request->tag = given->tag;
    request->setup_request = request->reply_request = MPI_REQUEST_NULL;
    return keep_datatype(given->datatype, request);
}
