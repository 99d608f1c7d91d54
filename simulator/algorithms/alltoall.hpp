/** @file
 * The alltoall algorithms in which other ranks forward the blocks. alltoall.cpp has the others, and the names
 * that each library has for all of them.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::alltoall {

AlgorithmFunction bruck_simgrid, bruck_openmpi;
ParameterisedFunction bruck_radix; /**< digits in base `k`: k - 1 exchanges at once in each phase */
/** The same as a task graph: an exchange waits only for the exchanges whose blocks or buffers it uses.
 * Without `buffer_per_nbr` the phases share their buffers. */
ParameterisedFunction bruck_tasks;
/** Whole inputs travel around the ring, along the axes of a mesh, or by recursive doubling; each rank copies
 * its own blocks from them. */
AlgorithmFunction ring_of_whole_inputs, mesh_2d, mesh_3d, recursive_doubling;

} // namespace offbeat::algorithms::alltoall
