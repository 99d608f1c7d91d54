/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation of requests: the checks of what the caller gave, and a request that describes it.
 */
#include "partitioned/arguments.h"
#include "partitioned/errors.h"
#include "partitioned/progress.h"
#include "partitioned/receive.h"
#include "partitioned/send.h"

#include <stdlib.h>

typedef offbeat_partitioned_arguments arguments;

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
    int rc = offbeat_partitioned_find_comm(given, comm, request);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_check_elements(given);
    return rc == MPI_SUCCESS ? check_peer(given, *comm) : rc;
}

/* Ends an initialisation: the caller gets the request, or the error is raised. */
static int conclude(const arguments *given, int rc, offbeat_partitioned_request *created,
                    offbeat_prequest *request) {
    offbeat_partitioned_progress_some();
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
    rc = offbeat_partitioned_describe(&given, attached, &send);
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
    rc = offbeat_partitioned_describe(&given, attached, &receive);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_receive_init(receive);
    return conclude(&given, rc, receive, request);
}
