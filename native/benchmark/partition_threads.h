/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partition_threads.h
 * The sender's threads: each fills its partitions, and marks them as ready at planned times.
 *
 * Between repetitions the threads block. From the moment at which all data are filled until the last
 * partition is ready they poll, so that no thread has to be woken while time is measured; they give their
 * core away between polls, as there may be more threads than cores.
 */
#ifndef OFFBEAT_PARTITION_THREADS_H
#define OFFBEAT_PARTITION_THREADS_H

#include "approaches/approaches.h"

#include <offbeat/clock.h>
#include <stdint.h>

typedef struct offbeat_partition_threads offbeat_partition_threads;

/** When a partition is to be ready and when it was, in ns on the local clock. */
typedef struct offbeat_readiness {
    int64_t planned_ns;
    int64_t possible_ns; /**< planned, or the end of what its thread did before, if that was later */
    int64_t ready_ns;    /**< when the thread marked it */
} offbeat_readiness;

/** Starts message->threads − 1 threads; the calling thread is the first of the team. Running out of memory or
 * threads is fatal. @p transfer, @p message and @p clock must outlive the team. */
offbeat_partition_threads *offbeat_partition_threads_create(offbeat_transfer *transfer,
                                                            const offbeat_message *message,
                                                            const offbeat_clock *clock);

/** Fills the data of a repetition: byte i has the value offbeat_partition_byte(repetition, i). */
void offbeat_partition_threads_fill(offbeat_partition_threads *team, int64_t repetition);

/** After filling: marks every partition as ready at its planned time, a thread's partitions in the order of
 * these times. @param readiness one for each partition @return the first MPI error, or MPI_SUCCESS */
int offbeat_partition_threads_run(offbeat_partition_threads *team, offbeat_readiness *readiness);

/** Ends the threads. */
void offbeat_partition_threads_free(offbeat_partition_threads *team);

static inline unsigned char offbeat_partition_byte(int64_t repetition, int64_t i) {
    return (unsigned char)(31 * repetition + 7 * i + (i >> 8));
}

#endif
