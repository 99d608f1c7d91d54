/** @file The part of the checker that finds unordered accesses to buffers, and messages without a defined
 * order. */
#pragma once

#include "schedule/call_graph.hpp"
#include "schedule/execution.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** The happens-before order of a rank's vertices and operations. */
class VertexOrder {
  public:
    VertexOrder(const CallGraph &graph, uint32_t rank, const Execution &execution);

    /** Vertex a fires before vertex b, or is the same vertex. */
    [[nodiscard]] bool precedes(Vertex a, Vertex b) const;
    /** Operation a completes before operation b starts. Local operations complete when they start. */
    [[nodiscard]] bool completes_before(uint32_t a, uint32_t b) const;
    /** Operation a starts before operation b. */
    [[nodiscard]] bool starts_before(uint32_t a, uint32_t b) const;
    /** Each vertex follows the previous one, and operations were written in the order of vertices. */
    [[nodiscard]] bool is_sequential() const {
        return is_sequential_;
    }

  private:
    [[nodiscard]] bool has_one_chain() const;
    void compute_ancestors();
    void add_ancestors(Vertex vertex, Vertex earlier);
    [[nodiscard]] uint64_t *ancestors(Vertex vertex);

    const CallGraph &graph_;
    const Program &program_;
    const uint32_t rank_;
    const Execution &execution_;
    bool is_sequential_;
    std::vector<uint64_t> bits_; /**< for each vertex, which of the vertices up to it precede it */
};

/** The pieces that an operation accesses in an execution: those of the program, translated if the pop of its
 * vertex returned another request than expected. */
std::vector<Span> actual_pieces(const CallGraph &graph, uint32_t rank, uint32_t operation,
                                const Execution &execution);

/** Checks buffers of messages in flight, concurrent branches, and the order of messages. Throws CheckFailure.
 */
void check_races(const CallGraph &graph, uint32_t rank, const Execution &execution);

} // namespace offbeat::schedule
