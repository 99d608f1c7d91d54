/** @file
 * From arrivals to exits, by the cheapest evaluation that is exact: the longest path where no link is shared,
 * the fluid one elsewhere.
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

/** Who evaluates. */
enum class Choice : uint8_t {
    best,         /**< the longest path where it is exact */
    longest_path, /**< always, as if no link were ever shared: a lower bound of every exit */
    fluid,        /**< always */
};

/** With more messages than this, patterns that all shared links tell that the others will, too: trying those
 * by the longest path costs more than it saves. */
inline constexpr size_t many_messages = 20'000;

/** How far apart, as a share of the time of a typical transfer, changes of rates are that are put into effect
 * together: 0 (only simultaneous ones) for up to 200,000 messages, 0.002 beyond; see Fluid for how it grows.
 * What that costs in accuracy is measured by benchmarks/against_smpi.py. */
[[nodiscard]] double usual_tolerance(const schedule::Graph &graph);

/** Evaluates patterns of one schedule on one network.
 * @param arrivals_s patterns × p, none negative
 * @param exits_s patterns × p, written
 * @return who evaluated each pattern
 * std::invalid_argument for numbers that are none, and when the longest path is asked for and is not defined
 * (see LongestPath::possible);
 * std::logic_error when ranks wait for each other for ever. Thread-safe. */
std::vector<Engine> evaluate(const schedule::Graph &graph, const Traffic &traffic,
                             const platform::Network &network, double bytes_per_element,
                             std::span<const double> arrivals_s, std::span<double> exits_s, Choice choice,
                             double tolerance);

} // namespace offbeat::evaluate
