/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wait.h
 * Calls of the program that block, while partitioned requests are listed (partitioned/progress.h) and must be
 * progressed.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_WAIT_H
#define OFFBEAT_PARTITIONED_PRELOAD_WAIT_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/** Progresses the listed requests once. One comparison if the program has no partitioned requests.
 * @return whether a call that blocks must progress them meanwhile */
int offbeat_preload_must_progress(void);

/** MPI_Wait for a request that is not a partitioned one. */
int offbeat_preload_wait(MPI_Request *request, MPI_Status *status);

/** A thread that progresses partitioned receives during one call. */
typedef struct offbeat_preload_helper {
    pthread_t thread;
    int is_running;
    atomic_int is_ending;
} offbeat_preload_helper;

/** Begins the thread if receives must be progressed and MPI_THREAD_MULTIPLE allows a thread. */
void offbeat_preload_helper_begin(offbeat_preload_helper *helper);

void offbeat_preload_helper_end(offbeat_preload_helper *helper);

#endif
