/** @file The programs of all ranks of a call as one graph of operations, vertices and messages, for the
 * checker. */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** Thrown by all parts of the checker. */
struct CheckFailure {
    std::string sentence;
};

/** Lists of numbers in one array (compressed sparse rows). */
class Lists {
  public:
    /** List i has room for count[i + 1] numbers; count[0] is 0. */
    explicit Lists(std::vector<uint32_t> count = {0});
    void add(uint32_t list, uint32_t value);
    [[nodiscard]] std::span<const uint32_t> of(uint32_t list) const;

  private:
    std::vector<uint32_t> end_; /**< per list: end of the numbers that were added */
    std::vector<uint32_t> start_;
    std::vector<uint32_t> values_;
};

/** Operations and vertices of all ranks, numbered consecutively. */
struct CallGraph {
    explicit CallGraph(std::span<const Program> all);

    std::span<const Program> programs;
    std::vector<uint32_t> first_operation; /**< number of each rank's first operation; p + 1 entries */
    std::vector<uint32_t> first_vertex;    /**< number of each rank's vertex 0; p + 1 entries */
    Lists operations_of;                   /**< per vertex: operations, numbered within the rank */
    Lists waiters_of;                      /**< per request: the vertices of its rank that wait for it */
    Lists followers_of;                    /**< per vertex: the vertices of its rank that wait for it */
    bool queues = false;                   /**< some rank has a completion queue */
};

/** Checks that all peers, pieces, requests and vertices of a program exist. Throws CheckFailure. */
void check_bounds(const Program &program, const Call &call);

/** For each operation the operation at the other end of its message; `none` for local operations. Throws
 * CheckFailure. */
std::vector<uint32_t> match(const CallGraph &graph);

/** "element 3 of its output" */
std::string describe_element(const Span &span, int64_t offset);
/** "a receive from rank 3" */
std::string describe(const Operation &operation);

} // namespace offbeat::schedule
