#include "platform/network.hpp"

#include <stdexcept>

namespace offbeat::platform {

namespace {

/** Link 2n leads from node n to node n + 1, link 2n + 1 back. A message takes the shorter way. */
class Ring : public PathTopology {
  public:
    Ring(int nodes, Cable cable, double reverse_weight)
        : PathTopology(reverse_weight), nodes_(nodes), latency_s_(cable.latency_s),
          bandwidths_(2 * static_cast<size_t>(nodes), cable.bandwidth) {
    }

    [[nodiscard]] int nodes() const override {
        return nodes_;
    }

    [[nodiscard]] const std::vector<double> &bandwidths() const override {
        return bandwidths_;
    }

  protected:
    double path(int from, int to, std::vector<Hop> &hops) const override {
        const int up = (to - from + nodes_) % nodes_;
        const bool is_up = 2 * up <= nodes_;
        const int steps = is_up ? up : nodes_ - up;
        for (int i = 0; i < steps; i++) {
            const int node = is_up ? (from + i) % nodes_ : (from - i - 1 + nodes_) % nodes_;
            hops.push_back({2U * static_cast<uint32_t>(node) + (is_up ? 0U : 1U), 1});
        }
        return steps * latency_s_;
    }

  private:
    int nodes_;
    double latency_s_;
    std::vector<double> bandwidths_;
};

} // namespace

std::unique_ptr<Topology> ring(int nodes, Cable cable, double reverse_weight) {
    if (nodes < 2)
        throw std::invalid_argument("a ring needs two nodes");
    return std::make_unique<Ring>(nodes, cable, reverse_weight);
}

} // namespace offbeat::platform
