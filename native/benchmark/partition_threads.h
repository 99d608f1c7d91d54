/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partition_threads.h
 * The sender's threads: each fills its partitions, and marks them as ready at planned times.
 *
 * Between repetitions the threads block. From the moment at which all data are filled until the last
 * partition is ready they poll, so that no thread has to be woken while time is measured; they give their
 * core away between polls, as there may be more threads than cores. An MPI error of a thread is fatal,
 * because the message could never be completed.
 */
#ifndef OFFBEAT_PARTITION_THREADS_H
#define OFFBEAT_PARTITION_THREADS_H

#include "approaches/approaches.h"

#include <offbeat/clock.h>
#include <stdint.h>

typedef struct offbeat_partition_threads offbeat_partition_threads;

/** Starts message->threads − 1 threads; the calling thread is the first of the team. Running out of memory or
 * threads is fatal. @p transfer, @p message, @p clock and @p delays_ns (one for each partition) must outlive
 * the team. */
offbeat_partition_threads *offbeat_partition_threads_create(offbeat_transfer *transfer,
                                                            const offbeat_message *message,
                                                            const offbeat_clock *clock,
                                                            const int64_t *delays_ns);

/** Fills the message with the data of a repetition (partition_data.h). */
void offbeat_partition_threads_fill(offbeat_partition_threads *team, int64_t repetition);

/**
 * After filling: marks every partition as ready at the deadline, a time on the shared clock, plus its delay;
 * a thread's partitions in the order of their delays.
 * @param[out] lateness_ns one for each partition: how long after its planned time the thread marked it,
 * without the time that the approach's functions had taken before
 */
void offbeat_partition_threads_run(offbeat_partition_threads *team, int64_t deadline_ns,
                                   int64_t *lateness_ns);

/** Ends the threads. */
void offbeat_partition_threads_free(offbeat_partition_threads *team);

#endif
