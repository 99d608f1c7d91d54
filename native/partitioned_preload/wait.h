/* SPDX-License-Identifier: BSD-3-Clause */
/** @file wait.h  Waiting for requests of MPI while partitioned receives wait for their setup. */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_WAIT_H
#define OFFBEAT_PARTITIONED_PRELOAD_WAIT_H

#include <mpi.h>

/** Whether a call that blocks must progress partitioned receives meanwhile. One comparison if the program has
 * no partitioned requests. */
int offbeat_preload_must_progress(void);

/** MPI_Wait for a request that is not a partitioned one. */
int offbeat_preload_wait(MPI_Request *request, MPI_Status *status);

#endif
