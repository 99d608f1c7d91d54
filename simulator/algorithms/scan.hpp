/** @file
 * The scan and exscan algorithms; scan.cpp and exscan.cpp say under which names they go. Without elements
 * they do nothing.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::scan {

/** @name Scans */
///@{
/** Each rank waits for the one before it. */
void linear(schedule::Rank &rank, const Parameters &parameters);
/** Each rank sends its contribution to all ranks behind it at once. */
void all_behind(schedule::Rank &rank, const Parameters &parameters);
/** Recursive doubling with exchanges, also of sums that one side has no use for. */
void doubling(schedule::Rank &rank, const Parameters &parameters);
/** The same as MPICH's task graph: a sum is passed on before it joins the result. */
void task_doubling(schedule::Rank &rank, const Parameters &parameters);
/** MPICH: a scan in each node, one of the nodes' sums, and a bcast of what is before a node, announced by
 * another bcast. Gives way to doubling() if nodes don't hold consecutive ranks, or one rank each. */
void mpich_nodes(schedule::Rank &rank, const Parameters &parameters);
/** The same as a nonblocking schedule, without the announcement. */
void mpich_scheduled_nodes(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Exscans */
///@{
void exclusive_linear(schedule::Rank &rank, const Parameters &parameters);
void exclusive_all_behind(schedule::Rank &rank, const Parameters &parameters);
void exclusive_doubling(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace offbeat::algorithms::scan
