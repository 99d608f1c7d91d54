#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/reduce_scatter.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace offbeat::algorithms::reduce_scatter {

namespace {

/** A copy of the input in a scratch buffer. */
Span scratch_copy(Rank &rank) {
    const Span all = rank.scratch(rank.input().length);
    rank.copy(all, rank.input());
    return all;
}

/** Rounds over the blocks of the ranks that each number represents. */
std::vector<HalvingRound> rounds_over_ranks(const Rank &rank, const Folding &folding, Distances distances) {
    return halve_blocks(folding, distances,
                        [&](int64_t number) { return folding.first_rank(number) * rank.call.count; });
}

} // namespace

/** Open MPI's ompi_coll_base_reduce_scatter_intra_basic_recursivehalving, SimGrid's
 * reduce_scatter__ompi_basic_recursivehalving.
 * Rounds: lg(p). Bytes: m * (p - 1). Other p: two rounds more. */
void recursive_halving(Rank &rank) {
    const Span all = scratch_copy(rank);
    const Span incoming = rank.scratch(all.length);
    const Folding folding = fold(rank, Keep::odd);
    fold_into_pairs(rank, folding, all, incoming);
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::shrinking), all, incoming);
    const int partner = folding.partner(rank.id);
    if (!folding.participates()) {
        rank.recv(partner, rank.output());
        return;
    }
    rank.copy(rank.output(), block(all, rank.id, rank.call.count));
    if (partner >= 0)
        rank.send(partner, block(all, partner, rank.call.count));
}

/** Open MPI's ompi_coll_base_reduce_scatter_block_intra_recursivehalving.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void openmpi_recursive_halving(Rank &rank) {
    if (rank.call.commutative)
        recursive_halving(rank);
    else
        openmpi_reduce_scatter(rank);
}

/** MPICH's MPIR_Reduce_scatter_intra_recursive_halving, MPIR_Reduce_scatter_block_intra_recursive_halving,
 * MPIR_Ireduce_scatter_intra_sched_recursive_halving and
 * MPIR_Ireduce_scatter_block_intra_sched_recursive_halving.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void mpich_recursive_halving(Rank &rank) {
    if (rank.call.commutative)
        recursive_halving(rank);
    else
        mpich_choice(rank);
}

/** Open MPI's ompi_coll_base_reduce_scatter_intra_butterfly, SimGrid's reduce_scatter__ompi_butterfly,
 * after Traff, An improved algorithm for (non-commutative) reduce-scatter with an application (2005).
 * Rounds: lg(p) + 1. Bytes: m * p. */
void butterfly(Rank &rank) {
    const int64_t length = rank.call.count;
    const Span all = scratch_copy(rank);
    const Span incoming = rank.scratch(all.length);
    const Folding folding = fold(rank, Keep::odd);
    fold_into_pairs(rank, folding, all, incoming);
    if (!folding.participates()) {
        rank.recv(folding.rank(reversed_bits(rank.id / 2, folding.size)), rank.output());
        return;
    }
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::growing), all, incoming, true);
    const int target = folding.rank(reversed_bits(folding.my_number, folding.size));
    const int folded_rank = folding.partner(target);
    if (folded_rank >= 0)
        rank.send(folded_rank, block(all, folded_rank, length));
    if (target != rank.id)
        rank.sendrecv(target, block(all, target, length), target, rank.output());
    else
        rank.copy(rank.output(), block(all, rank.id, length));
}

/** SimGrid's reduce_scatter__mpich_noncomm.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void permuted_butterfly(Rank &rank) {
    const int64_t length = rank.call.count;
    const Span all = rank.scratch(rank.input().length);
    for (int i = 0; i < rank.p; ++i)
        rank.copy(block(all, reversed_bits(i, rank.p), length), block(rank.input(), i, length));
    const Folding folding = fold(rank, Keep::odd);
    reduce_by_halves(rank, rounds_over_ranks(rank, folding, Distances::growing), all,
                     rank.scratch(all.length), true);
    rank.copy(rank.output(), block(all, reversed_bits(rank.id, rank.p), length));
}

/** Open MPI's ompi_coll_base_reduce_scatter_block_intra_butterfly.
 * Rounds: lg(p). Bytes: m * (p - 1). Other p: one round and one block more, and two rounds for the folded
 * ranks. */
void openmpi_butterfly(Rank &rank) {
    if (is_power_of_two(rank.p))
        permuted_butterfly(rank);
    else
        butterfly(rank);
}

/** MPICH's MPIR_Reduce_scatter_intra_noncommutative, MPIR_Reduce_scatter_block_intra_noncommutative,
 * MPIR_Ireduce_scatter_intra_sched_noncommutative and
 * MPIR_Ireduce_scatter_block_intra_sched_noncommutative.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void mpich_noncommutative(Rank &rank) {
    if (is_power_of_two(rank.p))
        permuted_butterfly(rank);
    else
        mpich_choice(rank);
}

namespace {

/** All ranks but `width` from `first` on, in two ranges. */
std::vector<RankRange> all_but(int p, int first, int width) {
    return {{0, std::min(first, p)}, {std::min(first + width, p), p}};
}

std::vector<Span> blocks_of(const Rank &rank, const Span &all, const std::vector<RankRange> &ranges) {
    std::vector<Span> pieces;
    for (const RankRange &range : ranges)
        pieces.push_back(blocks(all, range.from, range.end - range.from, rank.call.count));
    return pieces;
}

