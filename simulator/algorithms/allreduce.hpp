/** @file
 * The allreduce algorithms, by idea; allreduce.cpp says under which names they go.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::allreduce {

/** @name Everybody with everybody, or halves there and back: allreduce_exchange.cpp */
///@{
/** In the order of the ranks, whatever p is. */
void recursive_doubling(schedule::Rank &rank, const Parameters &parameters);
/** Rabenseifner's with pairs folded into the odd rank. The remainder of the division into blocks goes to the
 * last one. */
void halving_remainder_last(schedule::Rank &rank, const Parameters &parameters);
/** The same, but with fewer elements than blocks recursive doubling. */
void mvapich_halving(schedule::Rank &rank, const Parameters &parameters);
/** Rabenseifner's own, which halves elements and folds halves of pairs into the even rank. */
void rabenseifner_own(schedule::Rank &rank, const Parameters &parameters);
/** The same; gives way to openmpi_linear() when the operation does not commute. */
void openmpi_rabenseifner(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's: blocks whose lengths differ by one at most; gives way to MPICH's choice with fewer elements than
 * blocks or when the operation does not commute. */
void mpich_halving(schedule::Rank &rank, const Parameters &parameters);
/** The nonblocking schedule of it, with the remainder in the last block. */
void mpich_scheduled_halving(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Rings: allreduce_ring.cpp */
///@{
/** Open MPI's: with fewer elements than ranks recursive doubling. */
void openmpi_ring(schedule::Rank &rank, const Parameters &parameters);
/** Blocks in segments of `segment` bytes (0: whole), where there are enough of them; otherwise the ring. */
void openmpi_segmented_ring(schedule::Rank &rank, const Parameters &parameters);
/** SimGrid's: what remains after whole blocks, or all with fewer elements than ranks, by reduce_then_bcast().
 */
void simgrid_ring(schedule::Rank &rank, const Parameters &parameters);
/** Segments of 1 MiB; otherwise simgrid_ring(). */
void simgrid_segmented_ring(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's, and the task graph of it; both give way to MPICH's choice when the operation does not commute. */
void mpich_ring(schedule::Rank &rank, const Parameters &parameters);
void mpich_task_ring(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Made of other collectives: allreduce_composed.cpp */
///@{
/** Open MPI: a flat reduce, then a flat bcast. */
void openmpi_linear(schedule::Rank &rank, const Parameters &parameters);
/** Open MPI: the reduce and the bcast that it chooses by itself. */
void openmpi_nonoverlapping(schedule::Rank &rank, const Parameters &parameters);
/** SMPI's default reduce (flat) and bcast (binomial). */
void reduce_then_bcast(schedule::Rank &rank, const Parameters &parameters);
/** Powers of two only: halves with shrinking distances, padded to whole blocks, then SMPI's default
 * allgather. */
void halving_then_allgather(schedule::Rank &rank, const Parameters &parameters);
/** SMPI's default alltoall, local reductions, SMPI's default allgather. */
void alltoall_then_allgather(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's scheduled reduce and bcast. */
void mpich_scheduled_naive(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Inside the nodes, and between them: allreduce_nodes.cpp
 * SimGrid's smp_*: a binomial reduce to the first rank of each node, something between those, and a binomial
 * bcast. Nodes are runs of ranks, or single ranks if the nodes have different numbers of them. They refuse to
 * run where SimGrid's would deadlock or leave elements out.
 */
///@{
void smp_binomial(schedule::Rank &rank, const Parameters &parameters);
/** 4,096 elements at a time. */
void smp_binomial_pipeline(schedule::Rank &rank, const Parameters &parameters);
void smp_doubling(schedule::Rank &rank, const Parameters &parameters);
void smp_ring(schedule::Rank &rank, const Parameters &parameters);
void smp_ring_remainder_last(schedule::Rank &rank, const Parameters &parameters);
void smp_halving(schedule::Rank &rank, const Parameters &parameters);
/** MVAPICH2 in SimGrid: MPICH's allreduce in each node, recursive doubling between the leaders, a bcast. */
void mvapich_two_level(schedule::Rank &rank, const Parameters &parameters);
/** MPICH: reduce, allreduce of the leaders, bcast, each as it chooses; and as a nonblocking schedule. */
void mpich_nodes(schedule::Rank &rank, const Parameters &parameters);
void mpich_scheduled_nodes(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name MPICH's radix-k exchanges: allreduce_recursive_exchange.cpp, allreduce_exchange_tasks.cpp; `k` */
///@{
/** Recursive exchange; receives are posted a phase ahead unless `single_phase_recv`. */
void recursive_exchange(schedule::Rank &rank, const Parameters &parameters);
/** Groups of k ranks at growing distances; the ranks above the largest power of k fold into the lower ones.
 */
void recursive_multiplying(schedule::Rank &rank, const Parameters &parameters);
/** Reduce-scatter and allgather by recursive exchange; `single_phase_recv`. */
void exchange_halving(schedule::Rank &rank, const Parameters &parameters);
void task_exchange_single_buffer(schedule::Rank &rank, const Parameters &parameters);
void task_exchange_multiple_buffer(schedule::Rank &rank, const Parameters &parameters);
void task_exchange_halving(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Up and down a tree: allreduce_tree.cpp; `tree_type` (see MpichTree), `k`, `chunk_size` (bytes, 0:
 * one chunk), `buffer_per_child` (0: one receive at a time)
 */
///@{
void mpich_tree(schedule::Rank &rank, const Parameters &parameters);
void task_tree(schedule::Rank &rank, const Parameters &parameters);
///@}

/** What MPICH chooses for this call, blocking or scheduled, where it gives way. */
void mpich_choice(schedule::Rank &rank, bool scheduled);

/** @name In place, on the output: pieces of others */
///@{
void double_in_place(schedule::Rank &rank);
/** @param remainder_last see Blocks; otherwise even blocks. */
void halve_in_place(schedule::Rank &rank, bool remainder_last);
void mpich_choice_in_place(schedule::Rank &rank, bool scheduled);
/** Around and around, a block a step. */
void ring_in_place(schedule::Rank &rank, const Blocks &blocks);
///@}

/** reduce_then_bcast() of a part of the data. */
void reduce_then_bcast_part(schedule::Rank &rank, schedule::Span input, schedule::Span output);

/** The input into the output, where everything begins. */
void copy_in(schedule::Rank &rank);

} // namespace offbeat::algorithms::allreduce
