/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file functions.h
 * Records which of the library's algorithm functions a call enters.
 *
 * A breakpoint is set at the start of each function, and removed when it is first hit. Without breakpoints
 * nothing is slowed down: measurements run without them. Needs neither a debugger nor privileges, but the
 * library's symbols or __func__ strings (symbols.h), and x86-64 or aarch64.
 */
#ifndef OFFBEAT_FUNCTIONS_H
#define OFFBEAT_FUNCTIONS_H

/** Sets the breakpoints. Local. @return 0, or -1 if there are no functions or the system forbids breakpoints
 */
int offbeat_functions_begin(void);

/** Removes the remaining breakpoints. Local. @return the names of the functions in the order of entry,
 * separated by spaces; valid until the next begin */
const char *offbeat_functions_end(void);

#endif
