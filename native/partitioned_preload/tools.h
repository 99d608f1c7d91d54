/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tools.h
 * Tools that come before this library: those linked into the program, and those named first in LD_PRELOAD.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_TOOLS_H
#define OFFBEAT_PARTITIONED_PRELOAD_TOOLS_H

#include <mpi.h>

/**
 * Raises an error unless the program's calls that start, wait for, test and free requests reach this library.
 * A tool that handles such a call by a PMPI function finds the inactive request of MPI that a handle stands
 * for: MPI_Wait would return before the data is here. Other functions are not tried.
 *
 * The first call tries each of these functions with a request of its own; local.
 * @param function the name of the caller, for the error
 */
int offbeat_preload_check_tools(const char *function, MPI_Comm comm);

#endif
