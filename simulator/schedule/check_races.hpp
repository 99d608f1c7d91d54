/** @file Parts of the checker: what is touched by two operations at once. */
#pragma once

#include "schedule/check_run.hpp"
#include "schedule/check_wiring.hpp"

#include <vector>

namespace offbeat::schedule {

/** The pieces that an operation touches when the pop of its joint returned another request than the program
 * takes it for; otherwise those that are written there. */
std::vector<Span> pieces_in_run(const Wiring &wiring, uint32_t rank, uint32_t operation, const Run &run);

/** Buffers in flight, concurrent branches, and messages whose order is open. Throws Wrong. */
void check_races(const Wiring &wiring, uint32_t rank, const Run &run);

} // namespace offbeat::schedule
