/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file command.h
 * One line of the worklist: a verb and arguments of the form key=value, separated by blanks.
 *
 *     force coll_tuned_reduce_algorithm=5
 *     measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 delays=0,1000,2000
 *
 * Programs may only read keys that the verb has according to protocol.c, by the functions for their types;
 * anything else is a programming error and aborts.
 */
#ifndef OFFBEAT_COMMAND_H
#define OFFBEAT_COMMAND_H

#include "protocol/protocol.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed line; its strings point into the line, which the parser modifies. */
typedef struct offbeat_command {
    const offbeat_verb *verb;
    char **arguments;
    int count; /**< number of arguments */
} offbeat_command;

/**
 * Parses a line and checks it against the protocol: the verb, its keys, and the type and the range of each
 * value. Local, with the same result on all processes. Free the command with offbeat_command_free.
 * @param number  of the line in the worklist, for the message
 * @param program whose verbs are known
 * @return NULL, or an error message that names the line, the verb and the key (static storage)
 */
const char *offbeat_command_parse(char *line, long number, offbeat_program program, offbeat_command *command);

/** The value of a key, or its default; NULL if it has neither. */
const char *offbeat_command_text(const offbeat_command *command, const char *key);

/** The number of a key, or its default; @p if_missing if it has neither. */
int64_t offbeat_command_number_or(const offbeat_command *command, const char *key, int64_t if_missing);

/** The number of a key that is required or has a default. */
int64_t offbeat_command_number(const offbeat_command *command, const char *key);

/** The @p index-th number of a list; 0 if the list is missing or shorter. */
int64_t offbeat_command_list_item(const offbeat_command *command, const char *key, int index);

/** The length of a list of numbers or times; 0 if it is missing. */
int offbeat_command_list_length(const offbeat_command *command, const char *key);

/** Copies the first @p count times of a list in seconds; 0 for those that are missing. */
void offbeat_command_times(const offbeat_command *command, const char *key, double *values_s, size_t count);

void offbeat_command_free(offbeat_command *command);

#ifdef __cplusplus
}
#endif

#endif
