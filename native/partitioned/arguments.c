/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/arguments.h"

#include "partitioned/attach.h"
#include "partitioned/errors.h"

#include <stdlib.h>

int offbeat_partitioned_find_comm(const offbeat_partitioned_arguments *arguments,
                                  offbeat_partitioned_comm **comm, offbeat_prequest *request) {
    if (arguments->comm == MPI_COMM_NULL)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_COMM, "%s: the communicator is null",
                                        arguments->function);
    if (request == NULL)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_ARG, "%s: there is no place for the request",
                                        arguments->function);
    *request = OFFBEAT_PREQUEST_NULL;
    *comm = offbeat_partitioned_comm_of(arguments->comm);
    if (*comm == NULL)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_COMM,
                                        "%s: the communicator is not attached; all its processes must call "
                                        "offbeat_partitioned_attach first",
                                        arguments->function);
    return MPI_SUCCESS;
}

int offbeat_partitioned_check_elements(const offbeat_partitioned_arguments *arguments) {
    if (arguments->partitions < 0)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_ARG,
                                        "%s: %d partitions; the number must be at least 0",
                                        arguments->function, arguments->partitions);
    if (arguments->count < 0)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_COUNT,
                                        "%s: %lld elements in a partition; the number must be at least 0",
                                        arguments->function, (long long)arguments->count);
    if (arguments->datatype == MPI_DATATYPE_NULL)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_TYPE, "%s: the datatype is null",
                                        arguments->function);
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

int offbeat_partitioned_describe(const offbeat_partitioned_arguments *arguments,
                                 offbeat_partitioned_comm *comm,
                                 const offbeat_partitioned_operations *operations,
                                 offbeat_partitioned_request **result) {
    offbeat_partitioned_request *request = *result = calloc(1, operations->size_bytes);
    if (request == NULL)
        return MPI_ERR_NO_MEM;
    offbeat_partitioned_comm_use(comm);
    request->operations = operations;
    request->comm = comm;
    request->can_be_ready = arguments->can_be_ready;
    request->is_threaded = comm->root->is_threaded;
    request->buffer = arguments->buffer;
    request->partitions = arguments->partitions;
    request->count = arguments->count;
    int rc = keep_datatype(arguments->datatype, request);
    if (rc == MPI_SUCCESS)
        return MPI_SUCCESS;
    offbeat_partitioned_destroy(request);
    *result = NULL;
    return rc;
}
