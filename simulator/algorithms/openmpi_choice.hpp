/** @file
 * What Open MPI's tuned component chooses by itself, for algorithms that call other collectives: the fixed
 * decisions of version 5.0.
 */
#pragma once

#include "algorithms/composed.hpp"

#include <string_view>

namespace offbeat::algorithms {

/** An algorithm's name in the family openmpi, for a reduce, a bcast, a gather or a scatter; std::logic_error
 * for others. */
std::string_view openmpi_choice(const schedule::Call &call);

/** Runs it, without segments and with chains of one, as those decisions do. */
void run_openmpi_choice(schedule::Rank &rank, const Group &group, const Part &part);

} // namespace offbeat::algorithms
