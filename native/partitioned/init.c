/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation of requests: the checks of what the caller gave, and a request that describes it.
 */
#include "partitioned/errors.h"
#include "partitioned/progress.h"
#include "partitioned/receive.h"
#include "partitioned/send.h"

#include <stdlib.h>

/* The arguments of offbeat_psend_init or offbeat_precv_init. */
typedef struct arguments {
    const char *function, *peer_name;
    int is_send;
    void *buffer;
    int partitions;
    MPI_Count count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
} arguments;

static int check_peer(const arguments *given, const offbeat_partitioned_comm *comm) {
    if (given->peer == MPI_ANY_SOURCE)
        return offbeat_partitioned_fail(
            given->comm, MPI_ERR_RANK,
            "%s: the source is MPI_ANY_SOURCE; a partitioned receive needs one rank", given->function);
    if (given->peer != MPI_PROC_NULL && (given->peer < 0 || given->peer >= comm->peers))
        return offbeat_partitioned_fail(given->comm, MPI_ERR_RANK,
                                        "%s: the %s is %d; it must be 0 to %d, or MPI_PROC_NULL",
                                        given->function, given->peer_name, given->peer, comm->peers - 1);
    if (given->tag == MPI_ANY_TAG)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_TAG,
                                        "%s: the tag is MPI_ANY_TAG; a partitioned receive needs one tag",
                                        given->function);
    if (given->tag < 0 || given->tag > comm->largest_tag)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_TAG, "%s: the tag is %d; it must be 0 to %d",
                                        given->function, given->tag, comm->largest_tag);
    return MPI_SUCCESS;
}

static int check(const arguments *given, offbeat_partitioned_comm **comm, offbeat_prequest *request) {
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
    return check_peer(given, *comm);
}

/* The caller may free a datatype of its own while the request exists. */
static int keep_datatype(MPI_Datatype datatype, offbeat_partitioned_request *request) {
    int integers, addresses, datatypes, combiner;
    MPI_Count size;
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_size_x(datatype, &size);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_get_extent(datatype, &lower, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    request->element_bytes = size;
    request->extent = extent;
    request->datatype = datatype;
    request->owns_datatype = combiner != MPI_COMBINER_NAMED;
    return request->owns_datatype ? PMPI_Type_dup(datatype, &request->datatype) : MPI_SUCCESS;
}

/* A request with what is equal for sends and receives. @return an MPI error code */
static int describe(const arguments *given, offbeat_partitioned_comm *comm,
                    offbeat_partitioned_request **created) {
    offbeat_partitioned_request *request = calloc(1, sizeof *request);
    *created = request;
    if (request == NULL)
        return MPI_ERR_NO_MEM;
    offbeat_partitioned_comm_use(comm);
    request->comm = comm;
    request->is_send = given->is_send;
    request->is_null = given->peer == MPI_PROC_NULL;
    request->buffer = given->buffer;
    request->partitions = given->partitions;
    request->count = given->count;
    request->user_peer = given->peer;
    request->peer =
        request->is_null || comm->root_ranks == NULL ? given->peer : comm->root_ranks[given->peer];
    request->tag = given->tag;
    request->setup_request = request->reply_request = MPI_REQUEST_NULL;
    atomic_flag_clear(&request->busy);
    return keep_datatype(given->datatype, request);
}

/* Ends an initialisation: the caller gets the request, or the error is raised. */
static int conclude(const arguments *given, int rc, offbeat_partitioned_request *created,
                    offbeat_prequest *request) {
    offbeat_partitioned_progress();
    if (rc == MPI_SUCCESS) {
        *request = created;
        return rc;
    }
    if (created != NULL)
        offbeat_partitioned_discard(created);
    if (rc == OFFBEAT_PARTITIONED_NO_TAGS)
        return offbeat_partitioned_fail(
            given->comm, MPI_ERR_TAG,
            "%s: all tags for messages are in use; free requests that are not needed, or "
            "use fewer messages",
            given->function);
    return offbeat_partitioned_raise(given->comm, rc);
}

int offbeat_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    const arguments given = {
        "offbeat_psend_init", "destination", 1, (void *)buffer, partitions, count, datatype, dest, tag, comm};
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    offbeat_partitioned_send_settings settings;
    offbeat_partitioned_comm *attached = NULL;
    offbeat_partitioned_request *send;
    int rc = check(&given, &attached, request);
    if (rc != MPI_SUCCESS || attached == NULL)
        return rc;
    if (!offbeat_partitioned_read_send_settings(info, &settings, why))
        return offbeat_partitioned_fail(comm, MPI_ERR_INFO_VALUE, "%s: %s", given.function, why);
    rc = describe(&given, attached, &send);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_send_init(send, &settings);
    return conclude(&given, rc, send, request);
}

int offbeat_precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    const arguments given = {
        "offbeat_precv_init", "source", 0, buffer, partitions, count, datatype, source, tag, comm};
    offbeat_partitioned_comm *attached = NULL;
    offbeat_partitioned_request *receive;
    (void)info; /* the sender decides */
    int rc = check(&given, &attached, request);
    if (rc != MPI_SUCCESS || attached == NULL)
        return rc;
    rc = describe(&given, attached, &receive);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_receive_init(receive);
    return conclude(&given, rc, receive, request);
}
