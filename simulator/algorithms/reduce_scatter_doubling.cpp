#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/reduce_scatter.hpp"

#include <algorithm>
#include <vector>

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

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

/** Those of this half of 2 · width ranks that had no partner get what the others received, by halves. */
bool share(Rank &rank, const std::vector<Span> &received, int width, int partners) {
    bool got_it = false;
    for (int distance = width / 2; distance > 0; distance /= 2) {
        const int other = rank.id ^ distance;
        const int with_it = rounded_down(rank.id, 2 * distance) + partners;
        if (rank.id < other && rank.id < with_it && other >= with_it) {
            rank.send(other, received);
        } else if (other < rank.id && other < with_it && rank.id >= with_it) {
            rank.recv(other, received);
            got_it = true;
        }
    }
    return got_it;
}

/** Adds what was received to what this rank has. That includes blocks of which it gave its part away, whose
 * values nobody will use. Where the operation does not commute, those are left out: they would not be in
 * order. */
void add(Rank &rank, const Span &all, const Span &incoming, const std::vector<RankRange> &received, int mine,
         int width, Order order) {
    std::vector<RankRange> useful = {{0, rank.p}};
    if (!rank.call.commutative)
        useful = {{0, mine}, {rank.id, rank.id + 1}, {mine + width, rank.p}};
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

void recursive_doubling(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Span all = rank.scratch(rank.input().length);
    const Span incoming = rank.scratch(all.length);
    rank.copy(all, rank.input());
    for (int width = 1; width < rank.p; width *= 2) {
        const int partner = rank.id ^ width;
        const int mine = rounded_down(rank.id, width);
        const int theirs = rounded_down(partner, width);
        const auto received = all_but(rank.p, theirs, width);
        const auto into = blocks_of(rank, incoming, received);
        bool has_data = partner < rank.p;
        if (has_data)
            rank.sendrecv(partner, blocks_of(rank, all, all_but(rank.p, mine, width)), partner, into);
        if (theirs + width > rank.p)
            has_data = share(rank, into, width, rank.p - mine - width) || has_data;
        if (has_data)
            add(rank, all, incoming, received, mine, width,
                theirs < mine ? Order::from_first : Order::into_first);
    }
    rank.copy(rank.output(), block(all, rank.id, rank.call.count));
}

} // namespace offbeat::algorithms::reduce_scatter
