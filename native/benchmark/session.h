/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file session.h
 * What the driver holds while it runs, and its verbs.
 *
 * Every process parses the same command; rank 0 answers with one line on the front end's pipe: "@offbeat "
 * and a JSON object with the key "ok". Bulk data goes to the sample file.
 */
#ifndef OFFBEAT_SESSION_H
#define OFFBEAT_SESSION_H

#include "benchmark/command.h"
#include "collectives/collectives.h"

#include <offbeat/clock.h>
#include <offbeat/harmonize.h>
#include <stdio.h>

struct offbeat_subset;

/** One driver process. */
typedef struct offbeat_session {
    int rank, p;
    MPI_Comm control;    /**< the driver's own messages */
    MPI_Comm test;       /**< the communicator that collectives under test are called on */
    FILE *answers;       /**< rank 0: the front end's pipe; elsewhere NULL */
    const char *samples; /**< file that measure writes, on rank 0's node; NULL: none */
    offbeat_clock *clock;
    offbeat_start_context *harmony;
    struct offbeat_subset *subsets; /**< communicators of some of the processes (subset.h) */
} offbeat_session;

/** Writes {"ok":false,"why":...} on rank 0. */
void offbeat_answer_failure(offbeat_session *session, const char *why);

/** Prepares the call that a command names, on every process. Collective. @return NULL on all of them after
 * answering why not */
offbeat_call *offbeat_session_call(offbeat_session *session, const offbeat_command *command);

/** The request of a command, for a communicator. */
offbeat_request offbeat_session_request(const offbeat_command *command, MPI_Comm comm);

/** A harmonised start with this process's delay; ends the launch where it fails. Collective. */
void offbeat_session_start(offbeat_session *session, int64_t delay_ns, offbeat_start *start);

/** "force VAR=VALUE ...": resets what was forced before, sets the variables on every process, renews test
 * where needed. */
void offbeat_force(offbeat_session *session, const offbeat_command *command);

/** "variables regex=R": the library's control variables. */
void offbeat_list_variables(offbeat_session *session, const offbeat_command *command);

/** "check collective=...": calls the collective, compares results. Answers wrong elements and the MPI error.
 * Any legal call can be asked for: on some of the processes, in place, with other counts, and with nothing in
 * the arguments that MPI ignores. */
void offbeat_check(offbeat_session *session, const offbeat_command *command);

/** "observe collective=...": answers the functions entered and the messages sent in one call. */
void offbeat_observe(offbeat_session *session, const offbeat_command *command);

/** "fingerprint collective=... delay_ns=D": delays one rank after another, by D or twice what the call takes
 * undelayed; answers who left late each time. */
void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command);

/** "measure collective=... repetitions=N attempts=M duration_ns=S tolerance_ns=T delays=...": see measure.c.
 * A start is as far from its plan as the process was late and its clock can be wrong, together. With
 * sequence=FILE each valid repetition moves on to the next call of FILE, and an invalid one repeats its own.
 */
void offbeat_measure(offbeat_session *session, const offbeat_command *command);

/** "pingpong from=A to=B bytes=N messages=K": K round trips a repetition between two processes. Answers how
 * long all of them took. */
void offbeat_pingpong(offbeat_session *session, const offbeat_command *command);

/** "late from=A to=B bytes=N delay_ns=D": one message a repetition, whose receiver comes D later than its
 * sender. Answers how long the calls of both took: a send that is over before D did not wait. */
void offbeat_late(offbeat_session *session, const offbeat_command *command);

/** "stream senders=A,... receivers=B,... bytes=N messages=K": K messages from each sender to its receiver,
 * all posted at a common start. Answers how long it took until the last one was there. */
void offbeat_stream(offbeat_session *session, const offbeat_command *command);

/** "local work=reduce bytes=N messages=K": K reductions (sums of doubles) or copies of N bytes on rank 0.
 * Answers how long all of them took. */
void offbeat_local(offbeat_session *session, const offbeat_command *command);

/** "start by=B collective=...": N starts, by MPI_Barrier or harmonised, each with a collective behind it or
 * nothing. Answers how far apart the processes left each start, with what the clock's error leaves possible,
 * what the collective then took (summed over the processes, and the longest), and how long after the first
 * one each process typically left. */
void offbeat_start_by(offbeat_session *session, const offbeat_command *command);

/** "sync method=M processes=P": makes a clock on the first P processes and synchronises it anew N times.
 * Answers how long each sync took, its ping-pongs and its bound. */
void offbeat_sync(offbeat_session *session, const offbeat_command *command);

/** "accuracy methods=M,... ages=A,...": in each round synchronises a clock of each method and compares it
 * with rank 0's right away and at each age. Answers between which bounds the error of each comparison lies,
 * and the clock's own bound. */
void offbeat_accuracy(offbeat_session *session, const offbeat_command *command);

/** What a command says of a clock beside its method; what it does not say is left to the library. */
offbeat_clock_options offbeat_clock_wishes(const offbeat_command *command);

/** "hello": library, clock, binding, and how late the latest of 20 harmonised starts was. */
void offbeat_hello(offbeat_session *session);

#endif
