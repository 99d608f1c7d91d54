/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/timing.h"

#include <mpi.h>

void timing_start(timing *t) {
    *t = (timing){.now = COMPUTATION};
    MPI_Barrier(MPI_COMM_WORLD);
    t->since_s = MPI_Wtime();
}

void timing_iteration(timing *t) {
    MPI_Pcontrol(2);
    t->iterations++;
}

void timing_enter(timing *t, phase next) {
    const double now_s = MPI_Wtime();
    t->phase_s[t->now] += now_s - t->since_s;
    t->since_s = now_s;
    t->now = next;
}

void timing_stop(timing *t) {
    timing_enter(t, COMPUTATION);
}

double timing_total_s(const timing *t) {
    double sum_s = 0;
    for (int i = 0; i < PHASES; i++)
        sum_s += t->phase_s[i];
    return sum_s;
}
