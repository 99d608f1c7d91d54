/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file behind.h
 * What stands behind the names of front.c: the tracer's wrappers where the program uses the MPI library that
 * they were built for, else the program's own library.
 */
#ifndef OFFBEAT_TRACE_BEHIND_H
#define OFFBEAT_TRACE_BEHIND_H

/**
 * Finds the program's MPI library and, if it is ours, loads the tracer; if not, a sentence says so.
 * @param caller an address in the code that calls: its MPI library may be known to it alone
 * @return whether there is an MPI library
 */
int offbeat_behind_begin(const void *caller);

/** Whether calls go into the tracer; begins where nothing did so far. @param caller as above */
int offbeat_behind_is_traced(const void *caller);

/** Where a call goes, after offbeat_behind_begin; NULL where there is no such function. */
void *offbeat_behind(const char *name);

/** The function that the program would call without the tracer; NULL where there is none. */
void *offbeat_behind_tracer(const char *name);

#endif
