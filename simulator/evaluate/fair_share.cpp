#include "evaluate/fair_share.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

namespace offbeat::evaluate {

namespace {

/** The node pairs that use each link. */
class Users {
  public:
    explicit Users(const Traffic &traffic)
        : first_(traffic.capacities.size() + 1), node_pairs_(traffic.hops.size()) {
        for (const platform::Hop &hop : traffic.hops)
            ++first_[hop.link + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
        for (uint32_t node_pair = 0; node_pair < traffic.node_pairs.size(); ++node_pair) {
            const NodePair &pair = traffic.node_pairs[node_pair];
            for (uint32_t hop = pair.first_hop; hop < pair.first_hop + pair.hops; ++hop)
                node_pairs_[next[traffic.hops[hop].link]++] = node_pair;
        }
    }
    /** In ascending order. */
    [[nodiscard]] std::span<const uint32_t> pairs_on(uint32_t link) const {
        return {node_pairs_.data() + first_[link], node_pairs_.data() + first_[link + 1]};
    }

  private:
    std::vector<uint32_t> first_; /**< per link, and one more */
    std::vector<uint32_t> node_pairs_;
};

} // namespace

std::vector<LinkSide> pair_links(const Traffic &traffic) {
    const Users users(traffic);
    std::vector<uint32_t> links(traffic.capacities.size());
    std::iota(links.begin(), links.end(), 0);
    std::ranges::stable_sort(links, [&](uint32_t a, uint32_t b) {
        return std::ranges::lexicographical_compare(users.pairs_on(a), users.pairs_on(b));
    });
    std::vector<LinkSide> sides(links.size());
    uint32_t link_pairs = 0;
    for (size_t i = 0; i < links.size(); ++i) {
        sides[links[i]] = {link_pairs, 0};
        if (i + 1 < links.size() &&
            std::ranges::equal(users.pairs_on(links[i]), users.pairs_on(links[i + 1])))
            sides[links[++i]] = {link_pairs, 1};
        ++link_pairs;
    }
    return sides;
}

using platform::Hop;

namespace {

constexpr uint32_t no_link_pair = UINT32_MAX;
/** The bits of FairShare::Use. */
constexpr size_t max_links = 1U << 24U;
constexpr size_t max_weights = 1U << 8U;

/** The share by which a demand may exceed a capacity, or a rate fall below a share: demands are sums that are
 * updated with each flow, rates are single quotients. Both are far above the errors of double precision
 * (2^-53 for each operation) and far below a difference that a user could measure. */
constexpr double demand_rounding = 1e-9;
constexpr double rate_rounding = 1e-12;

} // namespace

FairShare::FairShare(const Traffic &traffic) : node_pairs_(traffic.node_pairs.size()) {
    const std::vector<LinkSide> sides = pair_links(traffic);
    if (sides.size() > max_links)
        throw std::length_error("a network with more than 16 million links is too large for this evaluation");
    for (size_t link = 0; link < sides.size(); ++link) {
        link_pairs_.resize(std::max<size_t>(link_pairs_.size(), sides[link].link_pair + 1));
        link_pairs_[sides[link].link_pair].capacity[sides[link].side] = traffic.capacities[link];
    }
    members_.resize(link_pairs_.size());
    for (size_t node_pair = 0; node_pair < node_pairs_.size(); ++node_pair) {
        const NodePair &pair = traffic.node_pairs[node_pair];
        node_pairs_[node_pair].solo_rate = pair.solo_rate;
        pack(node_pairs_[node_pair], std::span(traffic.hops).subspan(pair.first_hop, pair.hops), sides);
    }
    is_member_.resize(uses_.size());
}

/** Stores the weights of a node pair on each link pair of its route. */
void FairShare::pack(NodePairState &node_pair, std::span<const Hop> hops, std::span<const LinkSide> sides) {
    node_pair.first_use = static_cast<uint32_t>(uses_.size());
    for (size_t i = 0; i < hops.size(); ++i) {
        const uint32_t link_pair = sides[hops[i].link].link_pair;
        const auto is_same_pair = [&](const Hop &hop) { return sides[hop.link].link_pair == link_pair; };
        if (std::ranges::any_of(hops.first(i), is_same_pair))
            continue;
        PairValues weight{};
        for (const Hop &hop : hops.subspan(i))
            if (is_same_pair(hop))
                weight[sides[hop.link].side] += hop.weight;
        uses_.push_back({.link_pair = link_pair, .weight = weight_index(weight)});
    }
    node_pair.uses = static_cast<uint32_t>(uses_.size()) - node_pair.first_use;
}

uint32_t FairShare::weight_index(PairValues weight) {
    const auto equal_weight = std::ranges::find_if(weights_, [&](PairValues candidate) {
        return candidate[0] == weight[0] && candidate[1] == weight[1];
    });
    const auto index = static_cast<size_t>(equal_weight - weights_.begin());
    if (equal_weight == weights_.end())
        weights_.push_back(weight);
    if (index >= max_weights)
        throw std::length_error("routes with more than 256 different weights of links are too many for this "
                                "evaluation");
    return static_cast<uint32_t>(index);
}

void FairShare::reset() {
    for (NodePairState &node_pair : node_pairs_) {
        node_pair.flows = node_pair.counted_flows = 0;
        node_pair.rate = 0;
        node_pair.is_changed = false;
    }
    for (LinkPair &link_pair : link_pairs_) {
        link_pair.demand = link_pair.max_demand = link_pair.weight = PairValues{};
        link_pair.active = 0;
    }
    for (auto &members : members_)
        members.clear();
    std::ranges::fill(is_member_, 0);
    changed_pairs_.clear();
}

std::span<const FairShare::Use> FairShare::uses(const NodePairState &node_pair) const {
    return {uses_.data() + node_pair.first_use, node_pair.uses};
}

/** Updates the link pairs of a node pair whose number of flows changed. */
void FairShare::update_link_pairs(uint32_t number) {
    NodePairState &node_pair = node_pairs_[number];
    node_pair.is_changed = false;
    const double more = static_cast<double>(node_pair.flows) - node_pair.counted_flows;
    const double rate = more * node_pair.solo_rate;
    const uint32_t active =
        (node_pair.flows > 0 ? 1U : 0U) - (node_pair.counted_flows > 0 ? 1U : 0U); // 1, 0 or -1
    for (const Use use : uses(node_pair)) {
        LinkPair &link_pair = link_pairs_[use.link_pair];
        link_pair.active += active;
        link_pair.weight += weights_[use.weight] * more;
        link_pair.demand += weights_[use.weight] * rate;
        if (link_pair.active == 0)
            link_pair.weight = link_pair.demand = PairValues{}; // discards rounding errors
        link_pair.max_demand =
            link_pair.max_demand > link_pair.demand ? link_pair.max_demand : link_pair.demand;
    }
    if (node_pair.counted_flows == 0)
        join_members(number);
    node_pair.counted_flows = node_pair.flows;
}

void FairShare::join_members(uint32_t node_pair) {
    uint32_t index = node_pairs_[node_pair].first_use;
    for (const Use use : uses(node_pairs_[node_pair])) {
        if (is_member_[index] == 0)
            members_[use.link_pair].push_back({node_pair, index});
        is_member_[index++] = 1;
    }
}

/** Members without flows may soon have flows again: they are removed only when they are many. */
void FairShare::drop_idle(uint32_t link_pair) {
    constexpr size_t idle_members = 8;
    if (members_[link_pair].size() <= link_pairs_[link_pair].active + idle_members)
        return;
    std::erase_if(members_[link_pair], [&](const Member &member) {
        const bool idle = node_pairs_[member.node_pair].flows == 0;
        if (idle)
            is_member_[member.use] = 0;
        return idle;
    });
}

/** Collects the component that the changes affect: link pairs of the changed node pairs, node pairs on those,
 * and so on.
 */
void FairShare::collect() {
    ++round_;
    growing_pairs_ = 0;
    component_links_.clear();
    component_pairs_.clear();
    for (const uint32_t node_pair : changed_pairs_)
        update_link_pairs(node_pair);
    for (const uint32_t node_pair : changed_pairs_)
        visit_link_pairs(node_pair);
    for (size_t i = 0; i < component_links_.size(); ++i) {
        for (const Member &member : members_[component_links_[i]]) {
            if (node_pairs_[member.node_pair].component_round == round_ ||
                node_pairs_[member.node_pair].flows == 0)
                continue;
            visit_link_pairs(member.node_pair);
            add_to_component(member.node_pair);
        }
    }
    for (const uint32_t node_pair : changed_pairs_) {
        if (node_pairs_[node_pair].component_round == round_ || node_pairs_[node_pair].flows == 0)
            continue;
        node_pairs_[node_pair].component_round = round_;
        node_pairs_[node_pair].is_growing = false;
        node_pairs_[node_pair].new_rate = node_pairs_[node_pair].solo_rate;
        component_pairs_.push_back(node_pair);
    }
    changed_pairs_.clear();
}

/** Adds the link pairs of a node pair that may limit it to the component, with all their capacity unassigned.
 */
void FairShare::visit_link_pairs(uint32_t number) {
    NodePairState &node_pair = node_pairs_[number];
    if (node_pair.visited_round == round_)
        return;
    node_pair.visited_round = round_;
    for (const Use use : uses(node_pair)) {
        LinkPair &link_pair = link_pairs_[use.link_pair];
        const PairValues limit = link_pair.capacity * (1 + demand_rounding);
        if (link_pair.round == round_ ||
            (link_pair.max_demand[0] <= limit[0] && link_pair.max_demand[1] <= limit[1]))
            continue;
        link_pair.max_demand = link_pair.demand;
        if (link_pair.active == 0)
            continue;
        drop_idle(use.link_pair);
        link_pair.residual = link_pair.capacity;
        link_pair.growing_weight = link_pair.weight;
        link_pair.growing_pairs = link_pair.active;
        link_pair.round = round_;
        link_pair.index = static_cast<uint32_t>(component_links_.size());
        component_links_.push_back(use.link_pair);
    }
}

void FairShare::add_to_component(uint32_t number) {
    NodePairState &node_pair = node_pairs_[number];
    node_pair.component_round = round_;
    node_pair.is_growing = true;
    ++growing_pairs_;
    component_pairs_.push_back(number);
}

[[gnu::flatten]] std::span<const uint32_t> FairShare::solve() {
    collect();
    fill();
    return component_pairs_;
}

double FairShare::LinkPair::share() const {
    if (growing_pairs == 0)
        return never;
    const PairValues shares = (residual > 0 ? residual : PairValues{}) / growing_weight;
    return std::min(shares[0], shares[1]);
}

/** Progressive filling: the link pair with the smallest share is next. */
void FairShare::fill() {
    shares_.resize(component_links_.size());
    for (size_t i = 0; i < component_links_.size(); ++i)
        shares_.set(i, link_pairs_[component_links_[i]].share());
    while (growing_pairs_ > 0) {
        double share = 0;
        const size_t index = shares_.find(share);
        fix_rates_on(component_links_[index], share);
    }
}

/** Fixes the rates of the flows on a full link pair. Flows with a lower solo rate leave more to the others:
 * if there are any, only their rates are fixed. */
void FairShare::fix_rates_on(uint32_t full, double share) {
    bool slower = false;
    for (const Member &member : members_[full]) {
        const double solo_rate = node_pairs_[member.node_pair].solo_rate;
        if (node_pairs_[member.node_pair].is_growing && solo_rate < share * (1 - rate_rounding)) {
            fix_rate(member.node_pair, solo_rate, no_link_pair);
            slower = true;
        }
    }
    if (slower)
        return;
    for (const Member &member : members_[full])
        if (node_pairs_[member.node_pair].is_growing)
            fix_rate(member.node_pair, share, full);
    shares_.set(link_pairs_[full].index, never);
}

void FairShare::fix_rate(uint32_t number, double share, uint32_t full) {
    NodePairState &node_pair = node_pairs_[number];
    node_pair.is_growing = false;
    node_pair.new_rate = share;
    --growing_pairs_;
    for (const Use use : uses(node_pair)) {
        LinkPair &link_pair = link_pairs_[use.link_pair];
        if (link_pair.round != round_)
            continue;
        const PairValues weight = weights_[use.weight] * node_pair.flows;
        link_pair.residual -= weight * share;
        link_pair.growing_weight -= weight;
        --link_pair.growing_pairs;
        if (use.link_pair != full)
            shares_.set(link_pair.index, link_pair.share());
    }
}

} // namespace offbeat::evaluate
