/* SPDX-License-Identifier: BSD-3-Clause */
/** @file message.h  A partitioned message of integers from rank 0 to rank 1, as one of the processes sees it.
 */
#ifndef OFFBEAT_CONFORMANCE_MESSAGE_H
#define OFFBEAT_CONFORMANCE_MESSAGE_H

#include "conformance/conformance.h"

typedef struct message {
    int is_send;
    int partitions, count; /**< of this process: count elements in each partition */
    int *data;             /**< partitions × count elements, and a guard behind them */
    partitioned_request request;
} message;

/** The element at an index of the message number @p seed. */
int element_of(int seed, int index);

/** Initialises the request of rank 0, which sends @p total elements in @p from partitions, or that of rank 1,
 * which receives them in @p to partitions. */
message open_message(int send_parts, int receive_parts, int total, int tag);

/** Initialises a request of this process with equal partitions on both sides. */
message open_request(int is_send, int partitions, int count, int peer, int tag, MPI_Comm comm);

/** Fills a partition of the sender, or all elements: of the receiver with a wrong value. */
void fill_partition(message *msg, int partition, int seed);
void fill(message *msg, int seed);

/** Fills and starts. */
void start(message *msg, int seed);

/** Marks all partitions of the sender as ready, in an order that depends on the seed. */
void ready_all(message *msg, int seed);

void complete(message *msg);

/** Checks a range of elements of the receiver, or all of them and the guard. */
void expect_elements(const message *msg, int seed, int first, int last);
void expect_message(const message *msg, int seed);

/** All of the above after open_message. */
void transfer(message *msg, int seed);

void close_message(message *msg);

#endif
