#include "schedule/check.hpp"

#include "schedule/call_graph.hpp"
#include "schedule/check_races.hpp"
#include "schedule/check_values.hpp"
#include "schedule/execution.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace offbeat::schedule {

namespace {

void check_with_order(const CallGraph &graph, const std::vector<uint32_t> &partner, const Call &call,
                      bool ordered, FiringOrder order) {
    RankSets sets(call.p);
    const bool barrier = row_of(call.collective).result == Result::NO_RESULT;
    const Execution execution = execute(graph, partner, order, barrier ? &sets : nullptr);
    for (uint32_t rank = 0; rank < graph.programs.size(); ++rank) {
        check_races(graph, rank, execution);
        if (barrier)
            if (const auto missing = sets.first_missing(execution.exit_depends_on[rank]))
                throw CheckFailure{"rank " + std::to_string(rank) + " can leave the barrier before rank " +
                                   std::to_string(*missing) + " arrives"};
    }
    check_values(graph, partner, execution, call, ordered, sets);
}

} // namespace

std::string check(std::span<const Program> programs, const Call &call, bool ordered) {
    try {
        for (const Program &program : programs)
            check_bounds(program, call);
        const CallGraph graph(programs);
        const std::vector<uint32_t> partner = match(graph);
        check_with_order(graph, partner, call, ordered || !call.commutative, FiringOrder::oldest);
        if (graph.queues)
            for (const FiringOrder order : {FiringOrder::newest, FiringOrder::pseudorandom})
                check_with_order(graph, partner, call, ordered || !call.commutative, order);
        return "";
    } catch (const CheckFailure &failure) {
        return failure.sentence;
    }
}

std::vector<DrawnMessage> messages(std::span<const Program> programs, const Call &call) {
    std::vector<DrawnMessage> all;
    try {
        for (const Program &program : programs)
            check_bounds(program, call);
        const CallGraph graph(programs);
        const std::vector<uint32_t> partner = match(graph);
        const Execution execution = execute(graph, partner, FiringOrder::oldest, nullptr);
        for (uint32_t source = 0; source < programs.size(); ++source) {
            for (uint32_t i = 0; i < programs[source].operations.size(); ++i) {
                const Operation &send = programs[source].operations[i];
                if (!is_send(send))
                    continue;
                const auto target = static_cast<uint32_t>(send.peer);
                const Request receive =
                    partner[graph.first_operation[source] + i] - graph.first_operation[target];
                const Vertex receive_vertex = programs[target].operations[receive].vertex;
                const uint32_t depth =
                    1 + std::max(execution.depth[graph.first_vertex[source] + send.vertex],
                                 execution.depth[graph.first_vertex[target] + receive_vertex]);
                all.push_back(
                    {static_cast<int>(source), send.peer, send.length, send.tag, static_cast<int>(depth)});
            }
        }
    } catch (const CheckFailure &failure) {
        throw std::invalid_argument(failure.sentence);
    }
    std::ranges::stable_sort(all, {}, [](const DrawnMessage &message) {
        return std::tuple(message.depth, message.source, message.target);
    });
    return all;
}

} // namespace offbeat::schedule
