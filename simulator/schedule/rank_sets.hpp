/** @file Sets of ranks as small numbers, for the checker. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace offbeat::schedule {

/** A set of ranks: equal sets have equal numbers. Ranges of ranks (modulo p) are encoded in the number, other
 * sets are an index into the table of the RankSets that created it. */
using RankSet = uint64_t;
inline constexpr RankSet no_ranks = 0;

class RankSets {
  public:
    explicit RankSets(int p);

    [[nodiscard]] RankSet single(int rank) const;
    /** `length` ranks from `first` on, modulo p. */
    [[nodiscard]] RankSet range(int first, int length) const;
    [[nodiscard]] RankSet all() const;

    [[nodiscard]] RankSet unite(RankSet a, RankSet b);
    /** A rank that is in both sets, if there is one. */
    [[nodiscard]] std::optional<int> common(RankSet a, RankSet b) const;
    /** a ∪ b if both are ranges that do not wrap around, and b starts where a ends. */
    [[nodiscard]] std::optional<RankSet> append_range(RankSet a, RankSet b) const;
    /** The smallest rank that is not in the set, if there is one. */
    [[nodiscard]] std::optional<int> first_missing(RankSet set) const;
    /** "rank 3", "ranks 0 to 2 and 5" */
    [[nodiscard]] std::string describe(RankSet set) const;

  private:
    using Bits = std::vector<uint64_t>;
    [[nodiscard]] static bool is_range(RankSet set);
    [[nodiscard]] int first_of(RankSet range) const;
    [[nodiscard]] int length_of(RankSet range) const;
    [[nodiscard]] bool contains(RankSet range, int rank) const;
    void add_to(RankSet set, Bits &bits) const;
    RankSet intern(const Bits &bits);

    int p_;
    std::vector<Bits> tables_;
    std::unordered_multimap<uint64_t, uint32_t> by_hash_;
    Bits united_;
};

} // namespace offbeat::schedule
