/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file protocol.h
 * The protocol of the worklist: the verbs of the drivers and of the executor of programs, the keys of each,
 * and the keys of each answer.
 *
 * protocol.c has the table. The parser (command.h) checks every command against it, the answers (answer.h)
 * are written by it, and `offbeat-driver --protocol` prints it.
 * src/offbeat/libraries/launch/driver_protocol.py has the same messages as Python structures, and
 * tests/mpi/test_protocol.py compares the two.
 */
#ifndef OFFBEAT_PROTOCOL_H
#define OFFBEAT_PROTOCOL_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Incremented when a verb or a key changes; the answer to "hello" has it. */
enum { OFFBEAT_PROTOCOL_VERSION = 1 };

/** The largest time in a command; leaves a margin against overflow in computations with clocks. */
#define OFFBEAT_MAX_NS (INT64_MAX / 16)

/** Whose verb it is: offbeat-driver's, offbeat-smpi's or offbeat-program's. */
typedef enum offbeat_program { OFFBEAT_DRIVER, OFFBEAT_SMPI, OFFBEAT_EXECUTOR } offbeat_program;

/** The type of a value; commands have the first four. */
typedef enum offbeat_type {
    OFFBEAT_NUMBER,  /**< int64 */
    OFFBEAT_NUMBERS, /**< int64, separated by commas; in an answer a list */
    OFFBEAT_TIMES,   /**< seconds as decimal fractions; as above */
    OFFBEAT_TEXT,    /**< without blanks in a command */
    OFFBEAT_TEXTS,
    OFFBEAT_TIME,     /**< seconds */
    OFFBEAT_FLAG,     /**< true or false */
    OFFBEAT_ROWS,     /**< null, then lists of numbers */
    OFFBEAT_VARIABLES /**< objects, which library/variables.c writes */
} offbeat_type;

/** A key of a command. A key with neither a default nor words on its absence is required. */
typedef struct offbeat_key {
    const char *name; /**< NULL after the last key */
    offbeat_type type;
    int64_t minimum, maximum;  /**< of each number, and of each time in seconds */
    const char *choices;       /**< the allowed texts, separated by blanks; NULL: any */
    const char *default_value; /**< as in a command; NULL: none */
    const char *if_missing;    /**< what holds without the key, if default_value does not say it */
    const char *meaning;
} offbeat_key;

/** A key of an answer. */
typedef struct offbeat_answer_key {
    const char *name; /**< NULL after the last key */
    offbeat_type type;
    int is_optional;
} offbeat_answer_key;

/** A verb; the description is Markdown. */
typedef struct offbeat_verb {
    offbeat_program program;
    const char *name; /**< NULL after the last verb */
    const char *description;
    const offbeat_key *keys; /**< NULL: the arguments are settings VAR=VALUE of any name */
    const offbeat_answer_key *answers;
} offbeat_verb;

/** All verbs. */
extern const offbeat_verb offbeat_verbs[];

/** The name of a type in the printed protocol. */
const char *offbeat_type_name(offbeat_type type);

/** @return NULL if the verb has no such key */
const offbeat_key *offbeat_verb_key(const offbeat_verb *verb, const char *name);

int offbeat_key_is_required(const offbeat_key *key);

/** Prints the version and all verbs as a JSON object. */
void offbeat_protocol_print(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
