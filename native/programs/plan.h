/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plan.h
 * The plan of a program of many iterations, as the front end writes it: what this process does in an
 * iteration.
 *
 * The plan is a text with one step per line; its verbs are those of OFFBEAT_EXECUTOR in protocol/protocol.c.
 */
#ifndef OFFBEAT_PLAN_H
#define OFFBEAT_PLAN_H

#include <stddef.h>
#include <stdint.h>

typedef enum program_step_kind {
    PROGRAM_WORK,
    PROGRAM_EXCHANGE,
    PROGRAM_COLLECTIVE,
    PROGRAM_DELAY /**< no phase of the program: only delays */
} program_step_kind;

typedef enum program_sends {
    PROGRAM_NONBLOCKING,
    PROGRAM_BLOCKING,
    PROGRAM_SYNCHRONOUS,
    PROGRAM_BUFFERED
} program_sends;

/** A message of this process: its partner, and whether it is sent. */
typedef struct program_message {
    int partner;
    int bytes;
    int is_sent;
} program_message;

/** The collective of a step, as offbeat_request has it. */
typedef struct program_collective {
    char *collective, *datatype, *op;
    int64_t bytes;
    int root;
    int communicators, stride; /**< the members of offbeat_layout (collectives/layout.h) */
} program_collective;

/** A step; the members of other kinds of steps are 0. */
typedef struct program_step {
    program_step_kind kind;
    int64_t period;
    int64_t memory_bytes, flops, time_ns; /**< of work, of this process */
    program_sends sends;
    program_message *messages; /**< of this process in the order of the plan */
    int message_count;
    program_collective call;
} program_step;

/** What this process does. */
typedef struct program_plan {
    int ranks;
    int64_t iterations;
    int alone;            /**< how often each phase is executed alone before the iterations */
    int64_t buffer_bytes; /**< of the arrays of work; 0: the default */
    program_step *steps;
    int step_count;
} program_plan;

/**
 * Parses a plan for one rank. Local, with the same result on all ranks except for their shares.
 * @param text is modified
 * @return NULL, or an error message (static storage) that names the line
 */
const char *program_plan_parse(char *text, int rank, program_plan *plan);

/** Whether a step is a phase of the program, which can be timed alone. */
int program_step_is_phase(const program_step *step);

/** The number of steps that are phases. */
int program_plan_phases(const program_plan *plan);

void program_plan_free(program_plan *plan);

#endif
