/** @file
 * Max-min fair rates of flows that share links, by progressive filling, and only where something changed.
 *
 * All flows of a group have one rate. A flow of rate r takes weight × r of each link on its route. Rates grow
 * together until a link is full; its flows stay at that rate, the others grow on (Bertsekas and Gallager,
 * Data Networks, section 6.5.2: "Max-Min Flow Control"). A link that could carry all its flows as fast
 * as each would go alone limits nobody, and is left out.
 */
#pragma once

#include "evaluate/queues.hpp"
#include "evaluate/traffic.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

class FairShare {
  public:
    explicit FairShare(const Traffic &traffic);

    /** No flows anywhere. */
    void reset();
    void add_flow(uint32_t group) {
        ++groups_[group].flows;
        touch(group);
    }
    void remove_flow(uint32_t group) {
        if (--groups_[group].flows == 0)
            groups_[group].rate = 0;
        touch(group);
    }
    [[nodiscard]] uint32_t flows(uint32_t group) const {
        return groups_[group].flows;
    }
    [[nodiscard]] double rate(uint32_t group) const {
        return groups_[group].rate;
    }
    /** Brings the rates up to date. Returns the groups with flows whose rate may have changed, with their new
     * rates in new_rate(): rate() stays what it was until accept(). */
    [[nodiscard]] std::span<const uint32_t> solve();
    [[nodiscard]] double new_rate(uint32_t group) const {
        return groups_[group].new_rate;
    }
    void accept(uint32_t group) {
        groups_[group].rate = groups_[group].new_rate;
    }

  private:
    /** A platform::Hop in four bytes: all that is read for every change fits the nearest cache. */
    struct Use {
        uint32_t link : 24;
        uint32_t weight : 8; /**< in weights_ */
    };
    /** A group with flows, where it uses a link. */
    struct Member {
        uint32_t group;
        uint32_t hop;
    };
    struct alignas(64) GroupState {
        double rate = 0;
        double new_rate = 0;
        double alone = 0; /**< rate of a flow that has its links for itself */
        uint32_t flows = 0;
        uint32_t counted = 0; /**< flows that its links know of */
        uint32_t reached = 0; /**< round in which its links were last looked at */
        uint32_t listed = 0;  /**< round in which it was last a part of the part */
        uint32_t first_use = 0;
        uint32_t uses = 0;
        bool growing = false;
        bool touched = false;
    };
    struct alignas(64) LinkState {
        double capacity = 0;
        double asked = 0;      /**< what its flows would take if each were alone */
        double most_asked = 0; /**< at any time since the link was last part of a solution */
        double left = 0;       /**< capacity that is not yet given away */
        double weight = 0;     /**< of all its flows */
        double demand = 0;     /**< weight of the flows whose rate still grows */
        uint32_t growing = 0;  /**< groups whose rate still grows */
        uint32_t round = 0;
        uint32_t place = 0; /**< in part_links_ */
    };
    void pack(const Traffic &traffic);
    [[nodiscard]] std::span<const Use> uses(const GroupState &group) const;
    void touch(uint32_t group);
    void count(uint32_t group);
    void join(uint32_t group);
    void leave(uint32_t group);
    void collect();
    void reach(uint32_t group);
    void fill();
    void settle_link(uint32_t link, double share);
    void settle(uint32_t group, double share, uint32_t full);
    void list(uint32_t group);

    std::vector<GroupState> groups_;
    std::vector<Use> uses_;       /**< of one group after the other */
    std::vector<double> weights_; /**< the distinct ones */
    std::vector<LinkState> links_;
    std::vector<std::vector<Member>> members_; /**< per link */
    std::vector<uint32_t> place_;              /**< per hop: where it stands among its link's members */
    uint32_t round_ = 0;
    size_t growing_ = 0;                /**< groups that are not settled yet */
    std::vector<uint32_t> touched_;     /**< groups whose number of flows changed */
    std::vector<uint32_t> part_links_;  /**< of the part that is being solved */
    std::vector<uint32_t> part_groups_; /**< those with flows */
    Smallest shares_;                   /**< of part_links_: what each flow that still grows would get */
};

} // namespace offbeat::evaluate
