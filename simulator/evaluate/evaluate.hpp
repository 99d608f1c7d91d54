/** @file
 * From arrivals to exits, by the fastest exact evaluation: the longest path if no link is shared, otherwise
 * fluid flows.
 */
#pragma once

#include "evaluate/traffic.hpp"
#include "platform/network.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace offbeat::evaluate {

enum class Engine : uint8_t { longest_path, fluid };

[[nodiscard]] std::string_view name_of(Engine engine);

/** Which evaluation is requested. */
enum class Choice : uint8_t {
    best,         /**< the longest path if it is exact, otherwise fluid */
    longest_path, /**< always, as if no link were shared: a lower bound of every exit */
    fluid,        /**< always */
};

/** With more messages than this, if all evaluated patterns shared links, the others are assumed to share
 * links, too: trying the longest path would cost more than it saves. */
inline constexpr size_t many_messages = 20'000;

/** Evaluates patterns of one schedule on one network.
 * @param arrivals_s patterns × p, none negative
 * @param exits_s patterns × p, written
 * @return the evaluation of each pattern
 * std::invalid_argument for invalid numbers, and if the longest path is requested but not defined (see
 * LongestPath::possible); std::logic_error if ranks deadlock. Thread-safe. */
std::vector<Engine> evaluate(const schedule::Graph &graph, const Traffic &traffic,
                             const platform::Network &network, double bytes_per_element,
                             std::span<const double> arrivals_s, std::span<double> exits_s, Choice choice);

} // namespace offbeat::evaluate
