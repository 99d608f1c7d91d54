/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file progress.h
 * What must go on while the program waits for something else: receives whose sender's setup has not arrived
 * or has no reply yet, freed requests whose last message is on its way, and the optional progress thread.
 */
#ifndef OFFBEAT_PARTITIONED_PROGRESS_H
#define OFFBEAT_PARTITIONED_PROGRESS_H

#include "partitioned/request.h"

/** Lists a request until it is settled: a started receive until its messages can be received, a completed one
 * until it has replied to the setup, a started collective until it is complete. */
void offbeat_partitioned_add_waiting(offbeat_partitioned_request *request);

/** Takes a request from the list if it is still there; waits for a thread that progresses the list. */
void offbeat_partitioned_remove_waiting(offbeat_partitioned_request *request);

/** Destroys a freed request as soon as MPI is done with it. */
void offbeat_partitioned_add_freed(offbeat_partitioned_request *request);

/** Whether requests are listed. */
int offbeat_partitioned_needs_progress(void);

/** Whether a started receive waits for its sender's setup, a receive for its reply, or a collective for its
 * messages. */
int offbeat_partitioned_has_waiting(void);

/** Progresses the listed requests, for a call that waits or tests. Cheap when there are none. */
void offbeat_partitioned_progress(void);

/** Progresses some of the listed requests, at each call the next ones: for a call that does not wait. */
void offbeat_partitioned_progress_some(void);

/** MPI_Finalize begins: waits for the last replies to freed requests, and cancels those that do not come. */
void offbeat_partitioned_end_freed(void);

/** Begins the progress thread; does nothing if there is one. @param[out] has_begun whether this call began it
 * @return NULL, or why it cannot begin */
const char *offbeat_partitioned_progress_thread_begin(int *has_begun);

/** Ends the progress thread and waits for its end; does nothing if there is none. */
void offbeat_partitioned_progress_thread_end(void);

#endif
