/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file family.h
 * What differs between MPI libraries, decided when the driver is compiled.
 */
#ifndef OFFBEAT_FAMILY_H
#define OFFBEAT_FAMILY_H

/** "openmpi", "mpich" or "intelmpi". */
const char *offbeat_family_name(void);

/**
 * Whether a changed control variable acts only on communicators created afterwards (Open MPI: a communicator
 * keeps the algorithms it was created with).
 */
int offbeat_family_needs_new_communicator(void);

/** Whether a changed control variable acts at all while the program runs (Intel MPI: never). */
int offbeat_family_switches_while_running(void);

/** Whether an object file (path as the dynamic linker knows it) can hold the library's collective algorithms.
 */
int offbeat_family_holds_algorithms(const char *path);

/** Whether a symbol names a function that is one collective algorithm, rather than a part of one or a
 * chooser. */
int offbeat_family_is_algorithm(const char *symbol);

#endif
