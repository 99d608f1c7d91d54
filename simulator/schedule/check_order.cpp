#include "schedule/check_order.hpp"

#include <algorithm>

namespace offbeat::schedule {

namespace {

/** Where the bits of a joint begin: joint j has bits for the joints 0 to j. */
size_t first_word(size_t joint) {
    const size_t whole = joint / 64;
    return 64 * whole * (whole + 1) / 2 + (joint % 64) * (whole + 1);
}

} // namespace

JointOrder::JointOrder(const Wiring &wiring, uint32_t rank, const Run &run)
    : wiring_(wiring), program_(wiring.programs[rank]), rank_(rank), run_(run), chain_(is_chain()) {
    if (!chain_)
        note_ancestors();
}

bool JointOrder::is_chain() const {
    for (Joint joint = 1; joint < program_.joints.size(); ++joint) {
        const JointNeeds &needs = program_.joints[joint];
        const auto *earlier = program_.awaited_joints.data() + needs.first_joint;
        if (std::find(earlier, earlier + needs.joints, joint - 1) == earlier + needs.joints)
            return false;
    }
    return std::ranges::is_sorted(program_.operations, {}, &Operation::joint);
}

uint64_t *JointOrder::ancestors(Joint joint) {
    return bits_.data() + first_word(joint);
}

void JointOrder::add_ancestors(Joint joint, Joint earlier) {
    const uint64_t *from = ancestors(earlier);
    uint64_t *into = ancestors(joint);
    for (size_t i = 0; i <= earlier / 64; ++i)
        into[i] |= from[i];
}

void JointOrder::note_ancestors() {
    bits_.assign(first_word(program_.joints.size()), 0);
    for (Joint joint = 0; joint < program_.joints.size(); ++joint) {
        const JointNeeds &needs = program_.joints[joint];
        for (uint32_t i = 0; i < needs.joints; ++i)
            add_ancestors(joint, program_.awaited_joints[needs.first_joint + i]);
        for (uint32_t i = 0; i < needs.requests; ++i)
            add_ancestors(joint,
                          program_.operations[program_.awaited_requests[needs.first_request + i]].joint);
        ancestors(joint)[joint / 64] |= uint64_t{1} << (joint % 64);
    }
}

bool JointOrder::in_order(Joint a, Joint b) const {
    if (chain_ || a > b)
        return a <= b;
    return (bits_[first_word(b) + a / 64] >> (a % 64) & 1) != 0;
}

bool JointOrder::started_before(uint32_t a, uint32_t b) const {
    const Joint first = program_.operations[a].joint;
    const Joint second = program_.operations[b].joint;
    return first == second ? a < b : in_order(first, second);
}

bool JointOrder::over_before(uint32_t a, uint32_t b) const {
    if (!is_message(program_.operations[a]))
        return started_before(a, b);
    const uint32_t number = wiring_.first_operation[rank_] + a;
    const Joint start = program_.operations[b].joint;
    for (const Joint waiter : wiring_.waiters_of.of(number))
        if (in_order(waiter, start))
            return true;
    if (program_.operations[a].queue == none)
        return false;
    return in_order(run_.popped_at.at(number), start);
}

} // namespace offbeat::schedule
