/* SPDX-License-Identifier: BSD-3-Clause */
/** @file answer.h  Answers that are made of lists of numbers. */
#ifndef OFFBEAT_ANSWER_H
#define OFFBEAT_ANSWER_H

#include "benchmark/session.h"

/** Begins an answer on rank 0; does nothing elsewhere. */
void offbeat_answer_begin(const offbeat_session *session);

/** Writes numbers of rank 0 as a list behind @p name, which brings its comma, quotes and colon. Elsewhere
 * nothing. */
void offbeat_answer_list(const offbeat_session *session, const char *name, const int64_t *values,
                         size_t count);

/** The same for the numbers of all processes, in the order of their ranks. Collective. */
void offbeat_answer_gathered(const offbeat_session *session, const char *name, const int64_t *values,
                             size_t count);

/** Ends an answer on rank 0; does nothing elsewhere. */
void offbeat_answer_end(const offbeat_session *session);

#endif
