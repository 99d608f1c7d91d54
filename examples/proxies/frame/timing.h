/* SPDX-License-Identifier: BSD-3-Clause */
/** @file timing.h  How long a process computes and how long it is inside MPI, over all iterations. */
#ifndef FRAME_TIMING_H
#define FRAME_TIMING_H

/** What a process is doing: computing, or inside the calls of one kind of communication. */
typedef enum phase { COMPUTATION, HALO_EXCHANGE, COLLECTIVE, PHASES } phase;

typedef struct timing {
    double phase_s[PHASES];
    double since_s; /**< when the present phase began */
    phase now;
    long iterations;
} timing;

/** Waits for all processes and begins with COMPUTATION. Collective. */
void timing_start(timing *t);

/** Marks the beginning of an iteration by MPI_Pcontrol(2): a tracer can divide the run there. */
void timing_iteration(timing *t);

/** Ends the present phase and begins the next one. */
void timing_enter(timing *t, phase next);

/** Ends the last phase. */
void timing_stop(timing *t);

/** The time of all phases. */
double timing_total_s(const timing *t);

#endif
