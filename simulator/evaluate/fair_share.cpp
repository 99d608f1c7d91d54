#include "evaluate/fair_share.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::evaluate {

using platform::Hop;

namespace {

constexpr uint32_t no_cable = UINT32_MAX;
constexpr size_t most_links = 1U << 24U;
constexpr size_t most_weights = 1U << 8U;

} // namespace

FairShare::FairShare(const Traffic &traffic) : groups_(traffic.groups.size()) {
    const std::vector<Side> sides = pair_links(traffic);
    if (sides.size() > most_links)
        throw std::length_error("a network with more than 16 million links is too large for this evaluation");
    for (size_t link = 0; link < sides.size(); ++link) {
        cables_.resize(std::max<size_t>(cables_.size(), sides[link].cable + 1));
        cables_[sides[link].cable].capacity[sides[link].of] = traffic.capacities[link];
    }
    members_.resize(cables_.size());
    for (size_t group = 0; group < groups_.size(); ++group) {
        const Group &route = traffic.groups[group];
        groups_[group].alone = route.alone;
        pack(groups_[group], std::span(traffic.hops).subspan(route.first_hop, route.hops), sides);
    }
    is_member_.resize(uses_.size());
}

/** What a group uses of each cable on its route. */
void FairShare::pack(GroupState &group, std::span<const Hop> hops, std::span<const Side> sides) {
    group.first_use = static_cast<uint32_t>(uses_.size());
    for (size_t i = 0; i < hops.size(); ++i) {
        const uint32_t cable = sides[hops[i].link].cable;
        const auto same = [&](const Hop &hop) { return sides[hop.link].cable == cable; };
        if (std::ranges::any_of(hops.first(i), same))
            continue;
        Both weight{};
        for (const Hop &hop : hops.subspan(i))
            if (same(hop))
                weight[sides[hop.link].of] += hop.weight;
        uses_.push_back({.cable = cable, .weight = known_weight(weight)});
    }
    group.uses = static_cast<uint32_t>(uses_.size()) - group.first_use;
}

uint32_t FairShare::known_weight(Both weight) {
    const auto known = std::ranges::find_if(
        weights_, [&](Both other) { return other[0] == weight[0] && other[1] == weight[1]; });
    const auto place = static_cast<size_t>(known - weights_.begin());
    if (known == weights_.end())
        weights_.push_back(weight);
    if (place >= most_weights)
        throw std::length_error("routes with more than 256 different weights of links are too many for this "
                                "evaluation");
    return static_cast<uint32_t>(place);
}

void FairShare::reset() {
    for (GroupState &group : groups_) {
        group.flows = group.counted = 0;
        group.rate = 0;
        group.touched = false;
    }
    for (Cable &cable : cables_) {
        cable.asked = cable.most_asked = cable.weight = Both{};
        cable.active = 0;
    }
    for (auto &members : members_)
        members.clear();
    std::ranges::fill(is_member_, 0);
    touched_.clear();
}

std::span<const FairShare::Use> FairShare::uses(const GroupState &group) const {
    return {uses_.data() + group.first_use, group.uses};
}

/** What became of a touched group's flows, told to its cables. */
void FairShare::count(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    group.touched = false;
    const double more = static_cast<double>(group.flows) - group.counted;
    const double rate = more * group.alone;
    const uint32_t active = (group.flows > 0 ? 1U : 0U) - (group.counted > 0 ? 1U : 0U); // 1, 0 or -1
    for (const Use use : uses(group)) {
        Cable &cable = cables_[use.cable];
        cable.active += active;
        cable.weight += weights_[use.weight] * more;
        cable.asked += weights_[use.weight] * rate;
        if (cable.active == 0)
            cable.weight = cable.asked = Both{}; // no rounding is carried on
        cable.most_asked = cable.most_asked > cable.asked ? cable.most_asked : cable.asked;
    }
    if (group.counted == 0)
        join(group_number);
    group.counted = group.flows;
}

void FairShare::join(uint32_t group) {
    uint32_t place = groups_[group].first_use;
    for (const Use use : uses(groups_[group])) {
        if (is_member_[place] == 0)
            members_[use.cable].push_back({group, place});
        is_member_[place++] = 1;
    }
}

