/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file split_list.h
 * A list of requests of a program, split into partitioned requests and MPI's own ones.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_SPLIT_LIST_H
#define OFFBEAT_PARTITIONED_PRELOAD_SPLIT_LIST_H

#include <mpi.h>
#include <offbeat/partitioned.h>

typedef struct offbeat_preload_split_list {
    int count, prequest_count, other_count;
    MPI_Request *requests;       /**< of the program */
    offbeat_prequest *prequests; /**< by place in the program's list; NULL: a request of MPI */
    MPI_Request *mpi_requests;   /**< MPI's requests, */
    int *indices_of_mpi;         /**< their places in the program's list, */
    int *completed_indices;      /**< room for indices of them, */
    MPI_Status *statuses;        /**< and for their statuses */
    int *errors;                 /**< room for an error of each request */
    void *memory;
} offbeat_preload_split_list;

/** Whether a completion function cannot leave a list to MPI: it holds partitioned requests, or partitioned
 * receives must be progressed while it waits. */
int offbeat_preload_intervenes(int count, const MPI_Request *requests);

/** Splits a list. @return an MPI error code, which was raised */
int offbeat_preload_split(int count, MPI_Request *requests, offbeat_preload_split_list *list);

/** Gives the program the handles that MPI changed, and frees the lists. */
void offbeat_preload_merge(offbeat_preload_split_list *list);

#endif
