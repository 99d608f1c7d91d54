/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file verbs.h
 * The commands of the worklist. Every process calls the function of a command with the same command, and rank
 * 0 answers.
 */
#ifndef OFFBEAT_VERBS_H
#define OFFBEAT_VERBS_H

#include "benchmark/session.h"

/** "force VAR=VALUE ...": restores the variables that were set before, sets the given variables on every
 * process, and re-creates the communicators of the calls under test where the library requires it. */
void offbeat_force(offbeat_session *session, const offbeat_command *command);

/** "variables regex=R": the library's control variables. */
void offbeat_list_variables(offbeat_session *session, const offbeat_command *command);

/** "check collective=...": calls the collective once and compares its result with the expected one. Answers
 * the number of wrong elements and the MPI error. The call may be any legal one: on some of the processes, in
 * place, with other counts, and with null values for the arguments that MPI ignores. */
void offbeat_check(offbeat_session *session, const offbeat_command *command);

/** "observe collective=...": answers the algorithm functions entered and the messages sent in one call. */
void offbeat_observe(offbeat_session *session, const offbeat_command *command);

/** "fingerprint collective=... delay_ns=D": delays one rank after another, by D or twice the duration of an
 * undelayed call, whichever is longer. Answers which ranks left the call late each time. */
void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command);

/** "measure collective=... repetitions=N attempts=M duration_ns=S tolerance_ns=T delays=...": measures the
 * collective with these delays, and writes the sample file. A repetition is invalid if the lateness of a
 * process plus the error bound of its clock exceeds the tolerance. With sequence=FILE each repetition has the
 * delays of one call of FILE; an invalid repetition is repeated with the same call. */
void offbeat_measure(offbeat_session *session, const offbeat_command *command);

/** "pingpong from=A to=B bytes=N messages=K": each repetition is K round trips between two processes. Answers
 * the duration of each repetition. */
void offbeat_pingpong(offbeat_session *session, const offbeat_command *command);

/** "late from=A to=B bytes=N delay_ns=D": each repetition is one message whose receive is posted D after the
 * send. Answers the durations of both calls: a send that takes less than D did not wait for the receiver. */
void offbeat_late(offbeat_session *session, const offbeat_command *command);

/** "stream senders=A,... receivers=B,... bytes=N messages=K": each repetition is K messages from each sender
 * to its receiver, all posted at a common start. Answers the time until the last message was received. */
void offbeat_stream(offbeat_session *session, const offbeat_command *command);

/** "local work=reduce bytes=N messages=K": each repetition is K reductions (sums of doubles) or copies of N
 * bytes on rank 0. Answers the duration of each repetition. */
void offbeat_local(offbeat_session *session, const offbeat_command *command);

/** "start by=B collective=...": N starts, by MPI_Barrier or harmonised, each followed by a collective or by
 * nothing. Answers for each start the skew between the processes, with the range that the clocks' error
 * bounds allow; the duration of the collective (sum over the processes, and maximum); and for each process
 * its median lag after the first process. */
void offbeat_start_by(offbeat_session *session, const offbeat_command *command);

/** "sync method=M processes=P": creates a clock on the first P processes and synchronises it N times. Answers
 * the duration, the number of ping-pongs and the error bound of each synchronisation. */
void offbeat_sync(offbeat_session *session, const offbeat_command *command);

/** "accuracy methods=M,... ages=A,...": in each round synchronises a clock of each method, and compares it
 * with the clock of rank 0 immediately and at each age. Answers an interval that contains the error of each
 * comparison, and the clock's own error bound. */
void offbeat_accuracy(offbeat_session *session, const offbeat_command *command);

/** "hello": library, clock, binding, and the largest lateness in 20 harmonised starts. */
void offbeat_hello(offbeat_session *session);

#endif
