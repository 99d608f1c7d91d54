#include "algorithms/reduce.hpp"

#include "algorithms/blocks.hpp"
#include "algorithms/folding.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace offbeat::algorithms::reduce {

namespace {

/** The folding of the reduce-scatter as the gather uses it: a root that was folded into another rank has
 * number 0. */
class GatherNumbers {
  public:
    GatherNumbers(const Rank &rank, const Folding &folding) : folding_(folding), root_(rank.call.root) {
        root_is_folded_ = root_ < 2 * folding.pairs && root_ % 2 != 0;
    }
    [[nodiscard]] bool root_is_folded() const {
        return root_is_folded_;
    }
    [[nodiscard]] int number(int rank) const {
        if (rank == root_ && root_is_folded_)
            return 0;
        return rank < 2 * folding_.pairs ? rank / 2 : rank - folding_.pairs;
    }
    [[nodiscard]] int rank(int number) const {
        return number == 0 && root_is_folded_ ? root_ : folding_.rank(number);
    }

  private:
    const Folding &folding_;
    int root_;
    bool root_is_folded_;
};

/** Rank 0 sends its part to a root that was folded into another rank. Returns whether this rank takes part in
 * the gather. */
bool replace_rank_zero_by_root(Rank &rank, const Folding &folding, const GatherNumbers &numbers, Span part) {
    if (!numbers.root_is_folded())
        return folding.participates();
    if (rank.id == rank.call.root)
        rank.recv(0, part);
    else if (rank.id == 0)
        rank.send(rank.call.root, part);
    return rank.id == rank.call.root || (rank.id != 0 && folding.participates());
}

/** The rounds in reverse order: ranks that differ from the root in a round's bit send their part.
 * @param all_continue  and then continue with the next round, although their part is no longer needed */
void gather(Rank &rank, const Folding &folding, const std::vector<HalvingRound> &rounds, Span result,
            bool all_continue) {
    const GatherNumbers numbers(rank, folding);
    const HalvingRound &last = rounds.back();
    if (!replace_rank_zero_by_root(rank, folding, numbers, result.part(last.own_offset, last.own_length)))
        return;
    const int number = numbers.number(rank.id);
    const int root = numbers.number(rank.call.root);
    int bit = folding.size;
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
        bit /= 2;
        const int partner = numbers.rank(number ^ bit);
        if ((number & bit) == (root & bit)) {
            rank.recv(partner, result.part(round->peer_offset, round->peer_length));
            continue;
        }
        rank.send(partner, result.part(round->own_offset, round->own_length));
        if (!all_continue)
            return;
    }
}

using FoldFunction = void (*)(Rank &, const Folding &, Span result, Span incoming);
using Rounds = std::function<std::vector<HalvingRound>(const Folding &folding)>;

void scatter_gather(Rank &rank, Span result, FoldFunction fold_pairs, const Rounds &rounds_of,
                    bool all_continue = false) {
    const Folding folding = fold(rank, Keep::even);
    const Span incoming = rank.scratch(result.length);
    fold_pairs(rank, folding, result, incoming);
    if (folding.participates())
        reduce_by_halves(rank, rounds_of(folding), result, incoming, true);
    Folding in_gather = folding;
    if (rank.id == rank.call.root && !folding.participates())
        in_gather.my_number = 0;
    if (in_gather.participates())
        gather(rank, folding, rounds_of(in_gather), result, all_continue);
}

/** Rounds that halve the number of elements: Open MPI's and Rabenseifner's. */
Rounds halves_of_elements(int64_t length) {
    return [=](const Folding &folding) { return halve_elements(folding, length); };
}

/** Rounds that halve the number of blocks, one block per participant: MPICH's.
 * @param divide  one of Blocks' functions */
Rounds halves_of_blocks(int64_t length, Blocks (*divide)(int64_t elements, int64_t blocks)) {
    return [=](const Folding &folding) {
        const Blocks blocks = divide(length, folding.size);
        return halve_blocks(folding, Distances::growing, [&](int64_t block) { return blocks.offset(block); });
    };
}

Span input_in_accumulator(Rank &rank) {
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    return result;
}

bool too_few_or_noncommutative(const Rank &rank) {
    return rank.call.count < fold(rank, Keep::even).size || !rank.call.commutative;
}

/** Fills a buffer with copies of its first `filled` elements. */
void pad(Rank &rank, Span buffer, int64_t filled) {
    while (filled < buffer.length) {
        const int64_t more = std::min(filled, buffer.length - filled);
        rank.copy(buffer.part(filled, more), buffer.part(0, more));
        filled += more;
    }
}

} // namespace

/** Open MPI's ompi_coll_base_reduce_intra_redscat_gather, after Rabenseifner, Optimization of collective
 * reduction operations (2004).
 * Rounds: 2 * lg(p). Bytes: m * (p - 1) / p + m / 2. */
void openmpi_rabenseifner(Rank &rank) {
    if (too_few_or_noncommutative(rank))
        return linear(rank);
    const Span result = input_in_accumulator(rank);
    scatter_gather(rank, result, fold_halves_into_pairs, halves_of_elements(result.length));
}

/** MPICH's MPIR_Reduce_intra_reduce_scatter_gather and MPIR_Ireduce_intra_sched_reduce_scatter_gather.
 * Rounds: 2 * lg(p). Bytes: m * (p - 1) / p + m / 2. */
void mpich_scatter_gather(Rank &rank, bool scheduled) {
    if (too_few_or_noncommutative(rank))
        return binomial(rank);
    const Span result = input_in_accumulator(rank);
    const auto divide = scheduled ? Blocks::remainder_last : Blocks::even;
    scatter_gather(rank, result, fold_into_pairs, halves_of_blocks(result.length, divide));
}

/** SimGrid's reduce__scatter_gather.
 * Rounds: 2 * lg(p). Bytes: m * (p - 1) / p + m / 2. */
void simgrid_scatter_gather(Rank &rank) {
    const int64_t count = rank.call.count;
    const bool padded = count < rank.p;
    const Span result = padded ? rank.scratch(rank.p) : accumulator(rank);
    rank.copy(result.part(0, count), rank.input());
    pad(rank, result, count);
    scatter_gather(rank, result, fold_into_pairs, halves_of_blocks(result.length, Blocks::remainder_last));
    if (padded && rank.id == rank.call.root)
        rank.copy(rank.output(), result.part(0, count));
}

/** SimGrid's reduce__rab.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void rabenseifner(Rank &rank) {
    const Span result = input_in_accumulator(rank);
    scatter_gather(rank, result, fold_halves_into_pairs, halves_of_elements(result.length), true);
}

} // namespace offbeat::algorithms::reduce
