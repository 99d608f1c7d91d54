/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file layout.h
 * Communicators of equal size whose processes call a collective at the same time, such as the rows of a grid.
 *
 * Communicators are created without one of the library's collectives, which may be forced to defective
 * algorithms (MPI_Comm_create_group sends messages).
 */
#ifndef OFFBEAT_LAYOUT_H
#define OFFBEAT_LAYOUT_H

#include <mpi.h>

/**
 * How the processes are divided into communicators of equal size.
 *
 * The ranks of consecutive members of a communicator are @p stride apart: member j of communicator c has the
 * rank (c / stride) * stride * size + c % stride + j * stride. Rows of a grid of processes have the stride 1,
 * its columns the length of a row.
 */
typedef struct offbeat_layout {
    int communicators, stride, size;
} offbeat_layout;

/** The layout of p processes. @return NULL, or an error message (static storage) */
const char *offbeat_layout_divide(int p, int communicators, int stride, offbeat_layout *layout);

/** The number of a process's communicator, from 0. */
int offbeat_layout_communicator(const offbeat_layout *layout, int rank);

/** The rank of a process in its communicator. */
int offbeat_layout_member(const offbeat_layout *layout, int rank);

/** A communicator of some processes of MPI_COMM_WORLD, in this order, which returns errors. Collective over
 * these. @return MPI_COMM_NULL on other processes */
MPI_Comm offbeat_comm_of_ranks(const int *ranks, int count);

/** This process's communicator in a layout. Collective over its processes.
 * @return MPI_COMM_NULL if there is no memory */
MPI_Comm offbeat_layout_create_comm(const offbeat_layout *layout);

#endif
