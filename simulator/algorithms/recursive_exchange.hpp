/** @file
 * MPICH's recursive exchange: recursive doubling with k ranks at a time. The largest power of k that p holds
 * takes part, under numbers of its own; the other ranks hand their data in first, and get the result last.
 */
#pragma once

#include "schedule/program.hpp"

#include <vector>

namespace offbeat::algorithms {

/** Ranks from `from` up to and without `end`. */
struct RankRange {
    int from = 0;
    int end = 0;
};

class RecursiveExchange {
  public:
    /** @param k at least 2; cut to p. */
    RecursiveExchange(int p, int rank, int k);

    int k = 2;
    int participants = 1; /**< k^phases */
    int phases = 0;
    /** Where a rank that doesn't take part sends its data; -1 for one that does. */
    int sends_to = -1;
    /** Who sends to this one, the highest rank first. */
    std::vector<int> receives_from;
    /** By phase: the k - 1 others whose numbers differ in that digit alone, ascending. */
    std::vector<std::vector<int>> partners;

    [[nodiscard]] bool takes_part() const {
        return sends_to < 0;
    }
    [[nodiscard]] int number(int rank) const;
    [[nodiscard]] int rank(int number) const;
    /** The number with its digits in reverse order. */
    [[nodiscard]] int reversed(int number) const;
    /** The numbers that agree with this one but for the lowest `digits` digits. */
    [[nodiscard]] RankRange numbers_near(int number, int digits) const;
    /** The same as ranks, with those between them that don't take part. */
    [[nodiscard]] RankRange ranks_near(int number, int digits) const;

  private:
    void find_outsiders(int rank);

    int outside_; /**< ranks that don't take part */
    int fringe_;  /**< they are all below this rank */
};

} // namespace offbeat::algorithms
