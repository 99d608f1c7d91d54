/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wait.h
 * Calls of the program that block, while partitioned requests are listed (partitioned/progress.h) and must be
 * progressed.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_WAIT_H
#define OFFBEAT_PARTITIONED_PRELOAD_WAIT_H

#include <mpi.h>

/** Progresses the listed requests once. One comparison if the program has no partitioned requests.
 * @return whether a call that blocks must progress them meanwhile */
int offbeat_preload_must_progress(void);

/** MPI_Wait for a request that is not a partitioned one. */
int offbeat_preload_wait(MPI_Request *request, MPI_Status *status);

/**
 * Called after a start: if a receive waits for its sender, and MPI_THREAD_MULTIPLE allows threads, a thread
 * of this library progresses the receive, whatever the program's threads wait for. The thread sleeps between
 * its tests; it lives until offbeat_preload_end.
 */
void offbeat_preload_progress_started(void);

/** Ends the threads of this library, before MPI_Finalize. */
void offbeat_preload_end(void);

#endif
