/** @file Parts of the checker: who waits for whom. */
#pragma once

#include "schedule/check_wiring.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** A sentence about ranks that wait for each other, after a run that stood still.
 * @param needs  per joint of all ranks, how much of what it waits for did not happen
 * @param posted per operation of all ranks, whether it was */
std::string explain_deadlock(const Wiring &wiring, const std::vector<uint32_t> &partner,
                             const std::vector<uint32_t> &needs, const std::vector<uint8_t> &posted);

} // namespace offbeat::schedule
