/** @file The part of a topology that is the same for all: what a flow takes of the links on its way back. */
#pragma once

#include "platform/network.hpp"

namespace offbeat::platform {

/** A topology that only needs to know the way from one node to another one. */
class BothWays : public Topology {
  public:
    explicit BothWays(double reverse_weight) : reverse_weight_(reverse_weight) {
    }

    double route(int from, int to, std::vector<Hop> &hops) const final {
        const double latency_s = way(from, to, hops);
        const size_t forward = hops.size();
        if (reverse_weight_ > 0)
            way(to, from, hops);
        for (size_t i = forward; i < hops.size(); i++)
            hops[i].weight = reverse_weight_;
        return latency_s;
    }

  protected:
    /** Appends the links from one node to another one in order; returns the latency in seconds. */
    virtual double way(int from, int to, std::vector<Hop> &hops) const = 0;

  private:
    double reverse_weight_;
};

} // namespace offbeat::platform
