/** @file
 * The machine as the simulator sees it: nodes, links that flows share, and what a message costs.
 *
 * The model is that of SimGrid's SMPI. A message of b bytes from one node to another waits for
 * latency × latency_factor(b + header), and then moves (b + header) / bandwidth_factor(b + header) bytes at
 * the rate that max-min fairness gives it on the links of its route. Transfers inside a node contend with
 * nothing.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace offbeat::platform {

/** A factor that depends on the message size in steps. */
class Steps {
  public:
    /** 1 everywhere. */
    Steps() = default;
    /** factors[i] from from_bytes[i] on (inclusive), 1 below the first. Ascending sizes, as many factors:
     * std::invalid_argument. */
    Steps(std::vector<double> from_bytes, std::vector<double> factors);
    [[nodiscard]] double at(double bytes) const;

  private:
    std::vector<double> from_bytes_;
    std::vector<double> factors_;
};

/** A flow takes `weight` times its rate of this link's bandwidth: 1 where it passes, less on the way back. */
struct Hop {
    uint32_t link = 0;
    double weight = 1;
};

/** How nodes are joined. */
class Topology {
  public:
    virtual ~Topology() = default;
    [[nodiscard]] virtual int nodes() const = 0;
    /** Bandwidth of each link in bytes per second. A full-duplex cable is two links. */
    [[nodiscard]] virtual const std::vector<double> &bandwidths() const = 0;
    /** Appends the links from one node to another one, forward ones first; returns the latency in seconds. */
    virtual double route(int from, int to, std::vector<Hop> &hops) const = 0;
};

/** Inside a node, and for a rank's messages to itself. */
struct Loopback {
    double latency_s = 0;
    double bandwidth = 0; /**< bytes per second, for each transfer alone */
};

/** What a message costs besides the links. */
struct MessageCosts {
    Steps latency_factor;
    Steps bandwidth_factor;
    double header_bytes = 16;
    double eager_below_bytes = 0; /**< smaller messages leave when they are sent, ready receiver or not */
    double detached_below_bytes = 65536; /**< senders of smaller messages don't wait for the transfer */
    double send_overhead_s = 0;          /**< the sender is busy this long per message */
    double receive_overhead_s = 0;       /**< and the receiver, when it arrives */
    double reduce_s_per_byte = 0;        /**< local reduction, per byte of the result */
    double copy_s_per_byte = 0;          /**< local copy */
};

/** A platform with ranks on it. */
struct Network {
    std::shared_ptr<const Topology> topology;
    Loopback loopback;
    MessageCosts costs;
    std::vector<int> node_of_rank;
};

/** Nodes behind one switch that never limits: each node has a link up and a link down. `latency_s` is one
 * way, node to node. Each flow also takes `reverse_weight` of the links' other directions (SMPI: 0.05). */
std::unique_ptr<Topology> single_switch(int nodes, double bandwidth, double latency_s, double reverse_weight);

} // namespace offbeat::platform
