/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file variables.h
 * The library's control variables, through the MPI tool information interface (MPI 4.1, chapter 15).
 */
#ifndef OFFBEAT_VARIABLES_H
#define OFFBEAT_VARIABLES_H

#include <stdio.h>

/** Starts the interface. Before MPI_Init. @return MPI_SUCCESS or an error code */
int offbeat_variables_open(void);

/** Ends the interface. Before MPI_Finalize: Open MPI 4.1.4 crashes the other way round. */
void offbeat_variables_close(void);

/**
 * Writes a JSON array of the variables whose names match an extended regular expression: name, type, scope,
 * value, items (of an enumeration: [[value, name], ...]) and description. Local. @return number written, -1
 * for a bad regex
 */
int offbeat_variables_list(const char *regex, FILE *out);

/**
 * Sets a variable and reads it back. Its first value is kept for offbeat_variables_reset. Local.
 * @param value  a number for integer variables, text for text variables
 * @param[out] why  a sentence when the result is not 0 (static storage)
 * @return 0, or -1: unknown variable, refused, or read back differently (Open MPI keeps the old value
 * silently)
 */
int offbeat_variable_set(const char *name, const char *value, const char **why);

/** Gives every variable that was set its first value again. Local. @return 0, or -1 if one would not take it
 */
int offbeat_variables_reset(void);

#endif
