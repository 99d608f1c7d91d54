/** @file
 * Max-min fair rates of flows that share links, by progressive filling, and only where something changed.
 *
 * All flows of a group have one rate. A flow of rate r takes weight × r of each link on its route. Rates grow
 * together until a link is full; its flows stay at that rate, the others grow on (Bertsekas and Gallager,
 * Data Networks, section 6.5.2: "Max-Min Flow Control"). A link that could carry all its flows as fast
 * as each would go alone limits nobody, and is left out.
 *
 * Two links that the same groups use, such as the two directions of a cable whose flows have cross-traffic,
 * are looked at together.
 */
#pragma once

#include "evaluate/cables.hpp"
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
    /** Something of both links of a cable. One that is alone has a second one of endless capacity. */
    typedef double Both __attribute__((vector_size(2 * sizeof(double))));
    /** The weights of a group on a cable, in four bytes: all that is read for every change fits the nearest
     * cache. */
    struct Use {
        uint32_t cable : 24;
        uint32_t weight : 8; /**< in weights_ */
    };
    /** A group, where it uses a cable. */
    struct Member {
        uint32_t group;
        uint32_t use;
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
    struct alignas(64) Cable {
        Both capacity{never, never};
        Both asked{};         /**< what its flows would take if each were alone */
        Both most_asked{};    /**< at any time since the cable was last part of a solution */
        Both left{};          /**< capacity that is not yet given away */
        Both weight{};        /**< of all its flows */
        Both demand{};        /**< weight of the flows whose rate still grows */
        uint32_t growing = 0; /**< groups whose rate still grows */
        uint32_t active = 0;  /**< members that have flows */
        uint32_t round = 0;
        uint32_t place = 0; /**< in part_cables_ */
        /** What each flow that still grows would get, if this is the cable that has least to give. */
        [[nodiscard]] double share() const;
    };
    void pack(GroupState &group, std::span<const platform::Hop> hops, std::span<const Side> sides);
    [[nodiscard]] uint32_t known_weight(Both weight);
    [[nodiscard]] std::span<const Use> uses(const GroupState &group) const;
    void touch(uint32_t group) {
        if (!groups_[group].touched)
            touched_.push_back(group);
        groups_[group].touched = true;
    }
    void count(uint32_t group);
    void join(uint32_t group);
    void drop_idle(uint32_t cable);
    void collect();
    void reach(uint32_t group);
    void fill();
    void settle_cable(uint32_t cable, double share);
    void settle(uint32_t group, double share, uint32_t full);
    void list(uint32_t group);

    std::vector<GroupState> groups_;
    std::vector<Use> uses_;     /**< of one group after the other */
    std::vector<Both> weights_; /**< the distinct ones */
    std::vector<Cable> cables_;
    std::vector<std::vector<Member>>
        members_;                     /**< per cable: all groups with flows, and some that had some */
    std::vector<uint16_t> is_member_; /**< per use: its group is among the members of its cable */
    uint32_t round_ = 0;
    size_t growing_ = 0;                /**< groups that are not settled yet */
    std::vector<uint32_t> touched_;     /**< groups whose number of flows changed */
    std::vector<uint32_t> part_cables_; /**< of the part that is being solved */
    std::vector<uint32_t> part_groups_; /**< those with flows */
    Smallest shares_;                   /**< of part_cables_: what each flow that still grows would get */
};

} // namespace offbeat::evaluate
