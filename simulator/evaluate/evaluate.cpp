#include "evaluate/evaluate.hpp"

#include "evaluate/fluid.hpp"
#include "evaluate/longest_path.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace offbeat::evaluate {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/** Finite and not negative. */
bool is_valid(double number) {
    return number >= 0 && number < infinity;
}

/** No early exit, so that the loop is vectorised. */
bool are_valid(std::span<const double> numbers) {
    int invalid = 0;
    for (const double number : numbers)
        invalid |= static_cast<int>(!(number >= 0)) | static_cast<int>(!(number < infinity));
    return invalid == 0;
}

/** The arrivals of `count` patterns from `first` on, checked just before they are used (and cached). */
std::span<const double> checked_arrivals(std::span<const double> arrivals_s, size_t p, size_t first,
                                         size_t count) {
    const auto arrivals = arrivals_s.subspan(first * p, count * p);
    if (are_valid(arrivals))
        return arrivals;
    const auto wrong = std::ranges::find_if_not(arrivals, is_valid);
    const auto index = static_cast<size_t>(wrong - arrivals.begin());
    throw std::invalid_argument("pattern " + std::to_string(first + index / p) + ": rank " +
                                std::to_string(index % p) + " arrives at " + std::to_string(*wrong) +
                                "; arrivals are seconds from 0 on");
}

void check_arguments(const schedule::Graph &graph, const platform::Network &network, double bytes_per_element,
                     Choice choice) {
    if (!is_valid(bytes_per_element))
        throw std::invalid_argument("an element has " + std::to_string(bytes_per_element) + " bytes");
    if (choice == Choice::longest_path && !LongestPath::possible(graph, network.costs))
        throw std::invalid_argument(
            "this algorithm has no fixed order of messages on this platform, so that the "
            "longest path is not defined");
}

} // namespace

std::string_view name_of(Engine engine) {
    return engine == Engine::longest_path ? "longest_path" : "fluid";
}

std::vector<Engine> evaluate(const schedule::Graph &graph, const Traffic &traffic,
                             const platform::Network &network, double bytes_per_element,
                             std::span<const double> arrivals_s, std::span<double> exits_s, Choice choice) {
    check_arguments(graph, network, bytes_per_element, choice);
    const std::vector<SizeCosts> costs = costs_by_size(graph, network, bytes_per_element);
    const auto p = static_cast<size_t>(graph.p);
    const size_t patterns = arrivals_s.size() / p;
    std::vector<Engine> engines(patterns, Engine::fluid);
    bool try_path = choice != Choice::fluid && LongestPath::possible(graph, network.costs);
    std::optional<LongestPath> path;
    for (size_t first = 0; first < patterns && try_path; first += LongestPath::lanes) {
        const size_t count = std::min(LongestPath::lanes, patterns - first);
        if (!path)
            path.emplace(graph, traffic, network.costs, costs, bytes_per_element);
        path->run(checked_arrivals(arrivals_s, p, first, count), exits_s.subspan(first * p, count * p));
        const uint32_t contended_patterns = choice == Choice::best ? path->contended_patterns(count) : 0;
        for (size_t i = 0; i < count; ++i)
            if ((contended_patterns >> i & 1U) == 0)
                engines[first + i] = Engine::longest_path;
        try_path = contended_patterns != (1U << count) - 1 || graph.messages.size() <= many_messages;
    }
    path.reset();
    std::unique_ptr<Fluid> fluid;
    for (size_t pattern = 0; pattern < patterns; ++pattern) {
        if (engines[pattern] != Engine::fluid)
            continue;
        if (!fluid)
            fluid = std::make_unique<Fluid>(graph, traffic, network.costs, costs, bytes_per_element);
        fluid->run(checked_arrivals(arrivals_s, p, pattern, 1), exits_s.subspan(pattern * p, p));
    }
    return engines;
}

} // namespace offbeat::evaluate
