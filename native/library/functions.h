/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file functions.h
 * Proof by functions: which of the library's own algorithm functions a call enters.
 *
 * A breakpoint is planted at the beginning of each, and removed the first time it is hit, so that the program
 * runs on undisturbed. Between observations nothing is planted: measurements are not touched. Needs no
 * debugger and no privilege; needs the library's symbols, or functions that name themselves (func_texts.h),
 * and x86-64 or aarch64.
 */
#ifndef OFFBEAT_FUNCTIONS_H
#define OFFBEAT_FUNCTIONS_H

/** How many algorithm functions can be observed here; 0: none, use another proof. Local. */
int offbeat_functions_count(void);

/** Plants the breakpoints. Local. @return 0, or -1 when the system forbids it (then nothing is planted) */
int offbeat_functions_begin(void);

/** Removes what is still planted. Local. @return names in the order of entry, separated by spaces; valid
 * until the next begin */
const char *offbeat_functions_end(void);

#endif
