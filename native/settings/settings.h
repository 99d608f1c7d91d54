/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file settings.h
 * Reads environment variables that hold numbers and ranges, and writes a message about values that cannot be
 * read. Nothing here depends on MPI.
 */
#ifndef OFFBEAT_SETTINGS_SETTINGS_H
#define OFFBEAT_SETTINGS_SETTINGS_H

#include <stddef.h>

enum { OFFBEAT_SETTINGS_MAX_RANGES = 64 };

/** Ranges of whole numbers; without any, all numbers. */
typedef struct offbeat_ranges {
    int count;
    struct {
        long first, last; /**< both included; `last` of an open range like `16-` is LONG_MAX */
    } ranges[OFFBEAT_SETTINGS_MAX_RANGES];
} offbeat_ranges;

/** Where a message is written to. */
typedef struct offbeat_settings_error {
    char *text;
    size_t bytes;
} offbeat_settings_error;

/** The value of a variable; NULL if it is unset or empty. */
const char *offbeat_settings_value(const char *name);

/** Writes the message that a value cannot be read. @param expectation what it should be @return -1 */
int offbeat_settings_fail(const offbeat_settings_error *error, const char *name, const char *value,
                          const char *expectation);

/** Parses a whole number, 0 or more, and advances *text past it. @return -1 if there is none */
long offbeat_settings_parse_number(const char **text);

/** Parses ranges like `0-3,8,16-` and adds them. @return 0, or -1 if the text is anything else */
int offbeat_settings_parse_ranges(const char *text, offbeat_ranges *ranges);

/** Reads a whole number; without the variable, *number stays unchanged. @return 0, or -1 with a message */
int offbeat_settings_read_number(const char *name, long min, long max, const char *expectation, long *number,
                                 const offbeat_settings_error *error);

/** Reads ranges; without the variable there are none. @return 0, or -1 with a message */
int offbeat_settings_read_ranges(const char *name, offbeat_ranges *ranges,
                                 const offbeat_settings_error *error);

/** Whether a number is in one of the ranges, or there are none. */
int offbeat_ranges_contain(const offbeat_ranges *ranges, long number);

#endif
