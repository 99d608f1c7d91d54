/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's functions that initialise partitioned requests.
 */
#include "partitioned/errors.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/identity.h"
#include "partitioned_preload/tools.h"

#include <stddef.h>

static int prepare(const char *function, MPI_Comm comm) {
    int rc = offbeat_preload_attach(function, comm);
    if (rc != MPI_SUCCESS || comm == MPI_COMM_NULL) /* which the initialisation refuses */
        return rc;
    return offbeat_preload_check_tools(function, comm);
}

static int give_handle(MPI_Comm comm, int rc, offbeat_prequest prequest, MPI_Request *request) {
    if (request != NULL)
        *request = MPI_REQUEST_NULL;
    if (rc != MPI_SUCCESS)
        return rc;
    rc = offbeat_preload_handle_create(prequest, request);
    if (rc == MPI_SUCCESS)
        return rc;
    offbeat_prequest_free(&prequest);
    return offbeat_partitioned_raise(comm, rc);
}

int MPI_Psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    offbeat_prequest prequest = OFFBEAT_PREQUEST_NULL;
    int rc = prepare("MPI_Psend_init", comm);
    if (rc == MPI_SUCCESS)
        rc = offbeat_psend_init(buffer, partitions, count, datatype, dest, tag, comm, info, &prequest);
    return give_handle(comm, rc, prequest, request);
}

int MPI_Precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    offbeat_prequest prequest = OFFBEAT_PREQUEST_NULL;
    int rc = prepare("MPI_Precv_init", comm);
    if (rc == MPI_SUCCESS)
        rc = offbeat_precv_init(buffer, partitions, count, datatype, source, tag, comm, info, &prequest);
    return give_handle(comm, rc, prequest, request);
}
