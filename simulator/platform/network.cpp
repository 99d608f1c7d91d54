#include "platform/network.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::platform {

Steps::Steps(std::vector<double> from_bytes, std::vector<double> factors)
    : from_bytes_(std::move(from_bytes)), factors_(std::move(factors)) {
    if (from_bytes_.size() != factors_.size() || !std::is_sorted(from_bytes_.begin(), from_bytes_.end()))
        throw std::invalid_argument("a step function needs ascending sizes and as many factors");
}

double Steps::value_at(double bytes) const {
    const auto next_step = std::upper_bound(from_bytes_.begin(), from_bytes_.end(), bytes);
    return next_step == from_bytes_.begin()
               ? 1.0
               : factors_[static_cast<size_t>(next_step - from_bytes_.begin()) - 1];
}

double Topology::route(int source, int target, std::vector<Hop> &hops) const {
    const double latency_s = path(source, target, hops);
    const size_t forward = hops.size();
    if (reverse_weight_ > 0)
        path(target, source, hops);
    for (size_t i = forward; i < hops.size(); i++)
        hops[i].weight = reverse_weight_;
    return latency_s;
}

namespace {

/** Link 2n leads from node n to the switch, link 2n + 1 back. */
class SingleSwitch : public Topology {
  public:
    SingleSwitch(int nodes, double bandwidth, double latency_s, double reverse_weight)
        : Topology(nodes, reverse_weight), latency_s_(latency_s) {
        bandwidths_.assign(2 * static_cast<size_t>(nodes), bandwidth);
    }

    /** The reverse link of the source comes first. */
    double route(int source, int target, std::vector<Hop> &hops) const override {
        path(source, target, hops);
        if (reverse_weight_ > 0) {
            hops.push_back({2U * static_cast<uint32_t>(source) + 1, reverse_weight_});
            hops.push_back({2U * static_cast<uint32_t>(target), reverse_weight_});
        }
        return latency_s_;
    }

  protected:
    double path(int source, int target, std::vector<Hop> &hops) const override {
        hops.push_back({2U * static_cast<uint32_t>(source), 1});
        hops.push_back({2U * static_cast<uint32_t>(target) + 1, 1});
        return latency_s_;
    }

  private:
    double latency_s_;
};

} // namespace

std::unique_ptr<Topology> single_switch(int nodes, double bandwidth, double latency_s,
                                        double reverse_weight) {
    return std::make_unique<SingleSwitch>(nodes, bandwidth, latency_s, reverse_weight);
}

} // namespace offbeat::platform
