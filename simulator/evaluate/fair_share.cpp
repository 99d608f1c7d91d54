#include "evaluate/fair_share.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::evaluate {

using platform::Hop;

namespace {

constexpr uint32_t no_link = UINT32_MAX;
constexpr uint32_t most_links = 1U << 24U;
constexpr uint32_t most_weights = 1U << 8U;

} // namespace

FairShare::FairShare(const Traffic &traffic)
    : groups_(traffic.groups.size()), links_(traffic.capacities.size()), members_(traffic.capacities.size()),
      place_(traffic.hops.size()) {
    pack(traffic);
}

void FairShare::pack(const Traffic &traffic) {
    for (size_t link = 0; link < links_.size(); ++link)
        links_[link].capacity = traffic.capacities[link];
    for (size_t group = 0; group < groups_.size(); ++group) {
        const Group &route = traffic.groups[group];
        groups_[group].alone = route.alone;
        groups_[group].first_use = route.first_hop;
        groups_[group].uses = route.hops;
    }
    uses_.reserve(traffic.hops.size());
    for (const Hop &hop : traffic.hops) {
        const auto known = std::ranges::find(weights_, hop.weight);
        const auto weight = static_cast<uint32_t>(known - weights_.begin());
        if (known == weights_.end())
            weights_.push_back(hop.weight);
        if (weight >= most_weights || hop.link >= most_links)
            throw std::length_error("a network with more than 16 million links, or 256 different weights of "
                                    "links in routes, is too large for this evaluation");
        uses_.push_back({.link = hop.link, .weight = weight});
    }
}

void FairShare::reset() {
    for (GroupState &group : groups_) {
        group.flows = group.counted = 0;
        group.rate = 0;
        group.touched = false;
    }
    for (LinkState &link : links_)
        link.asked = link.most_asked = link.weight = 0;
    for (auto &members : members_)
        members.clear();
    touched_.clear();
}

std::span<const FairShare::Use> FairShare::uses(const GroupState &group) const {
    return {uses_.data() + group.first_use, group.uses};
}

void FairShare::touch(uint32_t group) {
    if (groups_[group].touched)
        return;
    groups_[group].touched = true;
    touched_.push_back(group);
}

/** What became of a touched group's flows, told to its links. */
void FairShare::count(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    group.touched = false;
    const double more = static_cast<double>(group.flows) - group.counted;
    const double rate = more * group.alone;
    for (const Use use : uses(group)) {
        LinkState &link = links_[use.link];
        link.weight += weights_[use.weight] * more;
        link.asked += weights_[use.weight] * rate;
        link.most_asked = std::max(link.most_asked, link.asked);
    }
    if (group.counted == 0 && group.flows > 0)
        join(group_number);
    else if (group.counted > 0 && group.flows == 0)
        leave(group_number);
    group.counted = group.flows;
}

void FairShare::join(uint32_t group) {
    uint32_t hop = groups_[group].first_use;
    for (const Use use : uses(groups_[group])) {
        auto &members = members_[use.link];
        place_[hop] = static_cast<uint32_t>(members.size());
        members.push_back({group, hop++});
    }
}

void FairShare::leave(uint32_t group) {
    uint32_t hop = groups_[group].first_use;
    for (const Use use : uses(groups_[group])) {
        auto &members = members_[use.link];
        members[place_[hop]] = members.back();
        place_[members.back().hop] = place_[hop];
        members.pop_back();
        if (members.empty())
            links_[use.link].weight = links_[use.link].asked = 0; // no rounding is carried on
        ++hop;
    }
}

/** Everything that a change can reach: links of the touched groups, groups on those links, and so on. */
void FairShare::collect() {
    ++round_;
    growing_ = 0;
    part_links_.clear();
    part_groups_.clear();
    for (const uint32_t group : touched_)
        count(group);
    for (const uint32_t group : touched_)
        reach(group);
    for (size_t i = 0; i < part_links_.size(); ++i) {
        for (const Member &member : members_[part_links_[i]]) {
            if (groups_[member.group].listed == round_)
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

/** Starts the group's links afresh, those that may limit it. */
void FairShare::reach(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    if (group.reached == round_)
        return;
    group.reached = round_;
    for (const Use use : uses(group)) {
        LinkState &link = links_[use.link];
        if (link.round == round_ || link.most_asked <= link.capacity * (1 + 1e-9))
            continue;
        link.most_asked = link.asked;
        link.left = link.capacity;
        link.demand = link.weight;
        link.growing = static_cast<uint32_t>(members_[use.link].size());
        link.round = round_;
        link.place = static_cast<uint32_t>(part_links_.size());
        part_links_.push_back(use.link);
    }
}

void FairShare::list(uint32_t group_number) {
    GroupState &group = groups_[group_number];
    group.listed = round_;
    group.growing = true;
    ++growing_;
    part_groups_.push_back(group_number);
}

std::span<const uint32_t> FairShare::solve() {
    collect();
    fill();
    return part_groups_;
}

/** Link by link, the one next that has the least to give to each of its flows. */
void FairShare::fill() {
    shares_.resize(part_links_.size());
    for (size_t i = 0; i < part_links_.size(); ++i) {
        const LinkState &link = links_[part_links_[i]];
        if (link.growing > 0)
            shares_.set(i, link.left / link.demand);
    }
    while (growing_ > 0) {
        double share = 0;
        const size_t place = shares_.find(share);
        settle_link(part_links_[place], share);
    }
}

/** The flows of a full link have their rate. Those that would not even alone be that fast leave more to the
 * others: then only they are settled. */
void FairShare::settle_link(uint32_t full, double share) {
    bool slower = false;
    for (const Member &member : members_[full]) {
        const double alone = groups_[member.group].alone;
        if (groups_[member.group].growing && alone < share * (1 - 1e-12)) {
            settle(member.group, alone, no_link);
            slower = true;
        }
    }
    if (slower)
        return;
    for (const Member &member : members_[full])
        if (groups_[member.group].growing)
            settle(member.group, share, full);
    shares_.set(links_[full].place, never);
}

void FairShare::settle(uint32_t group_number, double share, uint32_t full) {
    GroupState &group = groups_[group_number];
    group.growing = false;
    group.new_rate = share;
    --growing_;
    for (const Use use : uses(group)) {
        LinkState &link = links_[use.link];
        if (link.round != round_)
            continue;
        const double weight = weights_[use.weight] * group.flows;
        link.left -= weight * share;
        link.demand -= weight;
        --link.growing;
        if (use.link != full)
            shares_.set(link.place, link.growing > 0 ? std::max(link.left, 0.0) / link.demand : never);
    }
}

} // namespace offbeat::evaluate
