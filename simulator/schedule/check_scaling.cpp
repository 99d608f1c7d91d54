#include "schedule/check_scaling.hpp"

#include "schedule/check_wiring.hpp"

#include <algorithm>

namespace offbeat::schedule {

namespace {

bool same_shape(const Operation &a, const Operation &b) {
    return a.kind == b.kind && a.order == b.order && a.peer == b.peer && a.tag == b.tag &&
           a.joint == b.joint && a.pieces == b.pieces && a.queue == b.queue;
}

bool same_needs(const JointNeeds &a, const JointNeeds &b) {
    return a.requests == b.requests && a.joints == b.joints && a.queue == b.queue;
}

/** What differs, to follow the name of the rank; '' if nothing does. */
std::string difference(const Program &one, const Program &many, int64_t count) {
    if (one.operations.size() != many.operations.size())
        return " has " + std::to_string(one.operations.size()) + " operations for 1 element and " +
               std::to_string(many.operations.size());
    for (size_t i = 0; i < one.operations.size(); ++i) {
        const Operation &small = one.operations[i];
        const Operation &large = many.operations[i];
        if (!same_shape(small, large))
            return "'s operation " + std::to_string(i) + " is " + describe(small) + " for 1 element and " +
                   describe(large);
        if (small.length * count != large.length)
            return ": " + describe(small) + " has " + std::to_string(small.length) +
                   " elements for 1 element and " + std::to_string(large.length);
    }
    for (size_t i = 0; i < one.pieces.size(); ++i) {
        const Span &small = one.pieces[i];
        const Span &large = many.pieces[i];
        if (small.buffer != large.buffer || small.offset * count != large.offset ||
            small.length * count != large.length)
            return "'s piece " + std::to_string(i) + " begins at " + place(small, 0) +
                   " for 1 element and at " + place(large, 0);
    }
    if (!std::ranges::equal(one.joints, many.joints, same_needs) ||
        one.awaited_requests != many.awaited_requests || one.awaited_joints != many.awaited_joints)
        return " waits otherwise for 1 element than";
    return "";
}

} // namespace

std::string check_scaling(std::span<const Program> for_one, std::span<const Program> for_count,
                          int64_t count) {
    for (size_t rank = 0; rank < for_one.size(); ++rank)
        if (const std::string what = difference(for_one[rank], for_count[rank], count); !what.empty())
            return "rank " + std::to_string(rank) + what + " for " + std::to_string(count) +
                   ", and its algorithm promises to scale";
    return "";
}

} // namespace offbeat::schedule
