/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file attach.h
 * What MPIX_Harmonize keeps on a communicator: an attribute, freed with it.
 *
 * A duplicate of the communicator gets no copy: its processes may go other ways, and a harmony belongs to one
 * of them. What is still there when MPI ends is freed by an attribute on MPI_COMM_SELF, which MPI_Finalize
 * deletes first. Any thread may call, for different communicators.
 */
#ifndef OFFBEAT_HARMONIZE_ATTACH_H
#define OFFBEAT_HARMONIZE_ATTACH_H

#include <offbeat/harmonize.h>

/** A clock and a harmony on the communicator that they are attached to. */
typedef struct offbeat_attached {
    offbeat_clock *clock;
    offbeat_harmony *harmony;
    MPI_Comm comm;                            /**< the user's; these three belong to attach.c */
    struct offbeat_attached *previous, *next; /**< of all that are attached in this process */
} offbeat_attached;

/** What is attached to a communicator; NULL for nothing. Local. Errors have gone to the communicator's error
 * handler when this returns. @return an MPI error code */
int offbeat_attached_find(MPI_Comm comm, offbeat_attached **attached);

/** Attaches what was allocated by malloc; it is freed with clock and harmony when the communicator is, or on
 * failure. Local. Errors as above. */
int offbeat_attach(MPI_Comm comm, offbeat_attached *attached);

/** Frees a clock and a harmony, and what holds them. Collective. @return an MPI error code */
int offbeat_attached_free(offbeat_attached *attached);

#endif
