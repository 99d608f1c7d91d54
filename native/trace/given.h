/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file given.h
 * From the arguments of shapes.h to an offbeat_arguments: what to write between its braces.
 *
 * V is the value of a count, R of a root, T of a type, O of an operation; B says whether a buffer is
 * MPI_IN_PLACE.
 */
#ifndef OFFBEAT_TRACE_GIVEN_H
#define OFFBEAT_TRACE_GIVEN_H

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define OFFBEAT_GIVEN_BARRIER(V, R, T, O, B)
#define OFFBEAT_GIVEN_BCAST(V, R, T, O, B)                                                                   \
    .sent_count = V(sent_count), .sent_type = T(sent_type), .root = R(root)
#define OFFBEAT_GIVEN_GATHER(V, R, T, O, B) OFFBEAT_GIVEN_EXCHANGE(V, R, T, O, B), .root = R(root)
#define OFFBEAT_GIVEN_GATHERV(V, R, T, O, B) OFFBEAT_GIVEN_ALLGATHERV(V, R, T, O, B), .root = R(root)
#define OFFBEAT_GIVEN_SCATTER OFFBEAT_GIVEN_GATHER
#define OFFBEAT_GIVEN_SCATTERV(V, R, T, O, B)                                                                \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_counts = sent_counts,                      \
    .sent_type = T(sent_type), .got_count = V(got_count), .got_type = T(got_type), .root = R(root)
#define OFFBEAT_GIVEN_EXCHANGE(V, R, T, O, B)                                                                \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_count = V(sent_count),                     \
    .sent_type = T(sent_type), .got_count = V(got_count), .got_type = T(got_type)
#define OFFBEAT_GIVEN_ALLGATHERV(V, R, T, O, B)                                                              \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_count = V(sent_count),                     \
    .sent_type = T(sent_type), .got_counts = got_counts, .got_type = T(got_type)
#define OFFBEAT_GIVEN_ALLTOALLV(V, R, T, O, B)                                                               \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_counts = sent_counts,                      \
    .sent_type = T(sent_type), .got_counts = got_counts, .got_type = T(got_type)
#define OFFBEAT_GIVEN_NEIGHBOR_ALLTOALLV OFFBEAT_GIVEN_ALLTOALLV
#define OFFBEAT_GIVEN_ALLTOALLW(V, R, T, O, B)                                                               \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_counts = sent_counts,                      \
    .sent_types = sent_types, .got_counts = got_counts, .got_types = got_types
#define OFFBEAT_GIVEN_NEIGHBOR_ALLTOALLW OFFBEAT_GIVEN_ALLTOALLW
#define OFFBEAT_GIVEN_REDUCE(V, R, T, O, B) OFFBEAT_GIVEN_ALLREDUCE(V, R, T, O, B), .root = R(root)
#define OFFBEAT_GIVEN_ALLREDUCE(V, R, T, O, B)                                                               \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_count = V(sent_count),                     \
    .sent_type = T(sent_type), .operation = O(operation)
#define OFFBEAT_GIVEN_REDUCE_SCATTER(V, R, T, O, B)                                                          \
    .is_sent_in_place = B(sent), .is_got_in_place = B(got), .sent_counts = sent_counts,                      \
    .sent_type = T(sent_type), .operation = O(operation)

// NOLINTEND(bugprone-macro-parentheses)

#endif
