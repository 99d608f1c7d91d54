/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file windows.c
 * Approaches by MPI_Put: active and passive synchronisation, each with a single window or one a thread, and
 * fences.
 *
 * With passive synchronisation empty messages say when the receiver's data may be overwritten, and when it is
 * complete.
 */
#include "approaches/transfer.h"

#include <stdlib.h>

enum { TAG_EXPOSED = 1, TAG_COMPLETE = 2, RECEIVER = 1 };

/* Windows on the receiver's data; the sender's are empty. */
static int open_windows(offbeat_transfer *transfer, int count) {
    const offbeat_message *message = &transfer->message;
    MPI_Aint bytes = transfer->is_sender ? 0 : (MPI_Aint)message->partitions * message->partition_bytes;
    transfer->windows = malloc((size_t)count * sizeof(MPI_Win));
    if (!transfer->windows)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < count; i++)
        transfer->windows[i] = MPI_WIN_NULL;
    transfer->window_count = count;
    for (int i = 0; i < count; i++) {
        OFFBEAT_TRY(
            MPI_Win_create(message->data, bytes, 1, MPI_INFO_NULL, transfer->comm, &transfer->windows[i]));
        OFFBEAT_TRY(MPI_Win_set_errhandler(transfer->windows[i], MPI_ERRORS_RETURN));
    }
    return MPI_SUCCESS;
}

static int put(offbeat_transfer *transfer, int partition) {
    const offbeat_message *message = &transfer->message;
    int thread = transfer->window_count == 1 ? 0 : offbeat_thread_of_partition(message, partition);
    return MPI_Put(offbeat_partition_data(transfer, partition), message->partition_bytes, MPI_BYTE, RECEIVER,
                   (MPI_Aint)partition * message->partition_bytes, message->partition_bytes, MPI_BYTE,
                   transfer->windows[thread]);
}

/* --- passive synchronisation --- */

static int send_empty(offbeat_transfer *transfer, int tag) {
    return MPI_Send(NULL, 0, MPI_BYTE, transfer->peer, tag, transfer->comm);
}

static int receive_empty(offbeat_transfer *transfer, int tag) {
    return MPI_Recv(NULL, 0, MPI_BYTE, transfer->peer, tag, transfer->comm, MPI_STATUS_IGNORE);
}

/* The receiver locks its own window, too, because MPI_Win_sync is legal only then. */
static int open_passive(offbeat_transfer *transfer, int count) {
    OFFBEAT_TRY(open_windows(transfer, count));
    for (int i = 0; i < count; i++)
        OFFBEAT_TRY(MPI_Win_lock(MPI_LOCK_SHARED, RECEIVER, MPI_MODE_NOCHECK, transfer->windows[i]));
    return MPI_SUCCESS;
}

static int open_passive_single(offbeat_transfer *transfer) {
    return open_passive(transfer, 1);
}

static int open_passive_many(offbeat_transfer *transfer) {
    return open_passive(transfer, transfer->message.threads);
}

static int start_passive(offbeat_transfer *transfer) {
    return transfer->is_sender ? receive_empty(transfer, TAG_EXPOSED) : send_empty(transfer, TAG_EXPOSED);
}

static int wait_passive(offbeat_transfer *transfer) {
    if (!transfer->is_sender)
        OFFBEAT_TRY(receive_empty(transfer, TAG_COMPLETE));
    for (int i = 0; i < transfer->window_count; i++)
        OFFBEAT_TRY(transfer->is_sender ? MPI_Win_flush(RECEIVER, transfer->windows[i])
                                        : MPI_Win_sync(transfer->windows[i]));
    return transfer->is_sender ? send_empty(transfer, TAG_COMPLETE) : MPI_SUCCESS;
}

static int close_passive(offbeat_transfer *transfer) {
    for (int i = 0; i < transfer->window_count; i++)
        if (transfer->windows[i] != MPI_WIN_NULL)
            OFFBEAT_TRY(MPI_Win_unlock(RECEIVER, transfer->windows[i]));
    return MPI_SUCCESS;
}

const offbeat_approach offbeat_approach_passive_single = {
    .name = "rma_passive_single",
    .open = open_passive_single,
    .start = start_passive,
    .ready = put,
    .wait = wait_passive,
    .close = close_passive,
};

const offbeat_approach offbeat_approach_passive_many = {
    .name = "rma_passive_many",
    .open = open_passive_many,
    .start = start_passive,
    .ready = put,
    .wait = wait_passive,
    .close = close_passive,
};

/* --- active synchronisation --- */

static int open_active(offbeat_transfer *transfer, int count) {
    MPI_Group pair_group;
    OFFBEAT_TRY(MPI_Comm_group(transfer->comm, &pair_group));
    int status = MPI_Group_incl(pair_group, 1, &transfer->peer, &transfer->peers);
    OFFBEAT_TRY(MPI_Group_free(&pair_group));
    OFFBEAT_TRY(status);
    return open_windows(transfer, count);
}

static int open_active_single(offbeat_transfer *transfer) {
    return open_active(transfer, 1);
}

static int open_active_many(offbeat_transfer *transfer) {
    return open_active(transfer, transfer->message.threads);
}

static int start_active(offbeat_transfer *transfer) {
    for (int i = 0; i < transfer->window_count; i++)
        OFFBEAT_TRY(transfer->is_sender ? MPI_Win_start(transfer->peers, 0, transfer->windows[i])
                                        : MPI_Win_post(transfer->peers, 0, transfer->windows[i]));
    return MPI_SUCCESS;
}

static int wait_active(offbeat_transfer *transfer) {
    for (int i = 0; i < transfer->window_count; i++)
        OFFBEAT_TRY(transfer->is_sender ? MPI_Win_complete(transfer->windows[i])
                                        : MPI_Win_wait(transfer->windows[i]));
    return MPI_SUCCESS;
}

const offbeat_approach offbeat_approach_active_single = {
    .name = "rma_active_single",
    .open = open_active_single,
    .start = start_active,
    .ready = put,
    .wait = wait_active,
};

const offbeat_approach offbeat_approach_active_many = {
    .name = "rma_active_many",
    .open = open_active_many,
    .start = start_active,
    .ready = put,
    .wait = wait_active,
};

/* --- fences --- */

static int open_fence(offbeat_transfer *transfer) {
    return open_windows(transfer, 1);
}

static int start_fence(offbeat_transfer *transfer) {
    return MPI_Win_fence(MPI_MODE_NOPRECEDE, transfer->windows[0]);
}

static int wait_fence(offbeat_transfer *transfer) {
    return MPI_Win_fence(MPI_MODE_NOSUCCEED, transfer->windows[0]);
}

const offbeat_approach offbeat_approach_fence = {
    .name = "rma_fence",
    .open = open_fence,
    .start = start_fence,
    .ready = put,
    .wait = wait_fence,
};
