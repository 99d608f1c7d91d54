/* SPDX-License-Identifier: BSD-3-Clause */
/** @file partitioned.c  Approaches by offbeat's partitioned communication: with the default number of
 * messages, or a learned one; and with a receiver that polls its partitions.
 */
#include "approaches/transfer.h"

#include <offbeat/partitioned.h>

enum { TAG = 1 };

/* @param messages the value of the key offbeat_messages; NULL: the library's default */
static int open_request(offbeat_transfer *transfer, const char *messages) {
    const offbeat_message *message = &transfer->message;
    MPI_Info info = MPI_INFO_NULL;
    if (messages) {
        OFFBEAT_TRY(MPI_Info_create(&info));
        OFFBEAT_TRY(MPI_Info_set(info, "offbeat_messages", messages));
    }
    int status = offbeat_partitioned_attach(transfer->comm, MPI_INFO_NULL);
    if (status == MPI_SUCCESS && transfer->is_sender)
        status = offbeat_psend_init(message->data, message->partitions, message->partition_bytes, MPI_BYTE,
                                    transfer->peer, TAG, transfer->comm, info, &transfer->offbeat_request);
    else if (status == MPI_SUCCESS)
        status = offbeat_precv_init(message->data, message->partitions, message->partition_bytes, MPI_BYTE,
                                    transfer->peer, TAG, transfer->comm, info, &transfer->offbeat_request);
    if (messages)
        OFFBEAT_TRY(MPI_Info_free(&info));
    return status;
}

static int open_sized(offbeat_transfer *transfer) {
    return open_request(transfer, NULL);
}

static int open_learned(offbeat_transfer *transfer) {
    return open_request(transfer, "learned");
}

static int start(offbeat_transfer *transfer) {
    return offbeat_pstart(&transfer->offbeat_request);
}

static int ready(offbeat_transfer *transfer, int partition) {
    return offbeat_pready(partition, transfer->offbeat_request);
}

static int wait(offbeat_transfer *transfer) {
    return offbeat_pwait(&transfer->offbeat_request, MPI_STATUS_IGNORE);
}

static int ask(offbeat_transfer *transfer, int partition, int *has_arrived) {
    return offbeat_parrived(transfer->offbeat_request, partition, has_arrived);
}

static int poll_and_wait(offbeat_transfer *transfer) {
    if (!transfer->is_sender)
        OFFBEAT_TRY(offbeat_poll_partitions(transfer, ask));
    return wait(transfer);
}

static int close_request(offbeat_transfer *transfer) {
    return transfer->offbeat_request ? offbeat_prequest_free(&transfer->offbeat_request) : MPI_SUCCESS;
}

const offbeat_approach offbeat_approach_offbeat = {
    .name = "offbeat",
    .open = open_sized,
    .start = start,
    .ready = ready,
    .wait = wait,
    .close = close_request,
};

const offbeat_approach offbeat_approach_polled = {
    .name = "offbeat_polled",
    .open = open_sized,
    .start = start,
    .ready = ready,
    .wait = poll_and_wait,
    .close = close_request,
};

const offbeat_approach offbeat_approach_learned = {
    .name = "offbeat_learned",
    .open = open_learned,
    .start = start,
    .ready = ready,
    .wait = wait,
    .close = close_request,
};
