#include "evaluate/fair_share.hpp"

#include <algorithm>

namespace offbeat::evaluate {

using platform::Hop;

FairShare::FairShare(const Traffic &traffic)
    : traffic_(traffic), flows_(traffic.groups.size()), rate_(traffic.groups.size()),
      new_rate_(traffic.groups.size()), members_(traffic.capacities.size()), place_(traffic.hops.size()),
      left_(traffic.capacities.size()), demand_(traffic.capacities.size()),
      growing_(traffic.capacities.size()), group_round_(traffic.groups.size()),
      link_round_(traffic.capacities.size()), place_of_link_(traffic.capacities.size()),
      settled_(traffic.groups.size()) {
}

void FairShare::reset() {
    std::ranges::fill(flows_, 0);
    std::ranges::fill(rate_, 0);
    for (auto &members : members_)
        members.clear();
    touched_.clear();
}

void FairShare::add_flow(uint32_t group) {
    if (flows_[group]++ == 0)
        join(group);
    touched_.push_back(group);
}

void FairShare::remove_flow(uint32_t group) {
    touched_.push_back(group);
    if (--flows_[group] == 0)
        leave(group);
}

void FairShare::join(uint32_t group) {
    const Group &route = traffic_.groups[group];
    for (uint32_t hop = route.first_hop; hop < route.first_hop + route.hops; ++hop) {
        auto &members = members_[traffic_.hops[hop].link];
        place_[hop] = static_cast<uint32_t>(members.size());
        members.push_back({group, hop});
    }
}

void FairShare::leave(uint32_t group) {
    rate_[group] = 0;
    const Group &route = traffic_.groups[group];
    for (uint32_t hop = route.first_hop; hop < route.first_hop + route.hops; ++hop) {
        auto &members = members_[traffic_.hops[hop].link];
        members[place_[hop]] = members.back();
        place_[members.back().hop] = place_[hop];
        members.pop_back();
    }
}

/** Everything that a change can reach: links of the touched groups, groups on those links, and so on. */
void FairShare::collect() {
    ++round_;
    links_.clear();
    groups_.clear();
    const auto reach = [&](uint32_t group) {
        const Group &route = traffic_.groups[group];
        for (const Hop &hop : std::span(&traffic_.hops[route.first_hop], route.hops)) {
            if (link_round_[hop.link] == round_)
                continue;
            link_round_[hop.link] = round_;
            left_[hop.link] = traffic_.capacities[hop.link];
            demand_[hop.link] = 0;
            growing_[hop.link] = 0;
            place_of_link_[hop.link] = static_cast<uint32_t>(links_.size());
            links_.push_back(hop.link);
        }
    };
    for (const uint32_t group : touched_)
        reach(group);
    touched_.clear();
    for (size_t i = 0; i < links_.size(); ++i) {
        for (const Member &member : members_[links_[i]]) {
            if (group_round_[member.group] == round_)
                continue;
            group_round_[member.group] = round_;
            groups_.push_back(member.group);
            settled_[member.group] = 0;
            reach(member.group);
        }
    }
}

std::span<const uint32_t> FairShare::solve() {
    collect();
    for (const uint32_t group : groups_) {
        const Group &route = traffic_.groups[group];
        for (const Hop &hop : std::span(&traffic_.hops[route.first_hop], route.hops)) {
            demand_[hop.link] += hop.weight * flows_[group];
            ++growing_[hop.link];
        }
    }
    fill();
    return groups_;
}

/** Link by link, the one next that has the least to give to each of its flows. */
void FairShare::fill() {
    shares_.resize(links_.size());
    for (size_t i = 0; i < links_.size(); ++i)
        if (growing_[links_[i]] > 0)
            shares_.set(i, left_[links_[i]] / demand_[links_[i]]);
    size_t open = groups_.size();
    while (open > 0) {
        double share = 0;
        const uint32_t link = links_[shares_.find(share)];
        if (share >= traffic_.flow_bandwidth) {
            settle_rest();
            return;
        }
        open -= settle(link, share);
    }
}

/** No link limits the others any more: they are as fast as flows can be. */
void FairShare::settle_rest() {
    for (const uint32_t group : groups_)
        if (!settled_[group])
            new_rate_[group] = traffic_.flow_bandwidth;
}

/** The flows of a full link have their rate; returns how many groups that are. */
size_t FairShare::settle(uint32_t link, double share) {
    size_t settled = 0;
    for (const Member &member : members_[link]) {
        if (settled_[member.group])
            continue;
        settled_[member.group] = 1;
        ++settled;
        new_rate_[member.group] = share;
        const Group &route = traffic_.groups[member.group];
        for (const Hop &hop : std::span(&traffic_.hops[route.first_hop], route.hops)) {
            const double weight = hop.weight * flows_[member.group];
            left_[hop.link] -= weight * share;
            demand_[hop.link] -= weight;
            const bool grows = --growing_[hop.link] > 0;
            shares_.set(place_of_link_[hop.link],
                        grows ? std::max(left_[hop.link], 0.0) / demand_[hop.link] : never);
        }
    }
    return settled;
}

} // namespace offbeat::evaluate
