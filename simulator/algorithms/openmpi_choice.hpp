/** @file
 * The algorithms that Open MPI's tuned component chooses by default, for algorithms that call other
 * collectives: the fixed decision rules of version 5.0.
 */
#pragma once

#include "algorithms/subcall.hpp"

#include <string_view>

namespace offbeat::algorithms {

/** An algorithm's name in the family openmpi, for a reduce, a bcast, a gather or a scatter; std::logic_error
 * for others. */
std::string_view openmpi_choice(const Call &call);

/** Writes the program of that algorithm, without segments and with chains of one, as the decision rules do.
 */
void run_openmpi_choice(Rank &rank, const Group &group, const Subcall &subcall);

} // namespace offbeat::algorithms
