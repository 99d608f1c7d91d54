/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file answer.h
 * The answer to a command: one line, "@offbeat " and a JSON object with the key "ok". If "ok" is false, "why"
 * has the error message.
 *
 * A key that the verb's answer does not have according to protocol.c, and a key that is missing at the end of
 * an answer, are programming errors and abort.
 */
#ifndef OFFBEAT_ANSWER_H
#define OFFBEAT_ANSWER_H

#include "protocol/protocol.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct offbeat_answer {
    FILE *stream; /**< NULL: nothing is written, as on all ranks but 0 */
    const offbeat_verb *verb;
    unsigned written_keys; /**< a bit for each key that was written */
} offbeat_answer;

/** Writes @p text as a quoted JSON string; bytes that are not ASCII become '?'. */
void offbeat_json_text(const char *text, FILE *stream);

/** Answers {"ok":false,"why":...}. */
void offbeat_answer_failure(offbeat_answer *answer, const char *why);

void offbeat_answer_begin(offbeat_answer *answer, const offbeat_verb *verb);

/** Writes a key without its value. @return the file for the value; NULL if nothing is written */
FILE *offbeat_answer_key_of(offbeat_answer *answer, const char *key, offbeat_type type);

/** @name A key with its value */
///@{
void offbeat_answer_number(offbeat_answer *answer, const char *key, int64_t value);
void offbeat_answer_flag(offbeat_answer *answer, const char *key, int value);
void offbeat_answer_text(offbeat_answer *answer, const char *key, const char *text);
void offbeat_answer_texts(offbeat_answer *answer, const char *key, const char *const *texts, size_t count);
void offbeat_answer_numbers(offbeat_answer *answer, const char *key, const int64_t *values, size_t count);
void offbeat_answer_time(offbeat_answer *answer, const char *key, double value_s);
void offbeat_answer_times(offbeat_answer *answer, const char *key, const double *values_s, size_t count);
///@}

/** Ends and flushes the line. */
void offbeat_answer_end(offbeat_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
