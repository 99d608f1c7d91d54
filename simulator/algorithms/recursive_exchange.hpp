/** @file
 * MPICH's recursive exchange: recursive doubling among k ranks at a time. The largest power of k that is at
 * most p participates, with numbers of its own; the other ranks send their data first and receive the result
 * last.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "schedule/program.hpp"

#include <vector>

namespace offbeat::algorithms {

/** Ranks [from, end). */
struct RankRange {
    int from = 0;
    int end = 0;
};

class RecursiveExchange {
  public:
    /** @param k  at least 2; limited to p. */
    RecursiveExchange(int p, int rank, int64_t k);

    int k = 2;
    int participants = 1; /**< k^phases */
    int phases = 0;
    /** The rank to which a nonparticipant sends its data; -1 for participants. */
    int sends_to = -1;
    /** The nonparticipants that send to this rank, the highest rank first. */
    std::vector<int> receives_from;
    /** By phase: the k - 1 other ranks whose numbers differ only in that digit, ascending. */
    std::vector<std::vector<int>> partners;

    [[nodiscard]] bool participates() const {
        return sends_to < 0;
    }
    [[nodiscard]] int number(int rank) const;
    [[nodiscard]] int rank(int number) const;
    /** The number with its digits in reverse order. */
    [[nodiscard]] int reversed(int number) const;
    /** The numbers that equal this one except for the lowest `digits` digits. */
    [[nodiscard]] RankRange numbers_near(int number, int digits) const;
    /** The ranks from the first to the last of numbers_near(), including the nonparticipants between them. */
    [[nodiscard]] RankRange ranks_near(int number, int digits) const;

  private:
    void find_nonparticipants(int rank);

    int nonparticipants_; /**< number of nonparticipants */
    int fringe_;          /**< all nonparticipants are below this rank */
};

/** The location of each participant's piece of the data in a reduce-scatter by recursive exchange with the
 * nearest partners first: blocks in the order of the numbers with reversed digits; the last block takes the
 * remainder. */
class ExchangePieces {
  public:
    /** @param exchange  must outlive this object */
    ExchangePieces(const RecursiveExchange &exchange, int64_t count)
        : exchange_(exchange), blocks_(Blocks::remainder_last(count, exchange.participants)) {
    }
    /** The piece that a rank works on when `digits` digits remain to be exchanged. */
    [[nodiscard]] Span of(const Span &all, int rank, int digits) const {
        const RankRange range = exchange_.numbers_near(exchange_.reversed(exchange_.number(rank)), digits);
        return blocks_.run(all, range.from, range.end);
    }

  private:
    const RecursiveExchange &exchange_;
    Blocks blocks_;
};

} // namespace offbeat::algorithms
