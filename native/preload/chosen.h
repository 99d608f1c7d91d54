/* SPDX-License-Identifier: BSD-3-Clause */
/** @file chosen.h  On which communicators MPI_Barrier becomes a harmonised start. */
#ifndef OFFBEAT_PRELOAD_CHOSEN_H
#define OFFBEAT_PRELOAD_CHOSEN_H

#include <mpi.h>

/**
 * Whether a list of words separated by commas chooses a communicator: `all`, every one; `world`,
 * MPI_COMM_WORLD and those with the same processes in the same order; any other word, those whose name
 * (MPI_Comm_set_name) it matches as a shell pattern.
 * @param name         of the communicator
 * @param is_like_world it has MPI_COMM_WORLD's processes in their order
 */
int offbeat_list_chooses(const char *list, const char *name, int is_like_world);

/**
 * Whether the environment (OFFBEAT_HARMONIZE_BARRIERS; `world` where it isn't set) chooses an
 * intra-communicator. Local; decided when first asked, and kept on the communicator until it is freed. All
 * its processes must come to the same answer: they see the same list, and should have given it one name.
 */
int offbeat_barrier_is_chosen(MPI_Comm comm);

#endif
