#include "evaluate/memory_domains.hpp"

#include <algorithm>
#include <utility>

namespace offbeat::evaluate {

double fair_level(std::span<Demand> demands, double capacity) {
    if (demands.size() > 1)
        std::ranges::sort(demands, {}, &Demand::demand);
    double left = capacity;
    uint32_t flows = 0;
    for (const Demand &demand : demands)
        flows += demand.count;
    for (const Demand &demand : demands) {
        if (demand.demand * flows > left)
            return left / flows;
        left -= demand.demand * demand.count;
        flows -= demand.count;
    }
    return never;
}

MemoryDomains::MemoryDomains(size_t domains, DomainBandwidths bandwidths, std::vector<FlowClass> classes)
    : bandwidths_(bandwidths), classes_(std::move(classes)), lanes_(domains * classes_.size()),
      updated_s_(domains), is_changed_(domains), ends_s_(domains) {
}

void MemoryDomains::start(uint32_t domain, uint32_t flow_class, double bytes, uint32_t id, double now_s) {
    advance(domain, now_s);
    Lane &lane = lanes_of(domain)[flow_class];
    if (lane.flows == 0)
        lane.moved_bytes = 0;
    ++lane.flows;
    lane.ends.push(lane.moved_bytes + bytes, id);
    mark_changed(domain);
}

/** Counts what the flows of a domain have moved at their rates so far. */
void MemoryDomains::advance(uint32_t domain, double now_s) {
    const double seconds = now_s - updated_s_[domain];
    if (seconds <= 0)
        return;
    for (Lane &lane : lanes_of(domain))
        if (lane.flows > 0)
            lane.moved_bytes += lane.rate * seconds;
    updated_s_[domain] = now_s;
}

void MemoryDomains::mark_changed(uint32_t domain) {
    if (!is_changed_[domain])
        changed_domains_.push_back(domain);
    is_changed_[domain] = 1;
}

void MemoryDomains::solve_changed() {
    for (const uint32_t domain : changed_domains_) {
        solve(domain);
        is_changed_[domain] = 0;
    }
    changed_domains_.clear();
}

void MemoryDomains::solve(uint32_t domain) {
    const std::span<Lane> lanes = lanes_of(domain);
    for (size_t i = 0; i < lanes.size(); ++i)
        lanes[i].rate = classes_[i].max_rate;
    share_messages(lanes);
    share_memory(lanes);
    double end_s = never;
    for (const Lane &lane : lanes)
        if (lane.flows > 0)
            end_s = std::min(end_s, std::max(0.0, lane.ends.first_time() - lane.moved_bytes) / lane.rate);
    ends_s_.set(domain, updated_s_[domain] + end_s);
}

/** Limits the rates of messages to their share of the bandwidth for messages. */
void MemoryDomains::share_messages(std::span<Lane> lanes) {
    demands_.clear();
    for (size_t i = 0; i < lanes.size(); ++i)
        if (lanes[i].flows > 0 && classes_[i].is_message)
            demands_.push_back({lanes[i].flows, lanes[i].rate});
    if (demands_.empty())
        return;
    const double level = fair_level(demands_, bandwidths_.messages);
    for (size_t i = 0; i < lanes.size(); ++i)
        if (classes_[i].is_message)
            lanes[i].rate = std::min(lanes[i].rate, level);
}

/** Limits all rates to their share of the memory bandwidth. */
void MemoryDomains::share_memory(std::span<Lane> lanes) {
    demands_.clear();
    for (size_t i = 0; i < lanes.size(); ++i)
        if (lanes[i].flows > 0 && classes_[i].traffic > 0)
            demands_.push_back({lanes[i].flows, lanes[i].rate * classes_[i].traffic});
    if (demands_.empty())
        return;
    const double level = fair_level(demands_, bandwidths_.memory);
    for (size_t i = 0; i < lanes.size(); ++i)
        if (classes_[i].traffic > 0)
            lanes[i].rate = std::min(lanes[i].rate, level / classes_[i].traffic);
}

/** Removes the flows of a domain that are complete, at least one. */
void MemoryDomains::collect_ended(uint32_t domain, double now_s) {
    advance(domain, now_s);
    const std::span<Lane> lanes = lanes_of(domain);
    const size_t count_before = ended_flows_.size();
    size_t next = lanes.size();
    double next_s = never;
    for (size_t i = 0; i < lanes.size(); ++i) {
        Lane &lane = lanes[i];
        const double due = lane.moved_bytes + lane.rate * time_resolution * now_s;
        while (lane.flows > 0 && lane.ends.first_time() <= due) {
            ended_flows_.push_back({static_cast<uint32_t>(i), lane.ends.first_id()});
            lane.ends.pop();
            --lane.flows;
        }
        const double end_s = (lane.ends.first_time() - lane.moved_bytes) / lane.rate;
        if (lane.flows > 0 && end_s < next_s) {
            next = i;
            next_s = end_s;
        }
    }
    if (ended_flows_.size() == count_before) { // rounding: the flow that is due is a fraction of a byte short
        Lane &lane = lanes[next];
        ended_flows_.push_back({static_cast<uint32_t>(next), lane.ends.first_id()});
        lane.ends.pop();
        --lane.flows;
    }
    ends_s_.set(domain, never);
    mark_changed(domain);
}

} // namespace offbeat::evaluate
