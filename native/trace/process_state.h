/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file process_state.h
 * State of the traced process: its configuration, its clock with the clock points in the file, whether it
 * records now; and the begin and end of its trace and of injected delays.
 */
#ifndef OFFBEAT_TRACE_PROCESS_STATE_H
#define OFFBEAT_TRACE_PROCESS_STATE_H

#include "trace/trace_config.h"

#include <offbeat/clock.h>
#include <stdatomic.h>
#include <time.h>

typedef struct offbeat_tracer_process_state {
    MPI_Comm world; /**< MPI_COMM_WORLD; of a program with sessions only, one of all processes */
    int has_sessions_only;
    int rank, size;       /**< in `world` */
    offbeat_clock *clock; /**< synchronised across all processes, including those that write no file */
    int is_monotonic;     /**< the source of the clock is CLOCK_MONOTONIC, which is then read directly */
    offbeat_tracer_config config;
    int64_t window_start_ns, window_end_ns; /**< calls that enter between these local times are recorded */
} offbeat_tracer_process_state;

/** Constant while offbeat_tracer_is_tracing. */
extern offbeat_tracer_process_state offbeat_tracer_state;

/** Whether this process writes records now. */
extern _Atomic int offbeat_tracer_is_tracing;

/** Whether MPI_Pcontrol has paused recording; calls are still counted. */
extern _Atomic int offbeat_tracer_is_paused;

/** The local clock now. */
static inline int64_t offbeat_tracer_now_ns(void) {
    struct timespec now;
    if (!offbeat_tracer_state.is_monotonic)
        return offbeat_clock_local_ns(offbeat_tracer_state.clock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** Whether a call that enters at a local time is recorded. */
static inline int offbeat_tracer_in_window(int64_t enter_ns) {
    return enter_ns >= offbeat_tracer_state.window_start_ns &&
           enter_ns <= offbeat_tracer_state.window_end_ns &&
           !atomic_load_explicit(&offbeat_tracer_is_paused, memory_order_relaxed);
}

/* --- the clock --- */

/** Creates the synchronised clock. Collective over MPI_COMM_WORLD. @return 0, or -1 on failure on all
 * processes */
int offbeat_tracer_create_clock(void);

/** Converts the window of the configuration to local times. @param start_ns the run's start on the shared
 * clock */
void offbeat_tracer_set_window(int64_t start_ns);

/** Writes a clock point of now, by which readers convert local times of the file to the shared clock. */
void offbeat_tracer_write_clock_point(void);

/**
 * Synchronises the clocks again and writes a clock point of now; where the clock's method stores its
 * constraints, also of the time since @p began_ns. Collective over MPI_COMM_WORLD.
 */
int offbeat_tracer_resync(int64_t began_ns);

/* --- begin and end: lifecycle.c. Calls of MPI from inside these functions, by tools or by the MPI library,
 * are not recorded. --- */

/** Enters MPI_Init or MPI_Init_thread. */
void offbeat_tracer_init_enter(void);

/** Leaves MPI_Init or MPI_Init_thread: begins the trace, or injected delays, or both. Collective over
 * MPI_COMM_WORLD; only the first call has an effect. */
void offbeat_tracer_init_leave(int code);

/** Enters MPI_Finalize: ends the trace. Collective over MPI_COMM_WORLD; only the first call has an effect. */
void offbeat_tracer_finalize_enter(void);

/** Enters MPI_Abort: marks the trace as aborted. */
void offbeat_tracer_abort_enter(void);

/** Leaves MPI_Session_init. */
void offbeat_tracer_session_init_leave(int code);

/** A communicator was created from groups: begins the trace of a program with sessions only (sessions.h).
 * Collective over the communicator. */
void offbeat_tracer_created_from_groups(MPI_Comm newcomm);

/** Enters MPI_Session_finalize: ends the trace of a program with sessions only before its last session ends.
 * Collective over all processes. */
void offbeat_tracer_session_finalize_enter(void);

/** Leaves MPI_Finalize, MPI_Abort or MPI_Session_finalize. */
void offbeat_tracer_end_leave(void);

#endif
