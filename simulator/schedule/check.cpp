#include "schedule/check.hpp"

#include "schedule/check_races.hpp"
#include "schedule/check_run.hpp"
#include "schedule/check_values.hpp"
#include "schedule/check_wiring.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace offbeat::schedule {

namespace {

void check_in_order(const Wiring &wiring, const std::vector<uint32_t> &partner, const Call &call,
                    bool ordered, Next next) {
    RankSets sets(call.p);
    const bool barrier = call.collective == Collective::barrier;
    const Run one = run(wiring, partner, next, barrier ? &sets : nullptr);
    for (uint32_t rank = 0; rank < wiring.programs.size(); ++rank) {
        check_races(wiring, rank, one);
        if (barrier)
            if (const auto missing = sets.first_missing(one.heard_of[rank]))
                throw Wrong{"rank " + std::to_string(rank) + " can leave the barrier before rank " +
                            std::to_string(*missing) + " arrives"};
    }
    check_values(wiring, partner, one, call, ordered, sets);
}

} // namespace

std::string check(std::span<const Program> programs, const Call &call, bool ordered) {
    try {
        for (const Program &program : programs)
            check_bounds(program, call);
        const Wiring wiring(programs);
        const std::vector<uint32_t> partner = match(wiring);
        check_in_order(wiring, partner, call, ordered || !call.commutative, Next::oldest);
        if (wiring.queues)
            for (const Next next : {Next::newest, Next::any})
                check_in_order(wiring, partner, call, ordered || !call.commutative, next);
        return "";
    } catch (const Wrong &wrong) {
        return wrong.sentence;
    }
}

std::vector<DrawnMessage> messages(std::span<const Program> programs, const Call &call) {
    std::vector<DrawnMessage> all;
    try {
        for (const Program &program : programs)
            check_bounds(program, call);
        const Wiring wiring(programs);
        const std::vector<uint32_t> partner = match(wiring);
        const Run one = run(wiring, partner, Next::oldest, nullptr);
        for (uint32_t source = 0; source < programs.size(); ++source) {
            for (uint32_t i = 0; i < programs[source].operations.size(); ++i) {
                const Operation &send = programs[source].operations[i];
                if (!is_send(send))
                    continue;
                const auto target = static_cast<uint32_t>(send.peer);
                const Request receive =
                    partner[wiring.first_operation[source] + i] - wiring.first_operation[target];
                const Joint there = programs[target].operations[receive].joint;
                const uint32_t depth = 1 + std::max(one.depth[wiring.first_joint[source] + send.joint],
                                                    one.depth[wiring.first_joint[target] + there]);
                all.push_back(
                    {static_cast<int>(source), send.peer, send.length, send.tag, static_cast<int>(depth)});
            }
        }
    } catch (const Wrong &wrong) {
        throw std::invalid_argument(wrong.sentence);
    }
    std::ranges::stable_sort(all, {}, [](const DrawnMessage &message) {
        return std::tuple(message.depth, message.source, message.target);
    });
    return all;
}

} // namespace offbeat::schedule
