/* SPDX-License-Identifier: BSD-3-Clause */
/** @file transfer.c  What all transfers have in common. */
#include "approaches/transfer.h"

#include <sched.h>
#include <stdlib.h>

int offbeat_thread_of_partition(const offbeat_message *message, int partition) {
    return (int)((((long long)partition + 1) * message->threads - 1) / message->partitions);
}

int offbeat_poll_partitions(offbeat_transfer *transfer,
                            int (*ask)(offbeat_transfer *transfer, int partition, int *has_arrived)) {
    const char *yield = getenv("OFFBEAT_YIELD");
    const int is_shared = yield != NULL && *yield == '1';
    for (int i = 0; i < transfer->message.partitions; i++)
        for (int has_arrived = 0;;) {
            OFFBEAT_TRY(ask(transfer, i, &has_arrived));
            if (has_arrived)
                break;
            if (is_shared)
                sched_yield();
        }
    return MPI_SUCCESS;
}

int offbeat_transfer_open(const offbeat_approach *approach, const offbeat_message *message,
                          offbeat_transfer **transfer) {
    int rank;
    OFFBEAT_TRY(MPI_Comm_rank(message->comm, &rank));
    *transfer = calloc(1, sizeof **transfer);
    if (!*transfer)
        return MPI_ERR_NO_MEM;
    **transfer = (offbeat_transfer){
        .approach = approach,
        .message = *message,
        .is_sender = rank == 0,
        .peer = 1 - rank,
        .comm = MPI_COMM_NULL,
        .peers = MPI_GROUP_NULL,
    };
    int status = MPI_Comm_dup(message->comm, &(*transfer)->comm);
    if (status == MPI_SUCCESS)
        status = MPI_Comm_set_errhandler((*transfer)->comm, MPI_ERRORS_RETURN);
    if (status == MPI_SUCCESS)
        status = approach->open(*transfer);
    if (status != MPI_SUCCESS)
        offbeat_transfer_close(transfer);
    return status;
}

int offbeat_transfer_start(offbeat_transfer *transfer) {
    return transfer->approach->start(transfer);
}

int offbeat_transfer_ready(offbeat_transfer *transfer, int partition) {
    return transfer->approach->ready(transfer, partition);
}

int offbeat_transfer_wait(offbeat_transfer *transfer) {
    return transfer->approach->wait(transfer);
}

static int first_error(int status, int next) {
    return status != MPI_SUCCESS ? status : next;
}

/* Whatever opening has created, also if it failed half-way. */
int offbeat_transfer_close(offbeat_transfer **transfer) {
    offbeat_transfer *closed_transfer = *transfer;
    int status =
        closed_transfer->approach->close ? closed_transfer->approach->close(closed_transfer) : MPI_SUCCESS;
    for (int i = 0; i < closed_transfer->request_count; i++)
        if (closed_transfer->requests[i] != MPI_REQUEST_NULL)
            status = first_error(status, MPI_Request_free(&closed_transfer->requests[i]));
    for (int i = 0; i < closed_transfer->window_count; i++)
        if (closed_transfer->windows[i] != MPI_WIN_NULL)
            status = first_error(status, MPI_Win_free(&closed_transfer->windows[i]));
    for (int i = 0; closed_transfer->lanes && i < closed_transfer->message.threads; i++)
        if (closed_transfer->lanes[i] != MPI_COMM_NULL)
            status = first_error(status, MPI_Comm_free(&closed_transfer->lanes[i]));
    if (closed_transfer->peers != MPI_GROUP_NULL)
        status = first_error(status, MPI_Group_free(&closed_transfer->peers));
    if (closed_transfer->comm != MPI_COMM_NULL)
        status = first_error(status, MPI_Comm_free(&closed_transfer->comm));
    free(closed_transfer->requests);
    free(closed_transfer->statuses);
    free(closed_transfer->windows);
    free(closed_transfer->lanes);
    free(closed_transfer);
    *transfer = NULL;
    return status;
}
