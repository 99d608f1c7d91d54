/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sessions.h
 * Programs that use MPI sessions and do not call MPI_Init. MPI_Session_init is not collective, so that the
 * trace begins when all processes of "mpi://WORLD" have created a communicator together: there the clocks can
 * be synchronised without a process waiting for one that does not take part. The tracer has a session of its
 * own, so that no handle depends on the program's.
 */
#ifndef OFFBEAT_TRACE_SESSIONS_H
#define OFFBEAT_TRACE_SESSIONS_H

#include <mpi.h>

/** Counts a session of the program. */
void offbeat_tracer_session_add(void);

/** Counts the end of a session. @return whether it was the last one */
int offbeat_tracer_session_remove(void);

/** A communicator of the tracer's own session, of all processes, after the program has created one.
 * @return MPI_COMM_NULL if the program has no session, or its communicator has other processes */
MPI_Comm offbeat_tracer_session_world(MPI_Comm new_comm);

/** Frees what offbeat_tracer_session_world created, before the program's last session ends. */
void offbeat_tracer_session_free(MPI_Comm world);

#endif
