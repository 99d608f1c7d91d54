#include "platform/network.hpp"

#include <stdexcept>

namespace offbeat::platform {

namespace {

/** Links: each node's up and down, then each router's to every router of its group, then each group's to
 * every group. Links from a router or group to itself exist, but are never used. */
class Dragonfly : public Topology {
  public:
    Dragonfly(const DragonflyShape &shape, double reverse_weight)
        : Topology(shape.groups * shape.routers * shape.nodes, reverse_weight), shape_(shape) {
        const size_t routers = groups() * routers_of_group();
        const size_t nodes = routers * static_cast<size_t>(shape.nodes);
        first_local_ = 2 * nodes;
        first_global_ = first_local_ + routers * routers_of_group();
        bandwidths_.resize(first_local_, shape.node.bandwidth);
        bandwidths_.resize(first_global_, shape.local.bandwidth);
        bandwidths_.resize(first_global_ + groups() * groups() * cables(), shape.global.bandwidth);
    }

  protected:
    double path(int source_node, int target_node, std::vector<Hop> &hops) const override {
        const auto source = static_cast<size_t>(source_node), target = static_cast<size_t>(target_node);
        const size_t source_router = source / static_cast<size_t>(shape_.nodes);
        const size_t target_router = target / static_cast<size_t>(shape_.nodes);
        const size_t source_group = source_router / routers_of_group();
        const size_t target_group = target_router / routers_of_group();
        double latency_s = 2 * shape_.node.latency_s;
        hops.push_back({static_cast<uint32_t>(2 * source), 1});
        if (source_group == target_group) {
            latency_s += local(source_router, target_router, hops);
        } else {
            const size_t cable = target % cables();
            latency_s += local(source_router, gateway(source_group, target_group, cable), hops);
            const size_t pair = source_group * groups() + target_group;
            hops.push_back({static_cast<uint32_t>(first_global_ + pair * cables() + cable), 1});
            latency_s += shape_.global.latency_s;
            latency_s += local(gateway(target_group, source_group, cable), target_router, hops);
        }
        hops.push_back({static_cast<uint32_t>(2 * target + 1), 1});
        return latency_s;
    }

  private:
    [[nodiscard]] size_t groups() const {
        return static_cast<size_t>(shape_.groups);
    }
    [[nodiscard]] size_t routers_of_group() const {
        return static_cast<size_t>(shape_.routers);
    }
    [[nodiscard]] size_t cables() const {
        return static_cast<size_t>(shape_.global_cables);
    }

    /** The router of a group with a given cable to another group. */
    [[nodiscard]] size_t gateway(size_t group, size_t other_group, size_t cable) const {
        return group * routers_of_group() + (other_group * cables() + cable) % routers_of_group();
    }

    /** Appends the link from a router to another one of its group; returns its latency. No link and 0 for the
     * same router. */
    double local(size_t source, size_t target, std::vector<Hop> &hops) const {
        if (source == target)
            return 0;
        const size_t link = first_local_ + source * routers_of_group() + target % routers_of_group();
        hops.push_back({static_cast<uint32_t>(link), 1});
        return shape_.local.latency_s;
    }

    DragonflyShape shape_;
    size_t first_local_ = 0;
    size_t first_global_ = 0;
};

} // namespace

std::unique_ptr<Topology> dragonfly(const DragonflyShape &shape, double reverse_weight) {
    if (shape.groups < 1 || shape.routers < 1 || shape.nodes < 1 || shape.global_cables < 1)
        throw std::invalid_argument("a dragonfly needs groups, routers, nodes and cables between its groups");
    return std::make_unique<Dragonfly>(shape, reverse_weight);
}

} // namespace offbeat::platform
