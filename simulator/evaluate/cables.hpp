/** @file
 * Links that the same groups use, two by two: mostly the two directions of a cable.
 */
#pragma once

#include "evaluate/traffic.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::evaluate {

/** One of the two sides of a cable. */
struct Side {
    uint32_t cable = 0;
    uint32_t of = 0; /**< 0 or 1 */
};

/** Where each link of the traffic is. Cables are numbered from 0 on; both sides of one are used by the same
 * groups. A link that has no such partner is side 0 of a cable of its own. */
[[nodiscard]] std::vector<Side> pair_links(const Traffic &traffic);

} // namespace offbeat::evaluate
