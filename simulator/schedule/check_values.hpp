/** @file Parts of the checker: what buffers hold, symbolically, and what they should hold in the end. */
#pragma once

#include "schedule/check_run.hpp"
#include "schedule/check_sets.hpp"
#include "schedule/check_wiring.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** `length` elements: those of the inputs of `ranks` from `index` on, combined; no_ranks: nothing yet. */
struct Values {
    RankSet ranks = no_ranks;
    int64_t index = 0;
    int64_t length = 0;
};

/** One buffer of one rank. */
class Contents {
  public:
    Contents(int64_t length, Values values = {});
    /** Appends what a stretch holds. */
    void read(int64_t offset, int64_t length, std::vector<Values> &values) const;
    void write(int64_t offset, int64_t length, const std::vector<Values> &values);
    /** Stretches that are told apart. */
    [[nodiscard]] size_t runs() const {
        return runs_.size();
    }

  private:
    struct Run {
        int64_t start;
        RankSet ranks;
        int64_t index; /**< of the first element */
    };
    [[nodiscard]] size_t at(int64_t offset) const;
    [[nodiscard]] int64_t end_of(size_t run) const;
    void append(int64_t start, RankSet ranks, int64_t index);

    int64_t length_;
    std::vector<Run> runs_; /**< by start; each up to the next one */
    std::vector<Run> patch_;
};

/** What all buffers together may fall into; some 2 GiB. */
inline constexpr size_t most_runs = size_t{1} << 26;

/** Moves and combines symbols as a run does, and compares the outputs. Throws Wrong; std::runtime_error with
 * a sentence where buffers fall into more than most_runs stretches. */
void check_values(const Wiring &wiring, const std::vector<uint32_t> &partner, const Run &run,
                  const Call &call, bool ordered, RankSets &sets);

} // namespace offbeat::schedule
