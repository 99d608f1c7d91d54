#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/reduce_scatter.hpp"

#include <stdexcept>

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

namespace {

/** A copy of the input to work on. */
Span working_copy(Rank &rank) {
    const Span all = rank.scratch(rank.input().length);
    rank.copy(all, rank.input());
    return all;
}

/** Rounds over the blocks of all ranks that a number stands for. */
std::vector<HalvingRound> rounds_over_ranks(const Rank &rank, const Folding &folding, Distances distances) {
    return halve_blocks(folding, distances,
                        [&](int64_t number) { return folding.first_rank(number) * rank.call.count; });
}

int reversed_bits(int number, int size) {
    int result = 0;
    for (int bit = 1; bit < size; bit *= 2)
        result = 2 * result + (number & bit ? 1 : 0);
    return result;
}

} // namespace

void recursive_halving(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Span all = working_copy(rank);
    const Span incoming = rank.scratch(all.length);
    const Folding folding = fold(rank, Keep::odd);
    fold_in(rank, folding, all, incoming);
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::shrinking), all, incoming);
    const int partner = folding.partner(rank.id);
    if (!folding.takes_part()) {
        rank.recv(partner, rank.output());
        return;
    }
    rank.copy(rank.output(), block(all, rank.id, rank.call.count));
    if (partner >= 0)
        rank.send(partner, block(all, partner, rank.call.count));
}

void openmpi_recursive_halving(Rank &rank, const Parameters &none) {
    if (rank.call.commutative)
        recursive_halving(rank, none);
    else
        openmpi_reduce_scatter(rank, none);
}

void mpich_recursive_halving(Rank &rank, const Parameters &none) {
    if (rank.call.commutative)
        recursive_halving(rank, none);
    else
        mpich_choice(rank);
}

void butterfly(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int64_t length = rank.call.count;
    const Span all = working_copy(rank);
    const Span incoming = rank.scratch(all.length);
    const Folding folding = fold(rank, Keep::odd);
    fold_in(rank, folding, all, incoming);
    if (!folding.takes_part()) {
        rank.recv(folding.rank(reversed_bits(rank.id / 2, folding.size)), rank.output());
        return;
    }
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::growing), all, incoming, true);
    const int target = folding.rank(reversed_bits(folding.me, folding.size));
    const int outsider = folding.partner(target);
    if (outsider >= 0)
        rank.send(outsider, block(all, outsider, length));
    if (target != rank.id)
        rank.sendrecv(target, block(all, target, length), target, rank.output());
    else
        rank.copy(rank.output(), block(all, rank.id, length));
}

void permuted_butterfly(Rank &rank, const Parameters & /*none*/) {
    if (!is_power_of_two(rank.p))
        throw std::logic_error("blocks are permuted for a power of two only");
    if (nothing_to_combine(rank))
        return;
    const int64_t length = rank.call.count;
    const Span all = rank.scratch(rank.input().length);
    for (int i = 0; i < rank.p; ++i)
        rank.copy(block(all, reversed_bits(i, rank.p), length), block(rank.input(), i, length));
    const Folding folding = fold(rank, Keep::odd);
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::growing), all,
                     rank.scratch(all.length), true);
    rank.copy(rank.output(), block(all, reversed_bits(rank.id, rank.p), length));
}

void openmpi_butterfly(Rank &rank, const Parameters &none) {
    if (is_power_of_two(rank.p))
        permuted_butterfly(rank, none);
    else
        butterfly(rank, none);
}

void mpich_noncommutative(Rank &rank, const Parameters &none) {
    if (is_power_of_two(rank.p))
        permuted_butterfly(rank, none);
    else
        mpich_choice(rank);
}

void simgrid_noncommutative(Rank &rank, const Parameters &none) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("mpich_noncomm runs on a power of two of ranks only");
    permuted_butterfly(rank, none);
}

} // namespace offbeat::algorithms::reduce_scatter
