/* SPDX-License-Identifier: BSD-3-Clause */
/** @file messages.c  Approaches by messages: a single one, one a partition, and the library's partitioned
 * calls. */
#include "approaches/transfer.h"

#include <stdlib.h>

/* Tags differ by partition, so that messages of one communicator match whatever their order is. */
enum { TAG = 1 };

/* @return an MPI error code */
static int allocate_requests(offbeat_transfer *transfer, int count) {
    transfer->requests = malloc((size_t)count * sizeof(MPI_Request));
    transfer->statuses = malloc((size_t)count * sizeof(MPI_Status));
    if (!transfer->requests || !transfer->statuses)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < count; i++)
        transfer->requests[i] = MPI_REQUEST_NULL;
    transfer->request_count = count;
    return MPI_SUCCESS;
}

/* A persistent send or receive of `count` partitions, of which `first` is the first one. */
static int prepare(offbeat_transfer *transfer, int first, int count, MPI_Comm comm, MPI_Request *request) {
    unsigned char *data = offbeat_partition_data(transfer, first);
    int bytes = count * transfer->message.partition_bytes;
    if (transfer->is_sender)
        return MPI_Send_init(data, bytes, MPI_BYTE, transfer->peer, TAG + first, comm, request);
    return MPI_Recv_init(data, bytes, MPI_BYTE, transfer->peer, TAG + first, comm, request);
}

static int start_all(offbeat_transfer *transfer) {
    return MPI_Startall(transfer->request_count, transfer->requests);
}

/* The sender's messages start when their partitions are ready. */
static int start_receives(offbeat_transfer *transfer) {
    return transfer->is_sender ? MPI_SUCCESS : start_all(transfer);
}

static int wait_for_all(offbeat_transfer *transfer) {
    return MPI_Waitall(transfer->request_count, transfer->requests, transfer->statuses);
}

/* --- a single message, when all partitions are ready --- */

static int open_single(offbeat_transfer *transfer) {
    OFFBEAT_TRY(allocate_requests(transfer, 1));
    return prepare(transfer, 0, transfer->message.partitions, transfer->comm, transfer->requests);
}

static int ready_single(offbeat_transfer *transfer, int partition) {
    (void)transfer;
    (void)partition;
    return MPI_SUCCESS;
}

static int wait_single(offbeat_transfer *transfer) {
    if (transfer->is_sender)
        OFFBEAT_TRY(start_all(transfer));
    return wait_for_all(transfer);
}

const offbeat_approach offbeat_approach_single = {
    .name = "single",
    .open = open_single,
    .start = start_receives,
    .ready = ready_single,
    .wait = wait_single,
};

/* --- one message a partition, on a communicator a thread --- */

static int open_many(offbeat_transfer *transfer) {
    const offbeat_message *message = &transfer->message;
    transfer->lanes = malloc((size_t)message->threads * sizeof(MPI_Comm));
    if (!transfer->lanes)
        return MPI_ERR_NO_MEM;
    for (int thread = 0; thread < message->threads; thread++)
        transfer->lanes[thread] = MPI_COMM_NULL;
    for (int thread = 0; thread < message->threads; thread++)
        OFFBEAT_TRY(MPI_Comm_dup(transfer->comm, &transfer->lanes[thread]));
    OFFBEAT_TRY(allocate_requests(transfer, message->partitions));
    for (int partition = 0; partition < message->partitions; partition++) {
        MPI_Comm lane = transfer->lanes[offbeat_thread_of_partition(message, partition)];
        OFFBEAT_TRY(prepare(transfer, partition, 1, lane, &transfer->requests[partition]));
    }
    return MPI_SUCCESS;
}

static int ready_many(offbeat_transfer *transfer, int partition) {
    return MPI_Start(&transfer->requests[partition]);
}

const offbeat_approach offbeat_approach_many = {
    .name = "many",
    .open = open_many,
    .start = start_receives,
    .ready = ready_many,
    .wait = wait_for_all,
};

/* --- the library's partitioned calls --- */

#if OFFBEAT_HAS_PARTITIONED
static int open_library(offbeat_transfer *transfer) {
    const offbeat_message *message = &transfer->message;
    OFFBEAT_TRY(allocate_requests(transfer, 1));
    if (transfer->is_sender)
        return MPI_Psend_init(message->data, message->partitions, message->partition_bytes, MPI_BYTE,
                              transfer->peer, TAG, transfer->comm, MPI_INFO_NULL, transfer->requests);
    return MPI_Precv_init(message->data, message->partitions, message->partition_bytes, MPI_BYTE,
                          transfer->peer, TAG, transfer->comm, MPI_INFO_NULL, transfer->requests);
}

static int ready_library(offbeat_transfer *transfer, int partition) {
    return MPI_Pready(partition, transfer->requests[0]);
}

static int ask_library(offbeat_transfer *transfer, int partition, int *has_arrived) {
    return MPI_Parrived(transfer->requests[0], partition, has_arrived);
}

static int poll_and_wait(offbeat_transfer *transfer) {
    if (!transfer->is_sender)
        OFFBEAT_TRY(offbeat_poll_partitions(transfer, ask_library));
    return wait_for_all(transfer);
}

const offbeat_approach offbeat_approach_library_polled = {
    .name = "library_polled",
    .open = open_library,
    .start = start_all,
    .ready = ready_library,
    .wait = poll_and_wait,
};

const offbeat_approach offbeat_approach_library = {
    .name = "library",
    .open = open_library,
    .start = start_all,
    .ready = ready_library,
    .wait = wait_for_all,
};
#endif
