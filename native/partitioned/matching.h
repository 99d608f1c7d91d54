/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file matching.h
 * Which send belongs to which receive. The setups of all communicators that share private communicators
 * travel on one of these; each setup names the communicator and the tag of its send. The n-th setup matches
 * the n-th receive of equal peer, tag and communicator, in order of initialisation: MPI keeps the order of
 * the setups of a sender, and a list keeps the order of the receives.
 */
#ifndef OFFBEAT_PARTITIONED_MATCHING_H
#define OFFBEAT_PARTITIONED_MATCHING_H

#include "partitioned/request.h"

/** Lists a new receive, which may match a setup that arrived before. Local. @return an MPI error code */
int offbeat_partitioned_matching_add(offbeat_partitioned_request *receive);

/** Takes the setups that arrived, up to the one for this receive. Afterwards, receive->has_setup says whether
 * one is for this receive; if another thread is taking setups, it may not say so yet. @return an MPI error
 * code */
int offbeat_partitioned_matching_test(offbeat_partitioned_request *receive);

/** Gives up a receive whose setup did not arrive. */
void offbeat_partitioned_matching_remove(offbeat_partitioned_request *receive);

/** Ends the receives of the next setups, and frees the setups that no receive matched. */
void offbeat_partitioned_matching_end(offbeat_partitioned_comm *root);

#endif
