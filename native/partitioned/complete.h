/* SPDX-License-Identifier: BSD-3-Clause */
/** @file complete.h  What a completion function over requests of several kinds needs of a partitioned one. */
#ifndef OFFBEAT_PARTITIONED_COMPLETE_H
#define OFFBEAT_PARTITIONED_COMPLETE_H

#include "partitioned/request.h"

/** Whether a request can be completed, without completing it. Inactive and null requests always can. */
int offbeat_partitioned_can_complete(offbeat_partitioned_request *request);

/** Raises the error of an iteration. @param failure as in the request @return its MPI error code */
int offbeat_partitioned_raise_failure(const offbeat_partitioned_request *request, int failure);

/** Sets the status of a request that can be completed: an empty one if it is inactive. */
void offbeat_partitioned_set_status(const offbeat_partitioned_request *request, MPI_Status *status);

/** MPI's empty status, but for MPI_ERROR. */
void offbeat_partitioned_set_empty_status(MPI_Status *status);

/** Progresses what is listed; the caller found nothing to complete. Gives the core away after a while, as the
 * peer may need it. @param rounds 0 at first */
void offbeat_partitioned_between_rounds(int *rounds);

#endif
