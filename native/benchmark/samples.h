/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file samples.h
 * Repeating an operation that starts harmonised, and the file of its samples.
 *
 * A repetition is invalid if any process may have missed a planned time by more than the tolerance, where its
 * lateness and the error bound of its clock add up. An invalid repetition is recorded with its flag and
 * repeated.
 */
#ifndef OFFBEAT_SAMPLES_H
#define OFFBEAT_SAMPLES_H

#include "benchmark/session.h"

/** Times in ns since the deadline on the shared clock: of a process, or of one of its partitions. */
typedef struct offbeat_sample {
    int64_t arrival, exit;
    int64_t overshoot; /**< arrival after the planned time */
    int64_t bound;     /**< error bound of the shared clock */
} offbeat_sample;

/** An operation that is repeated. */
typedef struct offbeat_operation {
    void *state;
    /** Runs one repetition, which fills in the samples of this process. Collective.
     * @param call of the sequence; 0 without a sequence
     * @return whether it failed on this process */
    int (*repeat)(offbeat_session *session, void *state, int64_t call, offbeat_sample *samples);
    int partitions;             /**< samples of a process in a repetition */
    const char *failure_answer; /**< the answer if a repetition failed */
    int64_t calls;              /**< of the sequence; 0: every repetition has the same delays */
    int64_t first_call;         /**< of the sequence, from 0 */
} offbeat_operation;

/**
 * Repeats an operation as the command says (repetitions, attempts, duration_ns, unrecorded, tolerance_ns,
 * tolerance_bounds), writes the sample file, and answers tried, valid and, of a sequence, calls and next; the
 * caller ends the answer. Collective.
 * @return the answer; NULL after answering with an error
 */
offbeat_answer *offbeat_measure_repeatedly(offbeat_session *session, const offbeat_command *command,
                                           const offbeat_operation *operation);

#endif
