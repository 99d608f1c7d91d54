/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file attach.h
 * Attached communicators: how their state is found, and how it is shared with other communicators.
 * offbeat_partitioned_attach is in the public header.
 */
#ifndef OFFBEAT_PARTITIONED_ATTACH_H
#define OFFBEAT_PARTITIONED_ATTACH_H

#include "partitioned/communicator.h"

/** The state of an attached communicator; NULL when it is not attached. Local. The caller does not own it. */
offbeat_partitioned_comm *offbeat_partitioned_comm_of(MPI_Comm comm);

/**
 * Lets a communicator use the private communicators of an attached one, whose processes include all of its
 * processes. Local; does nothing if the communicator is attached already. Errors are raised on it.
 * @param identity not 0; equal on all processes of the communicator, and different from those of all other
 *                 communicators in which two of its processes are peers
 */
int offbeat_partitioned_attach_to(MPI_Comm comm, MPI_Comm attached_comm, int64_t identity);

#endif
