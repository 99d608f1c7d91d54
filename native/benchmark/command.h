/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file command.h
 * One line of the worklist: a verb and arguments of the form key=value, separated by blanks.
 *
 *     force coll_tuned_reduce_algorithm=5
 *     measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 delays=0,1000,2000
 */
#ifndef OFFBEAT_COMMAND_H
#define OFFBEAT_COMMAND_H

#include <stddef.h>
#include <stdint.h>

/** The largest time in a command; leaves a margin against overflow in computations with clocks. */
#define OFFBEAT_MAX_NS (INT64_MAX / 16)

/** A parsed line; its strings point into the line, which the parser modifies. */
typedef struct offbeat_command {
    const char *verb; /**< "" for an empty line */
    char **arguments;
    int count; /**< number of arguments */
} offbeat_command;

/** Parses @p line; free the command with offbeat_command_free. @return 0, or -1 without memory */
int offbeat_command_parse(char *line, offbeat_command *command);

/**
 * Checks the numbers of all known keys: the functions below assume that they are valid. Local, with the same
 * result on all processes.
 * @return NULL, or an error message that names the key (static storage)
 */
const char *offbeat_command_error(const offbeat_command *command);

/** The value of a key; @p default_value if the key is missing. */
const char *offbeat_command_text(const offbeat_command *command, const char *key, const char *default_value);

/** The same for a number. */
int64_t offbeat_command_number(const offbeat_command *command, const char *key, int64_t default_value);

/** The @p index-th number of a comma-separated list; 0 if the list is missing or shorter. */
int64_t offbeat_command_list_item(const offbeat_command *command, const char *key, int index);

/** The length of a comma-separated list of numbers; 0 if it is missing. */
int offbeat_command_list_length(const offbeat_command *command, const char *key);

void offbeat_command_free(offbeat_command *command);

#endif
