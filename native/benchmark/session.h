/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file session.h
 * The state of the driver while it runs, and the answers to commands.
 *
 * Every process parses the same command; rank 0 answers on the front end's pipe. Samples go to the sample
 * file.
 */
#ifndef OFFBEAT_SESSION_H
#define OFFBEAT_SESSION_H

#include "benchmark/subsets.h"
#include "collectives/collectives.h"
#include "protocol/answer.h"
#include "protocol/command.h"
#include "work/work.h"

#include <offbeat/clock.h>
#include <offbeat/harmonize.h>
#include <stdio.h>

/** The state of one driver process. */
typedef struct offbeat_session {
    int rank, p;
    MPI_Comm control_comm;    /**< of the driver's own messages */
    MPI_Comm test_comm;       /**< of the calls under test */
    const offbeat_verb *verb; /**< that is being executed */
    offbeat_answer answer;    /**< rank 0: to the front end's pipe; elsewhere nothing is written */
    const char *samples;      /**< path of the sample file, on the node of rank 0; NULL: none */
    offbeat_clock *clock;     /**< of all processes */
    offbeat_start_context *start_context; /**< of all processes, over control_comm */
    offbeat_work *work;                   /**< arrays of this process's work; NULL until it is needed */
    offbeat_subset *subsets;              /**< communicators of some of the processes */
} offbeat_session;

/** Fills in a zero-initialised session; a failure is fatal. Collective. @param answers used on rank 0 */
void offbeat_session_open(offbeat_session *session, FILE *answers);

/** Frees the communicators and the clock. Collective. */
void offbeat_session_close(offbeat_session *session);

/** Re-creates the communicators of the calls under test, so that the library selects algorithms again.
 * Collective. */
void offbeat_session_renew_comms(offbeat_session *session);

/** The request of a command, for a communicator. */
offbeat_request offbeat_session_request(const offbeat_command *command, MPI_Comm comm);

/** Prepares the call of a command on all processes, each on its communicator. Collective. @return the call;
 * NULL on all processes, after answering with the error, if one process could not prepare it */
offbeat_call *offbeat_session_call(offbeat_session *session, const offbeat_command *command, MPI_Comm comm);

/** A harmonised start with this process's delay; a failure is fatal. Collective. */
void offbeat_session_start(offbeat_session *session, int64_t delay_ns, offbeat_start *start);

/** Creates the arrays for the work of this process, if it works and has none. Collective.
 * @return 0, or -1 on all processes after answering with the error */
int offbeat_session_prepare_work(offbeat_session *session, int works);

/** The clock options of a command except the method; keys that are missing have the library's defaults. */
offbeat_clock_options offbeat_session_clock_options(const offbeat_command *command);

/** An error message of MPI. */
typedef struct offbeat_error_text {
    char text[MPI_MAX_ERROR_STRING];
} offbeat_error_text;

/** Gathers the error message of the first process with an error on rank 0. Collective.
 * @param error of this process */
void offbeat_session_gather_error(offbeat_session *session, int error, offbeat_error_text *first);

/** Begins the answer to the command that is being executed. */
offbeat_answer *offbeat_session_answer(offbeat_session *session);

/** Answers a list of the numbers of all processes, in the order of their ranks. Collective. */
void offbeat_answer_gathered(offbeat_session *session, const char *key, const int64_t *values, size_t count);

/* --- the functions of the verbs, which protocol/protocol.c describes ---
 *
 * Every process calls the function with the same command, and rank 0 answers. */

void offbeat_force(offbeat_session *session, const offbeat_command *command);
void offbeat_list_variables(offbeat_session *session, const offbeat_command *command);
void offbeat_check(offbeat_session *session, const offbeat_command *command);
void offbeat_call_drawn(offbeat_session *session, const offbeat_command *command);
void offbeat_answer_bits(offbeat_session *session, const offbeat_command *command);
void offbeat_observe(offbeat_session *session, const offbeat_command *command);
void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command);
void offbeat_measure(offbeat_session *session, const offbeat_command *command);
void offbeat_partitioned(offbeat_session *session, const offbeat_command *command);
void offbeat_list_approaches(offbeat_session *session, const offbeat_command *command);
void offbeat_pingpong(offbeat_session *session, const offbeat_command *command);
void offbeat_late(offbeat_session *session, const offbeat_command *command);
void offbeat_stream(offbeat_session *session, const offbeat_command *command);
void offbeat_local(offbeat_session *session, const offbeat_command *command);
void offbeat_time_work(offbeat_session *session, const offbeat_command *command);
void offbeat_start_by(offbeat_session *session, const offbeat_command *command);
void offbeat_sync(offbeat_session *session, const offbeat_command *command);
void offbeat_accuracy(offbeat_session *session, const offbeat_command *command);
void offbeat_hello(offbeat_session *session, const offbeat_command *command);

#endif
