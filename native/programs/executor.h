/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file executor.h
 * Executes the plan of a program: its phases alone, and its iterations.
 */
#ifndef OFFBEAT_EXECUTOR_H
#define OFFBEAT_EXECUTOR_H

#include "programs/delays.h"
#include "programs/plan.h"
#include "programs/record.h"

#include <offbeat/harmonize.h>

/** Levels of MPI_Pcontrol, as offbeat's tracer understands them: only the iterations are traced. */
enum { PROGRAM_PAUSE_TRACE = 0, PROGRAM_RESUME_TRACE = 1, PROGRAM_MARK_ITERATION = 2 };

/** What the steps of a plan need: arrays, buffers, prepared calls. */
typedef struct program_executor program_executor;

/**
 * Prepares all steps, and creates the communicators of collectives. Collective over MPI_COMM_WORLD; what
 * fails afterwards is local.
 * @param plan must outlive the executor
 * @param[out] why an error message if the result is NULL (static storage)
 */
program_executor *program_executor_create(const program_plan *plan, const char **why);

/** Executes every step twice without timing, so that connections and caches of the library exist. Collective.
 */
void program_executor_warm_up(program_executor *executor);

/**
 * Executes each phase alone, begun by all processes together, as often as the plan says, and records the
 * durations. Collective.
 */
void program_executor_alone(program_executor *executor, offbeat_start_context *starts,
                            const offbeat_clock *clock, const program_record *record);

/** Executes the iterations after a common start, and records each when it is complete. Collective. */
void program_executor_iterate(program_executor *executor, offbeat_start_context *starts,
                              const offbeat_clock *clock, program_delays *delays,
                              const program_record *record);

void program_executor_free(program_executor *executor);

#endif
