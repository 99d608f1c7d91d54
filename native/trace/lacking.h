/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lacking.h
 * Functions that the front has, and the program's MPI library hasn't.
 *
 * Programs that do without a function where there is none (mpi4py, those with large counts) refer to it
 * weakly. What was loaded before the program's library was known found the front's; so does what is loaded
 * after the first call, which nobody sees: it ends in a sentence where it calls such a function.
 */
#ifndef OFFBEAT_TRACE_LACKING_H
#define OFFBEAT_TRACE_LACKING_H

/** Makes weak references to such functions lead nowhere, as they would without the front. */
void offbeat_lacking_forget(void);

#endif
