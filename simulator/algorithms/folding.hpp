/** @file
 * Algorithms for powers of two on any number of ranks: the first pairs of ranks are folded, so that one rank
 * of a pair represents both and a power of two of ranks participates. The participants are numbered. On them:
 * recursive doubling and recursive halving.
 */
#pragma once

#include "algorithms/exchange.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace offbeat::algorithms {

/** Which rank of a pair represents both. */
enum class Keep : uint8_t { odd, even };

struct Folding {
    int size = 1;  /**< a power of two */
    int pairs = 0; /**< number of folded pairs, from rank 0 on; each pair has one number */
    Keep keep = Keep::odd;
    int my_number = 0; /**< number of this rank; -1 if its partner represents it */

    [[nodiscard]] bool participates() const {
        return my_number >= 0;
    }
    [[nodiscard]] int rank(int number) const {
        return number < pairs ? 2 * number + (keep == Keep::odd ? 1 : 0) : number + pairs;
    }
    /** The lowest rank that a number represents; p for number = size. */
    [[nodiscard]] int64_t first_rank(int64_t number) const {
        return number < pairs ? 2 * number : number + pairs;
    }
    /** The other rank of a rank's pair; -1 if it is in no pair. */
    [[nodiscard]] int partner(int rank) const {
        return rank < 2 * pairs ? rank ^ 1 : -1;
    }
};

Folding fold(const Rank &rank, Keep keep);

/** The rank that does not participate sends `result`, and the other rank of the pair reduces it into its own.
 */
void fold_into_pairs(Rank &rank, const Folding &folding, Span result, Span incoming);
/** Each rank of a pair reduces one half of the data; then the odd rank sends its half. Keep::even only. */
void fold_halves_into_pairs(Rank &rank, const Folding &folding, Span result, Span incoming);
/** The participating rank of a pair sends `result` to the other rank. */
void return_to_folded(Rank &rank, const Folding &folding, Span result);

/** Recursive doubling: in round i, numbers that differ in bit i exchange `result`; combines in rank order. */
void exchange_by_doubling(Rank &rank, const Folding &folding, Span result, Span incoming);

/** A round of recursive halving: the half that this rank continues with, and the half of its peer. */
struct HalvingRound {
    int peer = -1;
    int64_t own_offset = 0; /**< in elements */
    int64_t own_length = 0;
    int64_t peer_offset = 0; /**< in elements */
    int64_t peer_length = 0;
};

enum class Distances : uint8_t { growing, shrinking };

/** Rounds over blocks: each round halves the window of blocks, and the smaller number keeps the lower half.
 * @param offset  the start of block 0 ... size, in elements */
std::vector<HalvingRound> halve_blocks(const Folding &folding, Distances distances,
                                       const std::function<int64_t(int64_t)> &offset);
/** Rounds over elements: the lower half is half of the window, rounded down. Growing distances. */
std::vector<HalvingRound> halve_elements(const Folding &folding, int64_t length);

/** In each round, sends the peer's half and reduces the received data into this rank's half.
 * @param in_order  values of lower ranks first; otherwise the received values first */
void reduce_by_halves(Rank &rank, const std::vector<HalvingRound> &rounds, Span result, Span incoming,
                      bool in_order = false);
/** The rounds in reverse order: sends this rank's half and receives the peer's half. */
void gather_by_halves(Rank &rank, const std::vector<HalvingRound> &rounds, Span result);

} // namespace offbeat::algorithms
