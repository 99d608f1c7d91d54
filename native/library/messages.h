/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file messages.h
 * Proof by messages: who sends how much to whom inside a collective, seen below MPICH at UCX.
 *
 * The driver exports functions of UCX's names; the dynamic linker finds them first, and they pass every call
 * on. Only messages that go through UCX are seen: between processes of one node some builds of MPICH use it,
 * others do not. Elsewhere than on MPICH over UCX nothing is seen, and offbeat_messages_available() says
 * so.
 */
#ifndef OFFBEAT_MESSAGES_H
#define OFFBEAT_MESSAGES_H

#include <mpi.h>
#include <stdint.h>

/** One message that this process sent: in the order of sending. */
typedef struct offbeat_message {
    int32_t to;
    int32_t unused;
    int64_t bytes;
} offbeat_message;

/**
 * Learns which UCX endpoint leads to which rank of @p comm by sending one message to each. Collective.
 * @return 1 when messages can be seen on every process, else 0
 */
int offbeat_messages_available(MPI_Comm comm);

/** Forgets what was seen, and begins to record. Local. */
void offbeat_messages_begin(void);

/** Ends recording. Local. @return number of messages; @p messages points to them until the next begin */
int offbeat_messages_end(const offbeat_message **messages);

#endif
