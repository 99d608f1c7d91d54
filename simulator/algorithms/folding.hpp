/** @file
 * Algorithms for powers of two on any number of ranks: of each of the first pairs of ranks one stands for
 * both, so that a power of two is left. Those have numbers; on them, recursive doubling, and recursive
 * halving and back.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace offbeat::algorithms {

/** Which rank of a pair stands for both. */
enum class Keep : uint8_t { odd, even };

struct Folding {
    int size = 1;  /**< a power of two */
    int pairs = 0; /**< so many pairs, from rank 0 on, have one number each */
    Keep keep = Keep::odd;
    int me = 0; /**< number of the writing rank; -1 where its partner stands for it */

    [[nodiscard]] bool takes_part() const {
        return me >= 0;
    }
    [[nodiscard]] int rank(int number) const {
        return number < pairs ? 2 * number + (keep == Keep::odd ? 1 : 0) : number + pairs;
    }
    /** The lowest rank that a number stands for; for number = size, p. */
    [[nodiscard]] int64_t first_rank(int64_t number) const {
        return number < pairs ? 2 * number : number + pairs;
    }
    /** The other rank of this one's pair; -1 if it is in none. */
    [[nodiscard]] int partner(int rank) const {
        return rank < 2 * pairs ? rank ^ 1 : -1;
    }
};

Folding fold(const schedule::Rank &rank, Keep keep);

/** The rank that drops out sends all of `result`, and the one that stays adds it to its own. */
void fold_in(schedule::Rank &rank, const Folding &folding, schedule::Span result, schedule::Span incoming);
/** Each rank of a pair adds up one half of the data; then the odd one hands its half over. Keep::even only.
 */
void fold_in_halves(schedule::Rank &rank, const Folding &folding, schedule::Span result,
                    schedule::Span incoming);
/** The rank that stayed sends all of `result` to the one that dropped out. */
void fold_out(schedule::Rank &rank, const Folding &folding, schedule::Span result);

/** In round i all that differ in bit i exchange everything; combines in the order of the ranks. */
void double_up(schedule::Rank &rank, const Folding &folding, schedule::Span result, schedule::Span incoming);

/** A round of recursive halving: what this rank goes on with, and what it leaves to its peer. */
struct HalvingRound {
    int peer = -1;
    int64_t kept = 0;
    int64_t kept_length = 0;
    int64_t given = 0;
    int64_t given_length = 0;
};

enum class Distances : uint8_t { growing, shrinking };

/** Rounds over blocks: in each the window of blocks is halved, and the peer of the smaller number keeps the
 * lower half. @param offset where block 0 ... size starts, in elements. */
std::vector<HalvingRound> halve_blocks(const Folding &folding, Distances distances,
                                       const std::function<int64_t(int64_t)> &offset);
/** Rounds over elements: half of the window, rounded down, is the lower half. Growing distances. */
std::vector<HalvingRound> halve_elements(const Folding &folding, int64_t length);

/** Sends what is given and adds what comes to what is kept, round by round.
 * @param in_order values of lower ranks first; otherwise what comes goes first. */
void reduce_by_halves(schedule::Rank &rank, const std::vector<HalvingRound> &rounds, schedule::Span result,
                      schedule::Span incoming, bool in_order = false);
/** The rounds in reverse order: sends what was kept, and gets back what was given. */
void gather_by_halves(schedule::Rank &rank, const std::vector<HalvingRound> &rounds, schedule::Span result);

/** Reduces unless there is nothing to reduce. */
inline void reduce_some(schedule::Rank &rank, schedule::Span into, schedule::Span from,
                        schedule::Order order = schedule::Order::from_first) {
    if (into.length > 0)
        rank.reduce(into, from, order);
}

} // namespace offbeat::algorithms
