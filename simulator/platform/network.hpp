/** @file
 * The simulated machine: nodes, links that flows share, and the cost of a message.
 *
 * The model is that of SimGrid's SMPI. A message of b bytes from one node to another has a latency of
 * latency × latency_factor(b + header), and then transfers (b + header) / bandwidth_factor(b + header) bytes
 * at its max-min fair rate on the links of its route, but not faster than flow_bandwidth. Transfers inside a
 * node have no contention, and factors of their own.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace offbeat::platform {

/** A factor that is a step function of the message size. */
class Steps {
  public:
    /** 1 everywhere. */
    Steps() = default;
    /** factors[i] from from_bytes[i] on (inclusive), 1 below the first size. std::invalid_argument unless
     * sizes are ascending and have as many factors. */
    Steps(std::vector<double> from_bytes, std::vector<double> factors);
    [[nodiscard]] double value_at(double bytes) const;

  private:
    std::vector<double> from_bytes_;
    std::vector<double> factors_;
};

/** A link of a flow's route. The flow takes `weight` times its rate of the link's bandwidth: 1 in the forward
 * direction, less in the reverse direction. */
struct Hop {
    uint32_t link = 0;
    double weight = 1;
};

/** The network between the nodes. */
class Topology {
  public:
    /** @param reverse_weight  each flow takes this much of the links' other directions (SMPI: 0.05) */
    Topology(int nodes, double reverse_weight) : reverse_weight_(reverse_weight), nodes_(nodes) {
    }
    virtual ~Topology() = default;
    [[nodiscard]] int nodes() const {
        return nodes_;
    }
    /** Bandwidth of each link in bytes per second. A full-duplex cable is two links. */
    [[nodiscard]] const std::vector<double> &bandwidths() const {
        return bandwidths_;
    }
    /** Appends the links from one node to another one, forward ones first; returns the latency in seconds.
     * The links of the reverse direction are those of the path back, unless a class says otherwise. */
    virtual double route(int source, int target, std::vector<Hop> &hops) const;

  protected:
    /** Appends the links from one node to another one in order; returns the latency in seconds. */
    virtual double path(int source, int target, std::vector<Hop> &hops) const = 0;

    std::vector<double> bandwidths_;
    double reverse_weight_;

  private:
    int nodes_;
};

/** The transfers inside a node, and of a rank's messages to itself. */
struct Loopback {
    double latency_s = 0;
    double bandwidth = 0; /**< bytes per second, for each transfer alone */
    Steps latency_factor; /**< SMPI has one set of factors for messages inside a node and between nodes */
    Steps bandwidth_factor;
};

/** The cost of a message in addition to its links. */
struct MessageCosts {
    Steps latency_factor; /**< of messages between nodes */
    Steps bandwidth_factor;
    double flow_bandwidth = 0;    /**< maximum rate of one message, in bytes per second; 0: no maximum */
    double header_bytes = 16;     /**< as SMPI adds to each message */
    double eager_below_bytes = 0; /**< transfers of smaller messages start without waiting for the receiver */
    /** Senders of smaller messages do not wait for the transfer; the default of smpi/send-is-detached-thresh.
     */
    double detached_below_bytes = 65536;
    double send_overhead_s = 0;    /**< the sender is busy this long per message */
    double receive_overhead_s = 0; /**< the receiver is busy this long per message */
    double reduce_s_per_byte = 0;  /**< local reduction, per byte of the result */
    double copy_s_per_byte = 0;    /**< local copy */
};

/** A platform with ranks on it. */
struct Network {
    std::shared_ptr<const Topology> topology;
    Loopback loopback;
    MessageCosts costs;
    std::vector<int> node_of_rank;
};

/** Nodes at one switch without limits of its own: each node has a link up and a link down. `latency_s` is one
 * way, node to node. Each flow also takes `reverse_weight` of the links' other directions (SMPI: 0.05). */
std::unique_ptr<Topology> single_switch(int nodes, double bandwidth, double latency_s, double reverse_weight);

/** The properties of a cable in each direction. */
struct Cable {
    double bandwidth = 0; /**< bytes per second */
    double latency_s = 0;
};

/** The switches of one level of a fat tree; the nodes are below the first level. */
struct TreeLevel {
    int children = 1; /**< of a switch of this level, in the level below */
    int parents = 1;  /**< in this level, of a switch or node of the level below */
    int cables = 1;   /**< between a child and each of its parents */
    Cable cable;
};

/** A parallel-port generalised fat tree (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
 * permutations on real life fat trees") with its deterministic routing, as SimGrid's FatTreeZone has it:
 * upwards the destination chooses parent and cable, digit by digit; downwards, the source chooses the cable.
 * `nodes` may be fewer than the tree has ports for. Raises std::invalid_argument.
 */
std::unique_ptr<Topology> fat_tree(int nodes, const std::vector<TreeLevel> &levels, double reverse_weight);

/** The size of a dragonfly and its three kinds of cables. */
struct DragonflyShape {
    int groups = 1;
    int routers = 1;           /**< of a group */
    int nodes = 1;             /**< of a router */
    int global_cables = 1;     /**< between two groups */
    Cable node, local, global; /**< node to router, router to router of a group, group to group */
};

/** A dragonfly (Kim et al., "Technology-driven, highly-scalable dragonfly topology") with minimal routing:
 * all routers of a group are connected with each other; cable m from a group to group j is at router
 * (j × global_cables + m) mod routers, which distributes them; a message takes the cable of its destination
 * modulo global_cables, and local cables to its first router and from its last one. With one global cable and
 * as many routers as groups it is SimGrid's DragonflyZone of one chassis a group. Raises
 * std::invalid_argument.
 */
std::unique_ptr<Topology> dragonfly(const DragonflyShape &shape, double reverse_weight);

} // namespace offbeat::platform
