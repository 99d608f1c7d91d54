/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file command.h
 * One line of the worklist: a verb and words of the form key=value, separated by blanks.
 *
 *     force coll_tuned_reduce_algorithm=5
 *     measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 delays=0,1000,2000
 */
#ifndef OFFBEAT_COMMAND_H
#define OFFBEAT_COMMAND_H

#include <stddef.h>
#include <stdint.h>

/** Times of this size can be added to a clock and multiplied by a few. */
#define OFFBEAT_LONGEST_NS (INT64_MAX / 16)

/** A parsed line; the texts point into the line, which the parser cuts up. */
typedef struct offbeat_command {
    const char *verb;
    char **words;
    int count;
} offbeat_command;

/** Cuts up @p line. Free the words with offbeat_command_free. @return 0, or -1 without memory */
int offbeat_command_parse(char *line, offbeat_command *command);

/**
 * Whether every known number of the command is one and in its range; what reads them relies on it. Local, and
 * the same on all processes.
 * @return NULL, or a sentence that names the word (static storage)
 */
const char *offbeat_command_fault(const offbeat_command *command);

/** The value of a key; @p otherwise where the key is missing. */
const char *offbeat_command_text(const offbeat_command *command, const char *key, const char *otherwise);

/** The same as a whole number. */
int64_t offbeat_command_number(const offbeat_command *command, const char *key, int64_t otherwise);

/** The @p index-th number of a comma-separated list; 0 where the list is missing or shorter. */
int64_t offbeat_command_listed(const offbeat_command *command, const char *key, int index);

/** How many numbers a comma-separated list has; 0 where it is missing. */
int offbeat_command_entries(const offbeat_command *command, const char *key);

void offbeat_command_free(offbeat_command *command);

#endif
