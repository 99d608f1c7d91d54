/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file identity.h
 * Names communicators by numbers that are equal on all of their processes, without communication: a process
 * derives the identity of a new communicator from that of its parent and from the number of communicators
 * that were created from the parent before. Functions that create communicators are collective over the
 * parent, so that all processes call them in the same order. Communicators of one call of MPI_Comm_split or
 * MPI_Comm_create have equal identities and no common process.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_IDENTITY_H
#define OFFBEAT_PARTITIONED_PRELOAD_IDENTITY_H

#include <mpi.h>
#include <stdint.h>

/** Attaches MPI_COMM_WORLD. Collective, at the end of MPI_Init. */
int offbeat_preload_begin(void);

/** Counts one more communicator of a parent. @return its identity; 0: the parent has none */
int64_t offbeat_preload_child_identity(MPI_Comm parent);

/** An identity for a communicator that no function collective over one parent creates. Collective over it.
 * @return 0 when MPI failed */
int64_t offbeat_preload_agreed_identity(MPI_Comm comm);

/** Gives a new communicator its identity; does nothing for MPI_COMM_NULL and identity 0. */
void offbeat_preload_set_identity(MPI_Comm comm, int64_t identity);

/** Attaches a communicator to MPI_COMM_WORLD before its first partitioned request. Local.
 * @param function the name of the caller, for the error that is raised when the communicator has no identity
 */
int offbeat_preload_attach(const char *function, MPI_Comm comm);

#endif
