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

/* The arguments that only sends and receives have. */
typedef struct pair_arguments {
    const char *peer_name;
    int peer, tag;
} pair_arguments;

static int check_peer(const char *function, const pair_arguments *pair,
                      const offbeat_partitioned_comm *comm) {
    if (pair->peer == MPI_ANY_SOURCE)
        return offbeat_partitioned_fail(
            comm->user, MPI_ERR_RANK,
            "%s: the source is MPI_ANY_SOURCE; a partitioned receive needs one rank", function);
    if (pair->peer != MPI_PROC_NULL && (pair->peer < 0 || pair->peer >= comm->peers))
        return offbeat_partitioned_fail(comm->user, MPI_ERR_RANK,
                                        "%s: the %s is %d; it must be 0 to %d, or MPI_PROC_NULL", function,
                                        pair->peer_name, pair->peer, comm->peers - 1);
    if (pair->tag == MPI_ANY_TAG)
        return offbeat_partitioned_fail(comm->user, MPI_ERR_TAG,
                                        "%s: the tag is MPI_ANY_TAG; a partitioned receive needs one tag",
                                        function);
    if (pair->tag < 0 || pair->tag > comm->largest_tag)
        return offbeat_partitioned_fail(comm->user, MPI_ERR_TAG, "%s: the tag is %d; it must be 0 to %d",
                                        function, pair->tag, comm->largest_tag);
    return MPI_SUCCESS;
}

static int check(const offbeat_partitioned_arguments *arguments, const pair_arguments *pair,
                 offbeat_partitioned_comm **comm, offbeat_prequest *request) {
    int rc = offbeat_partitioned_find_comm(arguments, comm, request);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_check_elements(arguments);
    return rc == MPI_SUCCESS ? check_peer(arguments->function, pair, *comm) : rc;
}

/* Ends an initialisation: the caller gets the request, or the error is raised. */
static int conclude(const offbeat_partitioned_arguments *arguments, int rc,
                    offbeat_partitioned_request *result, offbeat_prequest *request) {
    offbeat_partitioned_progress_some();
    if (rc == MPI_SUCCESS) {
        *request = result;
        return rc;
    }
    if (result != NULL)
        offbeat_partitioned_discard(result);
    if (rc == OFFBEAT_PARTITIONED_NO_TAGS)
        return offbeat_partitioned_fail(
            arguments->comm, MPI_ERR_TAG,
            "%s: all tags for messages are in use; free requests that are not needed, or "
            "use fewer messages",
            arguments->function);
    return offbeat_partitioned_raise(arguments->comm, rc);
}

int offbeat_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    const offbeat_partitioned_arguments arguments = {.function = "offbeat_psend_init",
                                                     .can_be_ready = 1,
                                                     .buffer = (void *)buffer,
                                                     .partitions = partitions,
                                                     .count = count,
                                                     .datatype = datatype,
                                                     .comm = comm};
    const pair_arguments pair = {"destination", dest, tag};
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    offbeat_partitioned_send_settings settings;
    offbeat_partitioned_comm *state = NULL;
    offbeat_partitioned_request *send;
    int rc = check(&arguments, &pair, &state, request);
    if (rc != MPI_SUCCESS || state == NULL)
        return rc;
    if (!offbeat_partitioned_read_send_settings(info, &settings, why))
        return offbeat_partitioned_fail(comm, MPI_ERR_INFO_VALUE, "%s: %s", arguments.function, why);
    rc = offbeat_partitioned_describe(&arguments, state, &offbeat_partitioned_send_operations, &send);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_send_init(send, dest, tag, &settings);
    return conclude(&arguments, rc, send, request);
}

int offbeat_precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    const offbeat_partitioned_arguments arguments = {.function = "offbeat_precv_init",
                                                     .buffer = buffer,
                                                     .partitions = partitions,
                                                     .count = count,
                                                     .datatype = datatype,
                                                     .comm = comm};
    const pair_arguments pair = {"source", source, tag};
    offbeat_partitioned_comm *state = NULL;
    offbeat_partitioned_request *receive;
    (void)info; /* the sender decides */
    int rc = check(&arguments, &pair, &state, request);
    if (rc != MPI_SUCCESS || state == NULL)
        return rc;
    rc = offbeat_partitioned_describe(&arguments, state, &offbeat_partitioned_receive_operations, &receive);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_receive_init(receive, source, tag);
    return conclude(&arguments, rc, receive, request);
}
