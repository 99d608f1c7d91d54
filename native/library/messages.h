/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file messages.h
 * Records the messages that MPICH sends inside a collective: their destinations and sizes, at the UCX layer.
 *
 * The driver defines functions with the names of UCX's send functions. The dynamic linker resolves MPICH's
 * calls to them, and they pass every call on to UCX. Only messages through UCX are recorded: between
 * processes of one node some builds of MPICH use it and others do not. With other MPI libraries and
 * transports nothing is recorded, and offbeat_messages_available() returns 0.
 */
#ifndef OFFBEAT_MESSAGES_H
#define OFFBEAT_MESSAGES_H

#include <mpi.h>
#include <stdint.h>

/** One message that this process sent. */
typedef struct offbeat_message {
    int32_t destination;
    int32_t padding;
    int64_t bytes;
} offbeat_message;

/**
 * Finds the UCX endpoint of each rank of @p comm by sending it one message. Collective.
 * @return 1 if messages can be recorded on every process, else 0
 */
int offbeat_messages_available(MPI_Comm comm);

/** Clears the record and starts recording. Local. */
void offbeat_messages_begin(void);

/** Stops recording. Local. @return the number of messages; @p messages points to them, in the order of
 * sending, until the next begin */
int offbeat_messages_end(const offbeat_message **messages);

#endif
