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

class Evaluation {
  public:
    Evaluation(const schedule::Graph &graph, const Traffic &traffic,
               const platform::MessageCosts &message_costs, std::vector<SizeCosts> costs,
               double bytes_per_element, double tolerance)
        : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(std::move(costs)),
          bytes_per_element_(bytes_per_element), tolerance_(tolerance) {
    }

    std::vector<Engine> run(std::span<const double> arrivals_s, std::span<double> exits_s, Choice choice) {
        const auto p = static_cast<size_t>(graph_.p);
        const size_t patterns = arrivals_s.size() / p;
        std::vector<Engine> engines(patterns, Engine::fluid);
        const bool possible = LongestPath::possible(graph_, message_costs_);
        if (choice == Choice::longest_path && !possible)
            throw std::invalid_argument(
                "this algorithm has no fixed order of messages on this platform, so that the "
                "longest path is not defined");
        bool try_path = possible && choice != Choice::fluid;
        std::optional<LongestPath> path;
        for (size_t first = 0; first < patterns && try_path; first += LongestPath::lanes) {
            const size_t count = std::min(LongestPath::lanes, patterns - first);
            if (!path)
                path.emplace(graph_, traffic_, message_costs_, costs_, bytes_per_element_);
            path->run(checked_arrivals(arrivals_s, p, first, count), exits_s.subspan(first * p, count * p));
            const uint32_t contended = choice == Choice::best ? path->contended(count) : 0;
            for (size_t i = 0; i < count; ++i)
                if ((contended >> i & 1U) == 0)
                    engines[first + i] = Engine::longest_path;
            try_path = contended != (1U << count) - 1 || graph_.messages.size() <= many_messages;
        }
        path.reset();
        std::unique_ptr<Fluid> fluid;
        for (size_t pattern = 0; pattern < patterns; ++pattern) {
            if (engines[pattern] != Engine::fluid)
                continue;
            if (!fluid)
                fluid = std::make_unique<Fluid>(graph_, traffic_, message_costs_, costs_, bytes_per_element_,
                                                tolerance_);
            fluid->run(checked_arrivals(arrivals_s, p, pattern, 1), exits_s.subspan(pattern * p, p));
        }
        return engines;
    }

  private:
    const schedule::Graph &graph_;
    const Traffic &traffic_;
    const platform::MessageCosts &message_costs_;
    std::vector<SizeCosts> costs_;
    double bytes_per_element_;
    double tolerance_;
};

void check_arguments(double bytes_per_element, double tolerance) {
    if (!is_valid(bytes_per_element))
        throw std::invalid_argument("an element has " + std::to_string(bytes_per_element) + " bytes");
    if (!is_valid(tolerance))
        throw std::invalid_argument("the tolerance is " + std::to_string(tolerance) +
                                    "; it must be a fraction of a transfer's duration, 0 or more");
}

} // namespace

double default_tolerance(const schedule::Graph &graph) {
    return graph.messages.size() > 200'000 ? 0.002 : 0;
}

std::string_view name_of(Engine engine) {
    return engine == Engine::longest_path ? "longest_path" : "fluid";
}

std::vector<Engine> evaluate(const schedule::Graph &graph, const Traffic &traffic,
                             const platform::Network &network, double bytes_per_element,
                             std::span<const double> arrivals_s, std::span<double> exits_s, Choice choice,
                             double tolerance) {
    check_arguments(bytes_per_element, tolerance);
    Evaluation evaluation(graph, traffic, network.costs, costs_by_size(graph, network, bytes_per_element),
                          bytes_per_element, tolerance);
    return evaluation.run(arrivals_s, exits_s, choice);
}

} // namespace offbeat::evaluate
