/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file settings.h
 * Settings from an info object, else from the environment, else the default.
 */
#ifndef OFFBEAT_PARTITIONED_SETTINGS_H
#define OFFBEAT_PARTITIONED_SETTINGS_H

#include <mpi.h>
#include <stdint.h>

enum { OFFBEAT_PARTITIONED_WHY_BYTES = 200 };

/** What the sender decides for a request. */
typedef struct offbeat_partitioned_send_settings {
    int64_t messages; /**< 0: by message_bytes */
    int64_t message_bytes;
    int64_t lane; /**< -1: in turn */
    int is_learned;
} offbeat_partitioned_send_settings;

/** What one process decides for a collective. */
typedef struct offbeat_partitioned_collective_settings {
    int64_t message_bytes; /**< 0: by the number of processes and all bytes */
    int64_t lane;          /**< -1: in turn */
    int64_t fanout;        /**< 0: by the numbers of processes and messages */
    int is_in_rank_order;
} offbeat_partitioned_collective_settings;

typedef struct offbeat_partitioned_attach_settings {
    int64_t lanes;
    int has_progress_thread;
} offbeat_partitioned_attach_settings;

/** @param[out] why what is wrong with which key or variable, when it returns 0 @return 1, or 0 for an invalid
 * value */
int offbeat_partitioned_read_send_settings(MPI_Info info, offbeat_partitioned_send_settings *settings,
                                           char *why);
int offbeat_partitioned_read_collective_settings(MPI_Info info,
                                                 offbeat_partitioned_collective_settings *settings,
                                                 char *why);
int offbeat_partitioned_read_attach_settings(MPI_Info info, offbeat_partitioned_attach_settings *settings,
                                             char *why);

#endif
