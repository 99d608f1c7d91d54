/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file send.h
 * The sender's side: setup, messages, answers of the receiver.
 */
#ifndef OFFBEAT_PARTITIONED_SEND_H
#define OFFBEAT_PARTITIONED_SEND_H

#include "partitioned/request.h"
#include "partitioned/settings.h"

extern const offbeat_partitioned_operations offbeat_partitioned_send_operations;

/** Decides messages, tags and lanes of a request of this kind, and sends the setup. Local. @return an MPI
 * error code, or OFFBEAT_PARTITIONED_NO_TAGS */
int offbeat_partitioned_send_init(offbeat_partitioned_request *request, int dest, int tag,
                                  const offbeat_partitioned_send_settings *settings);

#endif
