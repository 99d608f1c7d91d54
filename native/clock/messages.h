/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file messages.h
 * A communicator of our own, and a receive that gives the core away while it waits.
 *
 * Some MPI libraries spin in MPI_Recv. With more processes than cores the sender then waits for the
 * receiver's time slice to end, so that every message costs milliseconds.
 */
#ifndef OFFBEAT_CLOCK_MESSAGES_H
#define OFFBEAT_CLOCK_MESSAGES_H

#include <mpi.h>

/** Patience that never gives the core away: a plain MPI_Recv. */
enum { OFFBEAT_NEVER_YIELD = -1 };

/**
 * Duplicates an intra-communicator; errors on the duplicate are returned as codes. Collective.
 * @return MPI_SUCCESS, MPI_ERR_COMM for MPI_COMM_NULL and inter-communicators, or an MPI error code
 */
int offbeat_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

/**
 * Receives a message.
 * @param patience after so many polls without success sched_yield is called between polls;
 * OFFBEAT_NEVER_YIELD
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    int patience);

#endif
