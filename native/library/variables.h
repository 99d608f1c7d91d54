/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file variables.h
 * The library's control variables, through the MPI tool information interface (MPI 4.1, chapter 15).
 */
#ifndef OFFBEAT_VARIABLES_H
#define OFFBEAT_VARIABLES_H

#include <stdio.h>

/** Initialises the interface. Call it before MPI_Init. @return MPI_SUCCESS or an error code */
int offbeat_variables_open(void);

/** Finalises the interface. Call it before MPI_Finalize: Open MPI 4.1.4 crashes in the other order. */
void offbeat_variables_close(void);

/**
 * Writes a JSON array of the variables whose names match an extended regular expression: name, type, scope,
 * value, items (of an enumeration: [[value, name], ...]) and description. Local. @return the number of
 * variables, or -1 for an invalid expression
 */
int offbeat_variables_list(const char *regex, FILE *stream);

/**
 * Sets a variable and verifies its new value. Saves its initial value for offbeat_variables_reset. Local.
 * @param value  a number for integer variables, text for text variables
 * @param[out] why  an error message if the result is not 0 (static storage)
 * @return 0, or -1: unknown variable, value refused, or value ignored (Open MPI silently keeps the old one)
 */
int offbeat_variable_set(const char *name, const char *value, const char **why);

/** Restores the initial value of every variable that was set. Local. @return 0, or -1 if one was refused */
int offbeat_variables_reset(void);

#endif
