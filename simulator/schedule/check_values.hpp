/** @file The part of the checker that tracks the content of buffers symbolically and compares the outputs. */
#pragma once

#include "schedule/call_graph.hpp"
#include "schedule/execution.hpp"
#include "schedule/rank_sets.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** `length` elements: elements `index`, `index` + 1, ... of the inputs of `ranks`, combined; no_ranks: not
 * written yet. */
struct Values {
    RankSet ranks = no_ranks;
    int64_t index = 0;
    int64_t length = 0;
};

/** The content of one buffer of one rank, as intervals of consecutive elements. */
class BufferContents {
  public:
    BufferContents(int64_t length, Values values = {});
    /** Appends the content of a piece. */
    void read(int64_t offset, int64_t length, std::vector<Values> &values) const;
    void write(int64_t offset, int64_t length, const std::vector<Values> &values);
    /** Number of intervals. */
    [[nodiscard]] size_t intervals() const {
        return intervals_.size();
    }

  private:
    struct Interval {
        int64_t start;
        RankSet ranks;
        int64_t index; /**< of the first element */
    };
    [[nodiscard]] size_t at(int64_t offset) const;
    [[nodiscard]] int64_t end_of(size_t interval) const;
    void append(int64_t start, RankSet ranks, int64_t index);

    int64_t length_;
    std::vector<Interval> intervals_; /**< by start; each ends where the next one starts */
    std::vector<Interval> patch_;
};

/** Limit for all buffers together; about 2 GiB, as for the programs (max_program_bytes). */
inline constexpr size_t max_intervals = size_t{1} << 26;

/** Moves and combines symbolic values as in an execution, and compares the outputs. Throws CheckFailure;
 * std::runtime_error with a sentence if the buffers need more than max_intervals. */
void check_values(const CallGraph &graph, const std::vector<uint32_t> &partner, const Execution &execution,
                  const Call &call, bool ordered, RankSets &sets);

} // namespace offbeat::schedule
