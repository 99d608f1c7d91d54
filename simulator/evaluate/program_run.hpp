/** @file
 * The run of a program of many iterations on a network with memory domains.
 */
#pragma once

#include "evaluate/course.hpp"
#include "evaluate/fluid.hpp"
#include "evaluate/traffic.hpp"
#include "platform/network.hpp"
#include "schedule/graph.hpp"
#include "schedule/iterations.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace offbeat::evaluate {

/** The memory of the nodes, and the ranks on it. */
struct Memory {
    DomainBandwidths bandwidths;
    double message_traffic = 0; /**< memory traffic of a message inside a node, for each of its bytes */
    std::vector<uint32_t> domain_of_rank;
    std::vector<FlowClass> work_classes; /**< Work::flow_class is a place in this list */
};

/** Messages inside a node draw from the domain of their receiver, if `memory` says that they share or draw
 * anything; those whose transfer is short beside their latency (negligible_transfer) take a fixed time.
 * Messages between nodes draw nothing. */
class ProgramRun {
  public:
    /** The part of its latency below which the transfer of a message inside a node does not share bandwidth:
     * if the bandwidth were halved, the message would take one per cent longer. */
    static constexpr double negligible_transfer = 0.01;

    /** @param graph  its segments are those of program.steps; its elements are bytes (see schedule::append)
     * std::invalid_argument for numbers that do not fit each other */
    ProgramRun(schedule::Graph graph, schedule::Iterations program, platform::Network network,
               std::optional<Memory> memory, Recording recording);
    ProgramRun(const ProgramRun &) = delete;
    ProgramRun &operator=(const ProgramRun &) = delete;
    ~ProgramRun() = default;

    /** Continues by about this many events. Returns false when the program is complete. std::logic_error if
     * ranks deadlock. */
    [[nodiscard]] bool proceed(uint64_t events) {
        return fluid_->proceed(events);
    }
    [[nodiscard]] uint64_t events() const {
        return fluid_->events();
    }
    [[nodiscard]] const Course &course() const {
        return course_;
    }
    [[nodiscard]] Log take_log() {
        return course_.take_log();
    }
    [[nodiscard]] size_t messages() const {
        return graph_.messages.size();
    }

  private:
    void check() const;
    [[nodiscard]] NodeMemory node_memory(Memory memory) const;

    schedule::Graph graph_;
    schedule::Iterations program_;
    platform::Network network_;
    Traffic traffic_;
    std::vector<SizeCosts> costs_;
    Course course_;
    std::optional<NodeMemory> memory_;
    std::unique_ptr<Fluid> fluid_; // not before check()
};

} // namespace offbeat::evaluate
