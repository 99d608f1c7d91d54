/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file subset.h
 * Communicators of some of the processes, for calls of other numbers of processes than the launch has.
 *
 * They are made without a collective of the library (MPI_Comm_create_group sends messages), as the library's
 * collectives may be forced to algorithms that do not work, and kept until the library must choose anew.
 */
#ifndef OFFBEAT_SUBSET_H
#define OFFBEAT_SUBSET_H

#include "benchmark/session.h"

/** One communicator, in a list; the session holds the first. */
typedef struct offbeat_subset {
    char *ranks;   /**< the list as the command has it */
    MPI_Comm comm; /**< MPI_COMM_NULL on processes that are not among them */
    struct offbeat_subset *next;
} offbeat_subset;

/**
 * The communicator of the ranks in the command's list "members", in the order of the list; the session's test
 * communicator where the command has no such list. Collective over all processes.
 * @param[out] comm MPI_COMM_NULL on processes that are not among them
 * @return NULL, or a sentence on the list (static storage, the same on all processes)
 */
const char *offbeat_subset_comm(offbeat_session *session, const offbeat_command *command, MPI_Comm *comm);

/** Frees the communicator of the command's list: messages of a failed call may be left on it. */
void offbeat_subset_renew(offbeat_session *session, const offbeat_command *command);

/** Frees all of them. */
void offbeat_subset_free(offbeat_session *session);

#endif
