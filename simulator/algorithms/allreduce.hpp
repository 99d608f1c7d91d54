/** @file
 * The allreduce algorithms. allreduce.cpp lists the names that each library has for them.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::allreduce {

/** @name Composed of other collectives: allreduce.cpp */
///@{
AlgorithmFunction openmpi_linear;         /**< a flat reduce, then a flat bcast */
AlgorithmFunction openmpi_nonoverlapping; /**< the reduce and the bcast that Open MPI chooses */
AlgorithmFunction reduce_then_bcast;      /**< SMPI's default reduce (flat) and bcast (binomial) */
/** Powers of two only: recursive halving with shrinking distances, padded to whole blocks, then SMPI's
 * default allgather. */
AlgorithmFunction halving_then_allgather;
AlgorithmFunction alltoall_then_allgather; /**< SMPI's default alltoall, local reductions, its allgather */
AlgorithmFunction mpich_scheduled_naive;   /**< MPICH's scheduled reduce and bcast */
/** reduce_then_bcast() of a part of the data. */
void reduce_then_bcast_part(Rank &rank, Span input, Span output);
///@}

/** @name Recursive doubling, recursive halving (Rabenseifner), and trees: allreduce_halving.cpp */
///@{
AlgorithmFunction recursive_doubling; /**< in rank order, for any p */
/** Rabenseifner's algorithm where pairs are folded into the odd rank; the last block takes the remainder. */
AlgorithmFunction halving_remainder_last;
AlgorithmFunction
    mvapich_halving;            /**< the same; recursive doubling if there are fewer elements than blocks */
AlgorithmFunction rabenseifner; /**< halves elements, and folds halves of pairs into the even rank */
AlgorithmFunction openmpi_rabenseifner; /**< the same; openmpi_linear() if the operation does not commute */
/** Falls back to MPICH's choice if there are fewer elements than blocks or the operation does not commute.
 * Blocks are even; in the nonblocking schedule the last block takes the remainder. */
void mpich_halving(Rank &rank, bool scheduled);
/** Up and down a tree: `tree_type` (see mpich_tree_of_type()), `k`, `chunk_size` (bytes, 0: one chunk). */
ParameterisedFunction mpich_tree;
ParameterisedFunction task_tree; /**< as a task graph; also `buffer_per_child` (0: one receive at a time) */

/** What MPICH chooses for this call, blocking or scheduled: the fallback of its other algorithms. */
void mpich_choice(Rank &rank, bool scheduled);
/** The input into the output, where most algorithms begin. */
void copy_input_to_output(Rank &rank);
///@}

/** @name Rings: allreduce_ring.cpp */
///@{
AlgorithmFunction openmpi_ring; /**< recursive doubling if there are fewer elements than ranks */
/** Blocks in segments of `segment` bytes (0: whole) if there are enough of them; otherwise openmpi_ring(). */
ParameterisedFunction openmpi_segmented_ring;
/** Reduces the elements after the last whole block, or all elements if there are fewer than ranks, by
 * reduce_then_bcast(). */
AlgorithmFunction simgrid_ring;
AlgorithmFunction simgrid_segmented_ring; /**< segments of 1 MiB; otherwise simgrid_ring() */
/** MPICH's ring and its task graph; both fall back to MPICH's choice if the operation does not commute. */
AlgorithmFunction mpich_ring, mpich_task_ring;
///@}

/** @name Two levels: inside the nodes, and between their leaders: allreduce_nodes.cpp
 * SimGrid's smp_*: a binomial reduce to the first rank of each node, an allreduce of those, and a binomial
 * bcast. Nodes are runs of consecutive ranks, or single ranks if the nodes differ in size. They refuse calls
 * in which SimGrid's implementation would deadlock or omit elements.
 */
///@{
AlgorithmFunction smp_binomial;
AlgorithmFunction smp_binomial_pipeline; /**< 4,096 elements at a time */
AlgorithmFunction smp_doubling, smp_ring, smp_ring_remainder_last, smp_halving;
/** MVAPICH2 in SimGrid: MPICH's allreduce in each node, recursive doubling between the leaders, a bcast. */
AlgorithmFunction mvapich_two_level;
/** MPICH: a reduce, an allreduce of the leaders and a bcast, each as MPICH chooses. */
void mpich_by_nodes(Rank &rank, bool scheduled);
///@}

/** @name MPICH's recursive exchange among `k` ranks: allreduce_recursive_exchange.cpp */
///@{
ParameterisedFunction
    recursive_exchange; /**< posts the receives of two phases together unless `single_phase_recv` */
ParameterisedFunction recursive_multiplying;
ParameterisedFunction exchange_halving;      /**< a reduce-scatter, then an allgather; `single_phase_recv` */
ParameterisedFunction task_exchange_halving; /**< as a task graph */
/** Recursive exchange as a task graph. Each phase sends a copy of the result so far, so that received values
 * can be added meanwhile.
 * @param own_buffers  a buffer for each message, whose receive starts at once */
void exchange_as_tasks(Rank &rank, const Parameters &parameters, bool own_buffers);
///@}

/** @name Steps of other algorithms, in place on the output */
///@{
void recursive_doubling_in_place(Rank &rank);
/** @param remainder_last see Blocks; otherwise even blocks. */
void halving_in_place(Rank &rank, bool remainder_last);
void mpich_choice_in_place(Rank &rank, bool scheduled);
/** A reduce-scatter and an allgather along the ring, one block per step. */
void ring_in_place(Rank &rank, const Blocks &blocks);
///@}

} // namespace offbeat::algorithms::allreduce
