/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partitioned_collectives.h
 * Partitioned collectives on every MPI library: a broadcast and an allreduce whose partitions travel as soon
 * as they are ready. The functions have the form that is proposed for MPI (MPIX_Pbcast_init,
 * MPIX_Pallreduce_init). The requests are those of offbeat/partitioned.h, and its functions start, mark,
 * test, complete and free them:
 *
 *   - offbeat_pready marks a partition of the root's buffer (broadcast), or of the caller's contribution
 *     (allreduce: every process marks every partition, in any order). The buffer of a marked partition must
 *     not be changed before the completion.
 *   - offbeat_parrived tells whether a partition of the result has arrived: it can be read then. At the
 *     root of a broadcast it is true when the partition has been handed over.
 *   - Completion means that the whole result has arrived, and that all that this process had to forward
 *     has left. The status is empty.
 *
 * A process forwards messages in calls that mark partitions of the collective, that start, initialise, test,
 * wait for or free any request or ask for partitions, and in the progress thread. A process that computes
 * without such calls delays the others.
 *
 * **Initialisation** is collective over the communicator, which must be an intra-communicator and attached
 * (offbeat_partitioned_attach). All processes must give the same number of partitions, bytes in a partition
 * and root, and operations that are all commutative or all not: otherwise the call is an error on every
 * process, with a sentence that names a rank. Datatypes of a broadcast may differ. An operation must exist as
 * long as the request, and so must the datatype of a user-defined operation, which gets the handle that the
 * caller gave. Other datatypes may be freed. Operations are applied by MPI_Reduce_local, whose errors go to
 * the error handler of MPI_COMM_WORLD or of MPI_COMM_SELF, depending on the library: a program gets the error
 * that a predefined operation is not defined for the datatype only if neither handler aborts.
 *
 * **Messages.** Keys of the info object; that of the root counts, or of rank 0 when there is no root:
 *
 *   - `offbeat_message_bytes`, `OFFBEAT_PARTITIONED_MESSAGE_BYTES`: the smallest size of a message in bytes;
 *     default: all bytes divided by 128, or by the number of processes if that is larger, but at least 32768.
 *     Smaller partitions share a message, which leaves when the last of them is ready; larger ones are
 *     divided. A collective has at most 1024 messages.
 *   - `offbeat_lane`: as for sends.
 *   - `offbeat_fanout`: of a broadcast: to how many processes each one forwards. 1: a chain, which has the
 *     largest bandwidth; larger: a tree, which has fewer hops. Default: the fan-out f from 1 to 8 that needs
 *     the fewest steps, f (m - 1) + f d, for m messages and a tree of depth d.
 *   - `offbeat_order`: of an allreduce: `ring` (default) or `rank`; see below.
 *
 * **Order of reduction.** Message m of an allreduce of p processes goes round the ring 0, 1, ..., p - 1, 0
 * from rank s = m mod p: the result is ((x_s + x_(s+1)) + x_(s+2)) + ... + x_(s-1). It is computed once, so
 * that all processes have the same bits, and does not depend on when partitions are ready: the same call
 * gives the same bits again. The bits depend on which message carries an element, thus on the numbers of
 * processes, partitions and bytes of a message. With the order `rank`, and always if the operation is not
 * commutative, s is 0 for all messages, and the left operand is always that of the lower ranks: the bits are
 * those of
 * ((x_0 + x_1) + x_2) + ... whatever the partitions and messages. It takes more copies and a longer way.
 */
#ifndef OFFBEAT_PARTITIONED_COLLECTIVES_H
#define OFFBEAT_PARTITIONED_COLLECTIVES_H

#include <offbeat/partitioned.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** A broadcast of partitions with count elements each. */
int offbeat_pbcast_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int root,
                        MPI_Comm comm, MPI_Info info, offbeat_prequest *request);

/**
 * A reduction whose result all processes get.
 * @param sendbuf MPI_IN_PLACE: the contribution is in recvbuf, and its partitions must not be read between
 * offbeat_pready and their arrival
 */
int offbeat_pallreduce_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                            offbeat_prequest *request);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
