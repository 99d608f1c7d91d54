/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file communicators.h
 * The communicators of the calls under test: of all processes, of a subset, or several at the same time.
 *
 * Communicators are kept until the library must select algorithms again. They are created without one of the
 * library's collectives (collectives/layout.h).
 */
#ifndef OFFBEAT_COMMUNICATORS_H
#define OFFBEAT_COMMUNICATORS_H

#include "benchmark/session.h"
#include "collectives/layout.h"

/** The layout of a command with the keys "communicators" and "stride".
 * @return NULL, or an error message (static storage, the same on all processes) */
const char *offbeat_layout_of(const offbeat_session *session, const offbeat_command *command,
                              offbeat_layout *layout);

/** This process's communicator in a layout. Collective over all processes. */
MPI_Comm offbeat_layout_comm(offbeat_session *session, const offbeat_layout *layout);

/** The layout of a command, and its prepared call on every process. Collective.
 * @return the call; NULL on all processes after answering with the error */
offbeat_call *offbeat_call_in_layout(offbeat_session *session, const offbeat_command *command,
                                     offbeat_layout *layout);

/**
 * The communicator of the ranks in a list of the command, in the order of the list. Collective over all
 * processes.
 * @param[out] comm MPI_COMM_NULL on processes outside the list
 * @return NULL, or an error message (static storage, the same on all processes)
 */
const char *offbeat_members_comm(offbeat_session *session, const offbeat_command *command, const char *key,
                                 MPI_Comm *comm);

/**
 * The communicator of the ranks in the command's list "members", in the order of the list; without that list
 * this process's communicator in the command's layout. Collective over all processes.
 * @param[out] comm MPI_COMM_NULL on processes outside the list
 * @return NULL, or an error message (static storage, the same on all processes)
 */
const char *offbeat_command_comm(offbeat_session *session, const offbeat_command *command, MPI_Comm *comm);

/** Frees the communicator of a command, if it is one of some processes: messages of a failed call may be left
 * on it. */
void offbeat_command_comm_discard(offbeat_session *session, const offbeat_command *command);

#endif
