#include "algorithms/allreduce.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"

namespace offbeat::algorithms::allreduce {

using schedule::Rank;
using schedule::Span;

void copy_in(Rank &rank) {
    copy_some(rank, rank.output(), rank.input());
}

void double_in_place(Rank &rank) {
    const Folding folding = fold(rank, Keep::odd);
    const Span incoming = rank.scratch(rank.call.count);
    fold_in(rank, folding, rank.output(), incoming);
    double_up(rank, folding, rank.output(), incoming);
    fold_out(rank, folding, rank.output());
}

void recursive_doubling(Rank &rank, const Parameters & /*none*/) {
    copy_in(rank);
    double_in_place(rank);
}

void halve_in_place(Rank &rank, bool remainder_last) {
    const Folding folding = fold(rank, Keep::odd);
    const Blocks blocks = remainder_last ? Blocks::remainder_last(rank.call.count, folding.size)
                                         : Blocks::even(rank.call.count, folding.size);
    const Span incoming = rank.scratch(rank.call.count);
    fold_in(rank, folding, rank.output(), incoming);
    const auto rounds =
        halve_blocks(folding, Distances::growing, [&](int64_t block) { return blocks.offset(block); });
    reduce_by_halves(rank, rounds, rank.output(), incoming);
    gather_by_halves(rank, rounds, rank.output());
    fold_out(rank, folding, rank.output());
}

void halving_remainder_last(Rank &rank, const Parameters & /*none*/) {
    copy_in(rank);
    halve_in_place(rank, true);
}

void mvapich_halving(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    copy_in(rank);
    if (rank.call.count < fold(rank, Keep::odd).size)
        double_in_place(rank);
    else
        halve_in_place(rank, true);
}

void rabenseifner_own(Rank &rank, const Parameters & /*none*/) {
    copy_in(rank);
    const Folding folding = fold(rank, Keep::even);
    const Span incoming = rank.scratch(rank.call.count);
    fold_in_halves(rank, folding, rank.output(), incoming);
    const auto rounds = halve_elements(folding, rank.call.count);
    reduce_by_halves(rank, rounds, rank.output(), incoming);
    gather_by_halves(rank, rounds, rank.output());
    fold_out(rank, folding, rank.output());
}

void openmpi_rabenseifner(Rank &rank, const Parameters &parameters) {
    if (rank.call.commutative)
        rabenseifner_own(rank, parameters);
    else
        openmpi_linear(rank, parameters);
}

namespace {

/** MPICH halves only for built-in operations, and only where every block gets an element. */
bool can_halve(const Rank &rank) {
    return rank.call.commutative && rank.call.count >= fold(rank, Keep::odd).size;
}

} // namespace

void mpich_choice(Rank &rank, bool scheduled) {
    copy_in(rank);
    mpich_choice_in_place(rank, scheduled);
}

void mpich_choice_in_place(Rank &rank, bool scheduled) {
    const int64_t short_bytes = scheduled ? 2048 : 8;
    if (rank.call.count == 0)
        return;
    if (rank.call.bytes() <= short_bytes || !can_halve(rank))
        double_in_place(rank);
    else
        halve_in_place(rank, scheduled);
}

void mpich_halving(Rank &rank, const Parameters & /*none*/) {
    if (!can_halve(rank)) {
        mpich_choice(rank, false);
        return;
    }
    copy_in(rank);
    halve_in_place(rank, false);
}

void mpich_scheduled_halving(Rank &rank, const Parameters & /*none*/) {
    if (!can_halve(rank)) {
        mpich_choice(rank, true);
        return;
    }
    copy_in(rank);
    halve_in_place(rank, true);
}

} // namespace offbeat::algorithms::allreduce