/** Members without flows may well have some again soon: they go when they are too many. */
void FairShare::drop_idle(uint32_t cable) {
    constexpr size_t few = 8;
    if (members_[cable].size() <= cables_[cable].active + few)
        return;
    std::erase_if(members_[cable], [&](const Member &member) {
        const bool idle = groups_[member.group].flows == 0;
        if (idle)
            is_member_[member.use] = 0;
        return idle;
    });
}

/** Everything that a change can reach: cables of the touched groups, groups on those, and so on. */
void FairShare::collect() {
    ++round_;
    growing_ = 0;
    part_cables_.clear();
    part_groups_.clear();
    for (const uint32_t group : touched_)
        count(group);
    for (const uint32_t group : touched_)
        reach(group);
    for (size_t i = 0; i < part_cables_.size(); ++i) {
        for (const Member &member : members_[part_cables_[i]]) {
            if (groups_[member.group].listed == round_ || groups_[member.group].flows == 0)
                continue;
            reach(member.group);
            list(member.group);
        }
    }
    for (const uint32_t group : touched_) {
        if (groups_[group].listed == round_ || groups_[group].flows == 0)
            continue;
        groups_[group].listed = round_;
        groups_[group].growing = false;
        groups_[group].new_rate = groups_[group].alone;
        part_groups_.push_back(group);
    }
    touched_.clear();
}

/** Starts the group's cables afresh, those that may limit it. */
void FairShare::reach(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    if (group.reached == round_)
        return;
    group.reached = round_;
    for (const Use use : uses(group)) {
        Cable &cable = cables_[use.cable];
        const Both room = cable.capacity * (1 + 1e-9);
        if (cable.round == round_ || (cable.most_asked[0] <= room[0] && cable.most_asked[1] <= room[1]))
            continue;
        cable.most_asked = cable.asked;
        if (cable.active == 0)
            continue;
        drop_idle(use.cable);
        cable.left = cable.capacity;
        cable.demand = cable.weight;
        cable.growing = cable.active;
        cable.round = round_;
        cable.place = static_cast<uint32_t>(part_cables_.size());
        part_cables_.push_back(use.cable);
    }
}

void FairShare::list(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    group.listed = round_;
    group.growing = true;
    ++growing_;
    part_groups_.push_back(group_number);
}

[[gnu::flatten]] std::span<const uint32_t> FairShare::solve() {
    collect();
    fill();
    return part_groups_;
}

double FairShare::Cable::share() const {
    if (growing == 0)
        return never;
    const Both shares = (left > 0 ? left : Both{}) / demand;
    return std::min(shares[0], shares[1]);
}

/** Cable by cable, the one next that has the least to give to each of its flows. */
void FairShare::fill() {
    shares_.resize(part_cables_.size());
    for (size_t i = 0; i < part_cables_.size(); ++i)
        shares_.set(i, cables_[part_cables_[i]].share());
    while (growing_ > 0) {
        double share = 0;
        const size_t place = shares_.find(share);
        settle_cable(part_cables_[place], share);
    }
}

/** The flows of a full cable have their rate. Those that would not even alone be that fast leave more to the
 * others: then only they are settled. */
void FairShare::settle_cable(uint32_t full, double share) {
    bool slower = false;
    for (const Member &member : members_[full]) {
        const double alone = groups_[member.group].alone;
        if (groups_[member.group].growing && alone < share * (1 - 1e-12)) {
            settle(member.group, alone, no_cable);
            slower = true;
        }
    }
    if (slower)
        return;
    for (const Member &member : members_[full])
        if (groups_[member.group].growing)
            settle(member.group, share, full);
    shares_.set(cables_[full].place, never);
}

void FairShare::settle(uint32_t group_number, double share, uint32_t full) {
    GroupState &group = groups_[group_number];
    group.growing = false;
    group.new_rate = share;
    --growing_;
    for (const Use use : uses(group)) {
        Cable &cable = cables_[use.cable];
        if (cable.round != round_)
            continue;
        const Both weight = weights_[use.weight] * group.flows;
        cable.left -= weight * share;
        cable.demand -= weight;
        --cable.growing;
        if (use.cable != full)
            shares_.set(cable.place, cable.share());
    }
}

} // namespace offbeat::evaluate
