/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file verbs.h
 * The functions of the verbs, which protocol/protocol.c describes. Every process calls the function with the
 * same command, and rank 0 answers.
 */
#ifndef OFFBEAT_VERBS_H
#define OFFBEAT_VERBS_H

#include "benchmark/session.h"

void offbeat_force(offbeat_session *session, const offbeat_command *command);
void offbeat_list_variables(offbeat_session *session, const offbeat_command *command);
void offbeat_check(offbeat_session *session, const offbeat_command *command);
void offbeat_observe(offbeat_session *session, const offbeat_command *command);
void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command);
void offbeat_measure(offbeat_session *session, const offbeat_command *command);
void offbeat_partitioned(offbeat_session *session, const offbeat_command *command);
void offbeat_list_approaches(offbeat_session *session, const offbeat_command *command);
void offbeat_pingpong(offbeat_session *session, const offbeat_command *command);
void offbeat_late(offbeat_session *session, const offbeat_command *command);
void offbeat_stream(offbeat_session *session, const offbeat_command *command);
void offbeat_local(offbeat_session *session, const offbeat_command *command);
void offbeat_start_by(offbeat_session *session, const offbeat_command *command);
void offbeat_sync(offbeat_session *session, const offbeat_command *command);
void offbeat_accuracy(offbeat_session *session, const offbeat_command *command);
void offbeat_hello(offbeat_session *session, const offbeat_command *command);

#endif
