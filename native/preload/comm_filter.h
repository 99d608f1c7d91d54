/* SPDX-License-Identifier: BSD-3-Clause */
/** @file comm_filter.h  Selects the communicators on which MPI_Barrier is replaced by a harmonised start. */
#ifndef OFFBEAT_PRELOAD_COMM_FILTER_H
#define OFFBEAT_PRELOAD_COMM_FILTER_H

#include <mpi.h>

/**
 * Whether a comma-separated list selects a communicator. Entries are `all`: every communicator; `world`:
 * MPI_COMM_WORLD and communicators with the same processes in the same order; anything else: a shell pattern
 * that the communicator's name (MPI_Comm_set_name) must match.
 * @param name              of the communicator
 * @param is_like_world     whether it has MPI_COMM_WORLD's processes in their order
 */
int offbeat_preload_list_selects(const char *list, const char *name, int is_like_world);

/**
 * Whether OFFBEAT_HARMONIZE_BARRIERS (default: `world`) selects an intra-communicator. Local; evaluated at
 * the first call for a communicator and kept until it is freed. All its processes must get the same result:
 * they have the same list, and must have given the communicator the same name.
 */
int offbeat_preload_selects_comm(MPI_Comm comm);

#endif
