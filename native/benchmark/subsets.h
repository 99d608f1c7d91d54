/* SPDX-License-Identifier: BSD-3-Clause */
/** @file subsets.h  A list of communicators of some of the processes, by the processes in them. */
#ifndef OFFBEAT_SUBSETS_H
#define OFFBEAT_SUBSETS_H

#include <mpi.h>

typedef struct offbeat_subset {
    char *ranks;   /**< the list of ranks as written in the command, or "communicators/stride" */
    MPI_Comm comm; /**< MPI_COMM_NULL on processes outside the subset */
    struct offbeat_subset *next;
} offbeat_subset;

/** @return NULL if the list does not have it */
const offbeat_subset *offbeat_subset_find(const offbeat_subset *first, const char *ranks);

/** Adds a communicator, which the list owns; a failure is fatal. @return the communicator */
MPI_Comm offbeat_subset_add(offbeat_subset **first, const char *ranks, MPI_Comm comm);

/** Removes a communicator from its list and frees it. @param link the pointer that leads to it */
void offbeat_subset_free(offbeat_subset **link);

/** Frees all communicators of a list. */
void offbeat_subsets_free(offbeat_subset **first);

#endif
