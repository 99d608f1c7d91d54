/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.h  A program's options as a table, from which the command line is read and --help is
 * printed. */
#ifndef FRAME_OPTIONS_H
#define FRAME_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_INTEGER, /**< the value is an int from lowest to highest */
    OPTION_REAL,    /**< the value is a double from lowest to highest */
    OPTION_CHOICE,  /**< the value is an int, the place of the word in `words` */
    OPTION_FLAG     /**< no value follows; the value is an int, 1 if the option is given */
} option_kind;

/** One option. Its value is the default until options_read replaces it. */
typedef struct option {
    const char *name; /**< "--steps"; NULL ends a table */
    option_kind kind;
    void *value;            /**< an int or a double, by kind */
    double lowest, highest; /**< of a number */
    const char *words;      /**< of a choice: "walls|periodic" */
    const char *meaning;    /**< for --help; the default is added */
} option;

/**
 * Reads "--name value" and "--name=value" into the values of a table.
 *
 * @param why receives a sentence about what is wrong
 * @return 0; 1 if --help is among the arguments; -1 if the arguments are wrong
 */
int options_read(const option *table, int argc, char **argv, char *why, size_t bytes);

/** Prints a line or more for each option, with its present value as the default. */
void options_print_help(const option *table, FILE *out);

/** Writes the values as one JSON object. */
void options_write_json(const option *table, FILE *out);

#endif
