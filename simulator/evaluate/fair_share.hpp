/** @file
 * Max-min fair rates of flows that share links, by progressive filling, recomputed only for the component
 * that a change affects.
 *
 * All flows between a pair of nodes have the same route and the same rate. A flow of rate r takes weight × r
 * of each link on its route. Rates grow together until a link is full; its flows keep that rate, the others
 * continue to grow (Bertsekas and Gallager, Data Networks, section 6.5.2: "Max-Min Flow Control"). A link
 * that has capacity for all its flows at the rates that each would have alone limits no flow, and is omitted.
 *
 * Two links that the same node pairs use, such as the two directions of a cable whose flows have
 * cross-traffic, are a link pair, which is processed as one.
 */
#pragma once

#include "evaluate/queues.hpp"
#include "evaluate/traffic.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

/** The place of a link in the link pairs. */
struct LinkSide {
    uint32_t link_pair = 0;
    uint32_t side = 0; /**< 0 or 1 */
};

/** Groups links into link pairs: both links of a pair are used by the same node pairs. A link without such a
 * partner is side 0 of a pair of its own. Returns the place of each link. */
[[nodiscard]] std::vector<LinkSide> pair_links(const Traffic &traffic);

class FairShare {
  public:
    explicit FairShare(const Traffic &traffic);

    /** Removes all flows. */
    void reset();
    void add_flow(uint32_t node_pair) {
        ++node_pairs_[node_pair].flows;
        mark_changed(node_pair);
    }
    void remove_flow(uint32_t node_pair) {
        if (--node_pairs_[node_pair].flows == 0)
            node_pairs_[node_pair].rate = 0;
        mark_changed(node_pair);
    }
    [[nodiscard]] uint32_t flows(uint32_t node_pair) const {
        return node_pairs_[node_pair].flows;
    }
    [[nodiscard]] double rate(uint32_t node_pair) const {
        return node_pairs_[node_pair].rate;
    }
    /** Computes the new rates. Returns the node pairs with flows whose rate may have changed; their new rates
     * are in new_rate(), and rate() remains the old rate until accept(). */
    [[nodiscard]] std::span<const uint32_t> solve();
    [[nodiscard]] double new_rate(uint32_t node_pair) const {
        return node_pairs_[node_pair].new_rate;
    }
    void accept(uint32_t node_pair) {
        node_pairs_[node_pair].rate = node_pairs_[node_pair].new_rate;
    }

  private:
    /** A value for each link of a link pair. A link without a partner has a second link of infinite capacity.
     */
    typedef double PairValues __attribute__((vector_size(2 * sizeof(double))));
    /** The weights of a node pair on a link pair, in four bytes, so that the data read for every change fits
     * the L1 cache. */
    struct Use {
        uint32_t link_pair : 24;
        uint32_t weight : 8; /**< in weights_ */
    };
    /** A node pair that uses a link pair. */
    struct Member {
        uint32_t node_pair;
        uint32_t use;
    };
    struct alignas(64) NodePairState {
        double rate = 0;
        double new_rate = 0;
        double solo_rate = 0; /**< rate of a flow that shares no link */
        uint32_t flows = 0;
        uint32_t counted_flows = 0;   /**< flows that its link pairs include */
        uint32_t visited_round = 0;   /**< last round that visited its link pairs */
        uint32_t component_round = 0; /**< last round that included it in the re-solved component */
        uint32_t first_use = 0;
        uint32_t uses = 0;
        bool is_growing = false;
        bool is_changed = false;
    };
    struct alignas(64) LinkPair {
        PairValues capacity{never, never};
        PairValues demand{};         /**< sum of weight × solo rate of its flows */
        PairValues max_demand{};     /**< maximum demand since the link pair was last part of a solution */
        PairValues residual{};       /**< capacity that is not assigned yet */
        PairValues weight{};         /**< of all its flows */
        PairValues growing_weight{}; /**< weight of the flows whose rate still grows */
        uint32_t growing_pairs = 0;  /**< node pairs whose rate still grows */
        uint32_t active = 0;         /**< members that have flows */
        uint32_t round = 0;
        uint32_t index = 0; /**< in component_links_ */
        /** The rate of each growing flow if this link pair is the bottleneck. */
        [[nodiscard]] double share() const;
    };
    void pack(NodePairState &node_pair, std::span<const platform::Hop> hops, std::span<const LinkSide> sides);
    [[nodiscard]] uint32_t weight_index(PairValues weight);
    [[nodiscard]] std::span<const Use> uses(const NodePairState &node_pair) const;
    void mark_changed(uint32_t node_pair) {
        if (!node_pairs_[node_pair].is_changed)
            changed_pairs_.push_back(node_pair);
        node_pairs_[node_pair].is_changed = true;
    }
    void update_link_pairs(uint32_t node_pair);
    void join_members(uint32_t node_pair);
    void drop_idle(uint32_t link_pair);
    void collect();
    void visit_link_pairs(uint32_t node_pair);
    void fill();
    void fix_rates_on(uint32_t link_pair, double share);
    void fix_rate(uint32_t node_pair, double share, uint32_t full);
    void add_to_component(uint32_t node_pair);

    std::vector<NodePairState> node_pairs_;
    std::vector<Use> uses_;           /**< of one node pair after the other */
    std::vector<PairValues> weights_; /**< distinct values */
    std::vector<LinkPair> link_pairs_;
    std::vector<std::vector<Member>>
        members_; /**< per link pair: all node pairs with flows, and some that had flows before */
    std::vector<uint16_t> is_member_; /**< per use: its node pair is a member of its link pair */
    uint32_t round_ = 0;
    size_t growing_pairs_ = 0;              /**< number of node pairs whose rate is not fixed yet */
    std::vector<uint32_t> changed_pairs_;   /**< node pairs whose number of flows changed */
    std::vector<uint32_t> component_links_; /**< link pairs of the component that is being solved */
    std::vector<uint32_t> component_pairs_; /**< its node pairs with flows */
    BlockMinimum shares_;                   /**< share() of each of component_links_ */
};

} // namespace offbeat::evaluate
