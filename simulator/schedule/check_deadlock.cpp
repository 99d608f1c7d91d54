#include "schedule/check_deadlock.hpp"

#include <algorithm>

namespace offbeat::schedule {

namespace {

class Stillness {
  public:
    Stillness(const Wiring &wiring, const std::vector<uint32_t> &partner, const std::vector<uint32_t> &needs,
              const std::vector<uint8_t> &posted)
        : wiring_(wiring), partner_(partner), needs_(needs), posted_(posted) {
    }

    [[nodiscard]] std::string explain() const {
        std::vector<uint32_t> ranks;
        std::vector<Request> requests;
        auto rank = first_stuck_rank();
        Joint joint = exit_of(rank);
        while (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
            const Request request = obstacle(rank, joint);
            ranks.push_back(rank);
            requests.push_back(request);
            // the message is matched and did not go over: the peer has not posted its end
            const uint32_t other = partner_[wiring_.first_operation[rank] + request];
            rank = static_cast<uint32_t>(wiring_.programs[rank].operations[request].peer);
            joint = wiring_.programs[rank].operations[other - wiring_.first_operation[rank]].joint;
        }
        const auto start = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
        return sentence(std::span(ranks).subspan(static_cast<size_t>(start)),
                        std::span(requests).subspan(static_cast<size_t>(start)));
    }

  private:
    [[nodiscard]] Joint exit_of(uint32_t rank) const {
        return static_cast<Joint>(wiring_.programs[rank].joints.size() - 1);
    }

    [[nodiscard]] bool fired(uint32_t rank, Joint joint) const {
        return needs_[wiring_.first_joint[rank] + joint] == 0;
    }

    [[nodiscard]] uint32_t first_stuck_rank() const {
        uint32_t rank = 0;
        while (fired(rank, exit_of(rank)))
            ++rank;
        return rank;
    }

    [[nodiscard]] bool over(uint32_t rank, Request request) const {
        const uint32_t number = wiring_.first_operation[rank] + request;
        return posted_[number] != 0 && posted_[partner_[number]] != 0;
    }

    /** The message, posted and not complete, that keeps a joint from firing. */
    [[nodiscard]] Request obstacle(uint32_t rank, Joint joint) const {
        const Program &program = wiring_.programs[rank];
        for (;;) {
            const Joint earlier = unfired_need(rank, joint);
            if (earlier == none)
                break;
            joint = earlier;
        }
        const JointNeeds &needs = program.joints[joint];
        for (uint32_t i = 0; i < needs.requests; ++i)
            if (const Request request = program.awaited_requests[needs.first_request + i];
                !over(rank, request))
                return request;
        for (Request request = 0; needs.queue != none && request < program.operations.size(); ++request)
            if (program.operations[request].queue == needs.queue &&
                fired(rank, program.operations[request].joint) && !over(rank, request))
                return request;
        throw Wrong{"rank " + std::to_string(rank) +
                    " waits for a completion queue that nothing is left to come out of"};
    }

    [[nodiscard]] Joint unfired_need(uint32_t rank, Joint joint) const {
        const Program &program = wiring_.programs[rank];
        const JointNeeds &needs = program.joints[joint];
        for (uint32_t i = 0; i < needs.joints; ++i)
            if (const Joint earlier = program.awaited_joints[needs.first_joint + i]; !fired(rank, earlier))
                return earlier;
        for (uint32_t i = 0; i < needs.requests; ++i) {
            const Request request = program.awaited_requests[needs.first_request + i];
            if (const Joint earlier = program.operations[request].joint; !fired(rank, earlier))
                return earlier;
        }
        return none;
    }

    [[nodiscard]] std::string sentence(std::span<const uint32_t> ranks,
                                       std::span<const Request> requests) const {
        std::string text = "deadlock: ";
        bool sends = false;
        for (size_t i = 0; i < ranks.size(); ++i) {
            const Operation &operation = wiring_.programs[ranks[i]].operations[requests[i]];
            sends = sends || is_send(operation);
            if (i > 3 && i + 1 < ranks.size())
                continue;
            if (i > 3)
                text += "... ";
            text += "rank " + std::to_string(ranks[i]) + " waits for " + describe(operation) + ", ";
        }
        text += "which waits for rank " + std::to_string(ranks.front());
        return sends ? text + " (where a send waits for its receive)" : text;
    }

    const Wiring &wiring_;
    const std::vector<uint32_t> &partner_;
    const std::vector<uint32_t> &needs_;
    const std::vector<uint8_t> &posted_;
};

} // namespace

std::string explain_deadlock(const Wiring &wiring, const std::vector<uint32_t> &partner,
                             const std::vector<uint32_t> &needs, const std::vector<uint8_t> &posted) {
    return Stillness(wiring, partner, needs, posted).explain();
}

} // namespace offbeat::schedule
