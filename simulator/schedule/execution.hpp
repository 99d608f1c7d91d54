/** @file Executes the programs of all ranks without data, for the checker. */
#pragma once

#include "schedule/call_graph.hpp"
#include "schedule/rank_sets.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace offbeat::schedule {

/** Which of the ready vertices fires next. */
enum class FiringOrder : uint8_t { oldest, newest, pseudorandom };

/** The result of a pop of a completion queue. */
struct Popped {
    Request expected = none; /**< the request for which the program was written */
    Request actual = none;   /**< the request that completed */
};

/** One complete execution, in which a send completes when its receive is posted. */
struct Execution {
    /** Local operations, and sends at the time of their transfer, in a possible order. */
    std::vector<uint32_t> order;
    /** For each vertex of all ranks, the length of the longest chain of messages that it depends on. */
    std::vector<uint32_t> depth;
    /** Pops by the number of their vertex, among the vertices of all ranks. */
    std::unordered_map<uint32_t, Popped> popped;
    /** For each request in a completion queue, among those of all ranks: the vertex of its rank that popped
     * it. */
    std::unordered_map<uint32_t, Vertex> popped_by;
    /** For each rank, the ranks on whose arrivals its exit depends for any timing; empty unless requested. */
    std::vector<RankSet> exit_depends_on;
};

/** @param sets  determine exit_depends_on with these; nullptr: do not. Throws CheckFailure on a deadlock. */
Execution execute(const CallGraph &graph, const std::vector<uint32_t> &partner, FiringOrder order,
                  RankSets *sets);

} // namespace offbeat::schedule
