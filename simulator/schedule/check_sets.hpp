/** @file Parts of the checker: sets of ranks, as small numbers. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace offbeat::schedule {

/** A set of ranks: equal sets have equal numbers. Ranks that follow each other around the circle are held in
 * the number itself, other sets in the table that made it. */
using RankSet = uint64_t;
inline constexpr RankSet no_ranks = 0;

class RankSets {
  public:
    explicit RankSets(int p);

    [[nodiscard]] RankSet one(int rank) const;
    /** `length` ranks from `first` on, around the circle. */
    [[nodiscard]] RankSet range(int first, int length) const;
    [[nodiscard]] RankSet all() const;

    [[nodiscard]] RankSet unite(RankSet a, RankSet b);
    /** A rank that is in both; nothing if there is none. */
    [[nodiscard]] std::optional<int> common(RankSet a, RankSet b) const;
    /** a ∪ b where every rank of a comes right before those of b: both must be ranges that don't go around.
     */
    [[nodiscard]] std::optional<RankSet> join_in_order(RankSet a, RankSet b) const;
    /** The smallest rank that is not in the set; nothing if all are. */
    [[nodiscard]] std::optional<int> first_missing(RankSet set) const;
    /** "rank 3", "ranks 0 to 2 and 5" */
    [[nodiscard]] std::string describe(RankSet set) const;

  private:
    using Words = std::vector<uint64_t>;
    [[nodiscard]] static bool is_range(RankSet set);
    [[nodiscard]] int first_of(RankSet range) const;
    [[nodiscard]] int length_of(RankSet range) const;
    [[nodiscard]] bool contains(RankSet range, int rank) const;
    void add_to(RankSet set, Words &words) const;
    RankSet keep(const Words &words);

    int p_;
    std::vector<Words> tables_;
    std::unordered_multimap<uint64_t, uint32_t> by_hash_;
    Words united_;
};

} // namespace offbeat::schedule
