/** @file
 * The gather and scatter algorithms, by idea; gather.cpp and scatter.cpp say under which names they go.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

namespace gather {

/** @name gather_linear.cpp */
///@{
/** The root receives from one rank after the other. */
void linear(schedule::Rank &rank, const Parameters &parameters);
/** The root calls up one rank after the other, and goes on when a first segment of it is there; `segment`
 * bytes, 0 for all of it. */
void openmpi_linear_sync(schedule::Rank &rank, const Parameters &parameters);
void simgrid_linear_sync(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name gather_trees.cpp */
///@{
/** Blocking receives from the smallest subtree on. */
void binomial(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's task graph on a k-nomial tree; `k`. */
void mpich_nb_tree(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name gather_nodes.cpp */
///@{
/** Inside the nodes, then among their leaders. */
void mvapich_two_level(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace gather

namespace scatter {

/** @name scatter_linear.cpp */
///@{
/** The root sends to one rank after the other. */
void linear(schedule::Rank &rank, const Parameters &parameters);
/** The root sends to all at once. */
void linear_at_once(schedule::Rank &rank, const Parameters &parameters);
/** The same, but the sends to ranks that are multiples of `requests` block; 0 or 1: none does. */
void openmpi_linear_nb(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name scatter_trees.cpp */
///@{
/** Blocking sends, to the smallest subtree first: SimGrid's order, which was Open MPI's. */
void binomial_from_smallest(schedule::Rank &rank, const Parameters &parameters);
/** Blocking sends, to the largest subtree first: the order of MPICH and Open MPI 5. */
void binomial_from_largest(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's task graph on a k-nomial tree; `k`. */
void mpich_nb_tree(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name scatter_nodes.cpp: among the leaders of the nodes, then inside the nodes */
///@{
void mvapich_two_level_direct(schedule::Rank &rank, const Parameters &parameters);
void mvapich_two_level_binomial(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace scatter

} // namespace offbeat::algorithms
