/** @file Whether programs grow with the count as their algorithm promises. */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace offbeat::schedule {

/** '' if the programs for `count` elements are those for one with every length and offset times `count`, else
 * a sentence that names the rank and what differs. */
[[nodiscard]] std::string check_scaling(std::span<const Program> for_one, std::span<const Program> for_count,
                                        int64_t count);

} // namespace offbeat::schedule
