/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file inject.h
 * Delays of the calling process at chosen calls of MPI functions, by the variables of delay_plan.h. The
 * wrappers of a preload library call these functions. A delay is busy waiting: it takes time of the core and
 * moves no data.
 *
 * The report is a JSON object: `functions` has the number of calls of each function over all ranks, `ranks`
 * has a list for each rank: its calls of the chosen function, its occasions, its delays, and their sum in ns.
 * An `error` stands in their place if the plan is invalid; the program then runs without delays.
 */
#ifndef OFFBEAT_INJECT_INJECT_H
#define OFFBEAT_INJECT_INJECT_H

#include <stdatomic.h>
#include <stdint.h>

enum { OFFBEAT_INJECT_MAX_FUNCTIONS = 512 };

/** Whether calls are counted, and delayed. */
extern _Atomic int offbeat_inject_is_active;

/** Whether the variables ask for delays, before and after offbeat_inject_begin. */
int offbeat_inject_is_requested(void);

/**
 * Reads the plan, after MPI_Init. Collective over MPI_COMM_WORLD if delays are requested. Processes that MPI
 * spawned are not delayed.
 * @param name_of   the name of a function by its number, from 1
 * @param functions one more than the largest number, OFFBEAT_INJECT_MAX_FUNCTIONS at most
 */
void offbeat_inject_begin(const char *(*name_of)(int function), int functions);

/** Writes the report, before MPI_Finalize. Collective over MPI_COMM_WORLD if active. */
void offbeat_inject_end(void);

/**
 * Counts a call, and waits if it is to be delayed before it.
 * @return for how many ns to wait after the call
 */
int64_t offbeat_inject_enter(int function);

/** Waits. */
void offbeat_inject_wait(int64_t delay_ns);

#endif
