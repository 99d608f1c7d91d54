/** @file
 * Max-min fair rates of flows that share links, by progressive filling, and only where something changed.
 *
 * All flows of a group have one rate. A flow of rate r takes weight × r of each link on its route. Rates grow
 * together until a link is full; its flows stay at that rate, the others grow on (Bertsekas and Gallager,
 * Data Networks, section 6.5.2: "Max-Min Flow Control").
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
    /** @param traffic must outlive this object. */
    explicit FairShare(const Traffic &traffic);

    /** No flows anywhere. */
    void reset();
    void add_flow(uint32_t group);
    void remove_flow(uint32_t group);
    [[nodiscard]] uint32_t flows(uint32_t group) const {
        return flows_[group];
    }
    [[nodiscard]] double rate(uint32_t group) const {
        return rate_[group];
    }
    [[nodiscard]] bool dirty() const {
        return !touched_.empty();
    }
    /** Brings the rates up to date. Returns the groups with flows whose rate may have changed, with their new
     * rates in new_rate(): rate() stays what it was until accept(). */
    [[nodiscard]] std::span<const uint32_t> solve();
    [[nodiscard]] double new_rate(uint32_t group) const {
        return new_rate_[group];
    }
    void accept(uint32_t group) {
        rate_[group] = new_rate_[group];
    }

  private:
    struct Member {
        uint32_t group;
        uint32_t hop;
    };
    void join(uint32_t group);
    void leave(uint32_t group);
    void collect();
    void fill();
    size_t settle(uint32_t link, double share);
    void settle_rest();

    const Traffic &traffic_;
    std::vector<uint32_t> flows_; /**< per group */
    std::vector<double> rate_;
    std::vector<double> new_rate_;
    std::vector<std::vector<Member>> members_; /**< per link: groups with flows on it */
    std::vector<uint32_t> place_;              /**< per hop: where it stands in its link's members */
    std::vector<double> left_;                 /**< per link: capacity that is not yet given away */
    std::vector<double> demand_;               /**< per link: weights of flows whose rate still grows */
    std::vector<uint32_t> growing_;            /**< per link: groups whose rate still grows */
    std::vector<uint32_t> group_round_;        /**< round in which a group was last collected */
    std::vector<uint32_t> link_round_;
    std::vector<uint32_t> place_of_link_; /**< in links_ */
    std::vector<uint8_t> settled_;        /**< per group, in this round */
    uint32_t round_ = 0;
    std::vector<uint32_t> touched_; /**< groups whose number of flows changed */
    std::vector<uint32_t> links_;   /**< of the part being solved */
    std::vector<uint32_t> groups_;
    Smallest shares_; /**< of links_, what each flow that still grows would get */
};

} // namespace offbeat::evaluate
