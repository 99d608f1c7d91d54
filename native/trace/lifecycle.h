/* SPDX-License-Identifier: BSD-3-Clause */
/** @file lifecycle.h  Begin and end of a trace, and MPI_Pcontrol. */
#ifndef OFFBEAT_TRACE_LIFECYCLE_H
#define OFFBEAT_TRACE_LIFECYCLE_H

/** Begins the trace, after MPI_Init or MPI_Init_thread. Collective over MPI_COMM_WORLD; only the first call
 * has an effect. */
void offbeat_tracer_begin(void);

/** Ends the trace, before MPI_Finalize. Collective over MPI_COMM_WORLD; only the first call has an effect. */
void offbeat_tracer_finalize(void);

/** Marks the trace as aborted, before MPI_Abort. */
void offbeat_tracer_abort(void);

/** MPI_Pcontrol: level 0 pauses recording, 1 resumes it, OFFBEAT_TRACE_SYNC_LEVEL synchronises the clocks. */
void offbeat_tracer_pcontrol(int level);

#endif
