/** @file
 * The barrier algorithms; barrier.cpp says under which names they go. All messages are empty.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::barrier {

/** @name Rank 0 hears from everybody, then tells everybody: barrier_trees.cpp */
///@{
/** Tells all at once and waits for those sends: what SMPI's default barrier is, also inside other
 * collectives, which say with which tag. */
void linear(schedule::Rank &rank, int tag);
/** Tells one after another. */
void linear_openmpi(schedule::Rank &rank, const Parameters &parameters);
/** Twice around the ring; the second time, where `synchronous`, by synchronous sends. */
void double_ring(schedule::Rank &rank, bool synchronous);
/** Up a binomial tree and down again. */
void tree(schedule::Rank &rank, const Parameters &parameters);
/** On each node, then among the nodes' leaders by dissemination; then down a binomial tree on each node. */
void by_node(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Everybody with everybody, in logarithmic time: barrier_exchanges.cpp */
///@{
/** Round k to the rank 2^k places on, from that 2^k places before. */
void dissemination(schedule::Rank &rank, const Parameters &parameters);
/** The same with k - 1 messages at once, to the multiples of `k`^round. */
void dissemination_radix(schedule::Rank &rank, const Parameters &parameters);
/** The same as tasks: all receives are posted at the start. */
void dissemination_tasks(schedule::Rank &rank, const Parameters &parameters);
/** Partners differ in one bit. Ranks above the last power of two report to one below it, which releases them
 * at the end: where `synchronous`, by a synchronous send. */
void recursive_doubling(schedule::Rank &rank, bool synchronous);
/** For two ranks only. */
void two_proc(schedule::Rank &rank, const Parameters &parameters);
/** Recursive exchange with `k` ranks at once; receives of two phases are posted together unless
 * `single_phase_recv`. */
void recursive_exchange(schedule::Rank &rank, const Parameters &parameters);
/** The same as tasks: all receives are posted at the start. */
void recursive_exchange_tasks(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace offbeat::algorithms::barrier
