/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file approaches.h
 * The ways of sending a message whose partitions become ready one after the other.
 *
 * Gillis and others, "Quantifying the Performance Benefits of Partitioned Communication in MPI" (ICPP 2023),
 * tables 1 and 2. Each message goes from rank 0 to rank 1 of a communicator of two processes. An iteration
 * is:
 *
 *     start   one thread, before the others begin
 *     ready   any thread of the sender, once for each partition
 *     wait    one thread, when all others are done: the message is complete
 *
 * All functions return an MPI error code. Threads that are ready at the same time need MPI_THREAD_MULTIPLE.
 */
#ifndef OFFBEAT_APPROACHES_H
#define OFFBEAT_APPROACHES_H

#include <mpi.h>

/** A message, as the process sees it that sends or receives it. */
typedef struct offbeat_message {
    MPI_Comm comm;       /**< two processes: rank 0 sends, rank 1 receives */
    unsigned char *data; /**< partitions × partition_bytes bytes */
    int partitions;
    int partition_bytes;
    int threads; /**< of the sender: 1 to partitions; neighbouring partitions belong to the same thread */
} offbeat_message;

typedef struct offbeat_transfer offbeat_transfer;

/** An approach. The functions of the receiver's side are the same ones; they look at the rank. */
typedef struct offbeat_approach {
    const char *name;
    int (*open)(offbeat_transfer *transfer);
    int (*start)(offbeat_transfer *transfer);
    int (*ready)(offbeat_transfer *transfer, int partition); /**< never called by the receiver */
    int (*wait)(offbeat_transfer *transfer);
    int (*close)(offbeat_transfer *transfer);
} offbeat_approach;

/** The approaches that this MPI library has; NULL ends them. */
extern const offbeat_approach *const offbeat_approaches[];

/** An approach by its name; NULL if this MPI library does not have it. */
const offbeat_approach *offbeat_approach_find(const char *name);

/** Prepares repeated transfers of a message by an approach. Collective over the message's communicator; its
 * errors are returned, not raised. @param[out] transfer NULL after an error */
int offbeat_transfer_open(const offbeat_approach *approach, const offbeat_message *message,
                          offbeat_transfer **transfer);

int offbeat_transfer_start(offbeat_transfer *transfer);
int offbeat_transfer_ready(offbeat_transfer *transfer, int partition);
int offbeat_transfer_wait(offbeat_transfer *transfer);

/** Frees a transfer that is not between start and wait, and sets it to NULL. Collective. */
int offbeat_transfer_close(offbeat_transfer **transfer);

/** The thread of the sender to which a partition belongs. */
int offbeat_thread_of_partition(const offbeat_message *message, int partition);

#endif