int rounded_down(int rank, int width) {
    return rank / width * width;
}

/** Ranks without a partner in the other half of 2 · width ranks get its blocks from those with a partner,
 * along a binomial tree. Returns whether this rank received them. */
bool forward_to_ranks_without_partner(Rank &rank, const std::vector<Span> &received, int width,
                                      int partners) {
    bool has_received = false;
    for (int distance = width / 2; distance > 0; distance /= 2) {
        const int other = rank.id ^ distance;
        const int first_without = rounded_down(rank.id, 2 * distance) + partners;
        if (rank.id < other && rank.id < first_without && other >= first_without) {
            rank.send(other, received);
        } else if (other < rank.id && other < first_without && rank.id >= first_without) {
            rank.recv(other, received);
            has_received = true;
        }
    }
    return has_received;
}

/** Reduces the received blocks into this rank's. This includes blocks that other ranks now own, whose values
 * are not used any more. If the operation does not commute, those are omitted, as they would not be in rank
 * order. */
void add(Rank &rank, const Span &all, const Span &incoming, const std::vector<RankRange> &received,
         int first_own_block, int width, Order order) {
    std::vector<RankRange> useful = {{0, rank.p}};
    if (!rank.call.commutative)
        useful = {{0, first_own_block}, {rank.id, rank.id + 1}, {first_own_block + width, rank.p}};
    for (const RankRange &range : received) {
        for (const RankRange &part : useful) {
            const int from = std::max(range.from, part.from);
            const int ranks = std::max(0, std::min(range.end, part.end) - from);
            reduce_some(rank, blocks(all, from, ranks, rank.call.count),
                        blocks(incoming, from, ranks, rank.call.count), order);
        }
    }
}

} // namespace

/** Open MPI's ompi_coll_base_reduce_scatter_block_intra_recursivedoubling, MPICH's
 * MPIR_Reduce_scatter_intra_recursive_doubling, MPIR_Reduce_scatter_block_intra_recursive_doubling,
 * MPIR_Ireduce_scatter_intra_sched_recursive_doubling and
 * MPIR_Ireduce_scatter_block_intra_sched_recursive_doubling, SimGrid's reduce_scatter__mpich_rdb.
 * Rounds: lg(p). Bytes: m * (p * lg(p) - p + 1). */
void recursive_doubling(Rank &rank) {
    const Span all = rank.scratch(rank.input().length);
    const Span incoming = rank.scratch(all.length);
    rank.copy(all, rank.input());
    for (int width = 1; width < rank.p; width *= 2) {
        const int partner = rank.id ^ width;
        const int first_own_block = rounded_down(rank.id, width);
        const int others = rounded_down(partner, width);
        const auto received = all_but(rank.p, others, width);
        const auto into = blocks_of(rank, incoming, received);
        bool has_data = partner < rank.p;
        if (has_data)
            rank.sendrecv(partner, blocks_of(rank, all, all_but(rank.p, first_own_block, width)), partner,
                          into);
        if (others + width > rank.p)
            has_data =
                forward_to_ranks_without_partner(rank, into, width, rank.p - first_own_block - width) ||
                has_data;
        if (has_data)
            add(rank, all, incoming, received, first_own_block, width,
                others < first_own_block ? Order::from_first : Order::into_first);
    }
    rank.copy(rank.output(), block(all, rank.id, rank.call.count));
}

/** MPICH's MPIR_TSP_Ireduce_scatter_sched_intra_recexch and
 * MPIR_TSP_Ireduce_scatter_block_sched_intra_recexch.
 * Rounds: (2 * k - 3) * log(p, k). Bytes: m * (p - 1). Other p: two rounds more. */
void task_exchange(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative)
        return mpich_choice(rank);
    const int64_t length = rank.call.count;
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    Tasks tasks(rank);
    if (!exchange.participates()) {
        const auto sent = tasks.isend(exchange.sends_to, rank.input());
        tasks.irecv(exchange.sends_to, rank.output(), {sent});
        return;
    }
    const Span all = rank.scratch(length * rank.p);
    const Span incoming = rank.scratch(length * rank.p);
    Tasks::Task last = tasks.copy(all, rank.input());
    for (const int peer : exchange.receives_from) {
        const auto received = tasks.irecv(peer, incoming, {last});
        last = tasks.reduce(all, incoming, Order::from_first, {received});
    }
    const auto piece = [&](const Span &whole, int of, int digits) {
        const RankRange ranks = exchange.ranks_near(exchange.number(of), digits);
        return blocks(whole, ranks.from, ranks.end - ranks.from, length);
    };
    for (int digits = exchange.phases - 1; digits >= 0; --digits) {
        for (const int peer : exchange.partners[static_cast<size_t>(digits)]) {
            const Span own = piece(incoming, rank.id, digits);
            const auto sent = tasks.isend(peer, piece(all, peer, digits), {last});
            const auto received = tasks.irecv(peer, own, {last});
            last = tasks.reduce(piece(all, rank.id, digits), own, Order::from_first, {sent, received});
        }
    }
    tasks.copy(rank.output(), block(all, rank.id, length), {last});
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, block(all, peer, length), {last});
}

} // namespace offbeat::algorithms::reduce_scatter
