/* SPDX-License-Identifier: BSD-3-Clause */
/** @file process.h  What is traced in this process, from MPI_Init to its end. */
#ifndef OFFBEAT_TRACE_PROCESS_H
#define OFFBEAT_TRACE_PROCESS_H

#include "trace/wishes.h"

#include <offbeat/clock.h>
#include <stdatomic.h>
#include <time.h>

typedef struct offbeat_traced_process {
    int rank, size;       /**< in MPI_COMM_WORLD */
    offbeat_clock *clock; /**< of all processes; those that write no file have it, too */
    int is_monotonic;     /**< its source is CLOCK_MONOTONIC, which is read without asking it */
    offbeat_wishes wishes;
    int64_t from_ns, to_ns; /**< calls that enter between these local times are recorded */
} offbeat_traced_process;

/** Fixed while offbeat_is_tracing. */
extern offbeat_traced_process offbeat_process;

/** Whether this process writes records now. */
extern _Atomic int offbeat_is_tracing;

/** Whether MPI_Pcontrol stopped recording; calls are counted all the same. */
extern _Atomic int offbeat_is_paused;

/** The local clock now. */
static inline int64_t offbeat_now_ns(void) {
    struct timespec now;
    if (!offbeat_process.is_monotonic)
        return offbeat_clock_local_ns(offbeat_process.clock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** Whether what enters at a local time is recorded. */
static inline int offbeat_is_time(int64_t enter_ns) {
    return enter_ns >= offbeat_process.from_ns && enter_ns <= offbeat_process.to_ns &&
           !atomic_load_explicit(&offbeat_is_paused, memory_order_relaxed);
}

/** Begins, after MPI_Init or MPI_Init_thread. Collective over MPI_COMM_WORLD; does nothing the second time.
 */
void offbeat_trace_begin(void);

/** Ends, before MPI_Finalize. Collective over MPI_COMM_WORLD; does nothing the second time. */
void offbeat_trace_finalize(void);

/** Marks the end before MPI_Abort. */
void offbeat_trace_abort(void);

/** Obeys MPI_Pcontrol: 0 stops recording, 1 and above goes on; OFFBEAT_TRACE_SYNC_LEVEL synchronises. */
void offbeat_trace_pcontrol(int level);

#endif
