/** @file
 * Work and messages that share the memory bandwidth of ccNUMA domains.
 *
 * A domain is a server with processor sharing: of n ranks that move data, each gets min(b1, B / n), where b1
 * is what one core can draw and B what the domain gives. In general every flow has a maximum rate of its own,
 * and the bandwidth is shared with max-min fairness: a flow that needs less than its share leaves the rest to
 * the others. Messages may have a bandwidth of their own that those of one domain share, and draw from the
 * memory as well: `traffic` bytes for each of their bytes.
 */
#pragma once

#include "evaluate/queues.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

/** What a domain gives, in bytes per second; infinity: no limit. */
struct DomainBandwidths {
    double memory = never;
    double messages = never; /**< of all messages of the domain together */
};

/** Flows that have the same maximum rate. */
struct FlowClass {
    double max_rate = 0;     /**< of one flow alone, in its own bytes per second */
    double traffic = 1;      /**< memory traffic for each of its bytes; 0: it draws nothing */
    bool is_message = false; /**< it takes part in DomainBandwidths::messages */
    bool operator==(const FlowClass &) const = default;
};

/** Flows that ask for `demand` each; `count` of them. */
struct Demand {
    uint32_t count = 0;
    double demand = 0;
};

/** The largest amount that any flow gets if the capacity is shared with max-min fairness: each flow gets the
 * smaller of its demand and this level. Infinity if the capacity suffices for all. Sorts the demands. */
[[nodiscard]] double fair_level(std::span<Demand> demands, double capacity);

class MemoryDomains {
  public:
    MemoryDomains(size_t domains, DomainBandwidths bandwidths, std::vector<FlowClass> classes);

    /** Starts a flow of this many bytes. @param id  reported when it ends */
    void start(uint32_t domain, uint32_t flow_class, double bytes, uint32_t id, double now_s);

    /** When the first flow ends; `never` if there is none. */
    [[nodiscard]] double first_end_s() {
        if (!changed_domains_.empty())
            solve_changed();
        return ends_s_.first_time();
    }

    /** Ends all flows that are complete at this time, which is first_end_s(); calls `callback(flow_class,
     * id)` for each. `callback` may start flows. */
    template <typename Callback> void end_due(double now_s, Callback callback) {
        ended_flows_.clear();
        do
            collect_ended(ends_s_.first_id(), now_s);
        while (ends_s_.first_time() <= now_s);
        for (size_t i = 0; i < ended_flows_.size(); ++i)
            callback(ended_flows_[i].flow_class, ended_flows_[i].id);
    }

    [[nodiscard]] const FlowClass &flow_class(uint32_t index) const {
        return classes_[index];
    }

  private:
    /** The flows of one class in one domain, which all have the same rate. */
    struct Lane {
        double moved_bytes = 0; /**< by a flow that exists since the lane was last idle */
        double rate = 0;
        uint32_t flows = 0;
        OrderedQueue ends; /**< ids, by the value of moved_bytes at which each ends */
    };
    struct EndedFlow {
        uint32_t flow_class;
        uint32_t id;
    };

    [[nodiscard]] std::span<Lane> lanes_of(uint32_t domain) {
        return std::span(lanes_).subspan(domain * classes_.size(), classes_.size());
    }
    void advance(uint32_t domain, double now_s);
    void mark_changed(uint32_t domain);
    void solve_changed();
    void solve(uint32_t domain);
    void share_messages(std::span<Lane> lanes);
    void share_memory(std::span<Lane> lanes);
    void collect_ended(uint32_t domain, double now_s);

    DomainBandwidths bandwidths_;
    std::vector<FlowClass> classes_;
    std::vector<Lane> lanes_;       /**< per domain and class */
    std::vector<double> updated_s_; /**< per domain: the time up to which moved_bytes counts */
    std::vector<uint8_t> is_changed_;
    std::vector<uint32_t> changed_domains_; /**< domains whose rates must be computed again */
    std::vector<Demand> demands_;
    std::vector<EndedFlow> ended_flows_;
    MinTree ends_s_; /**< when the first flow of each domain ends */
};

} // namespace offbeat::evaluate
