#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::bcast {

namespace {

/** The message in p blocks: block v belongs to rank (root + v) mod p. */
class RootedBlocks {
  public:
    explicit RootedBlocks(const Rank &rank)
        : at_(rank), output_(rank.output()), blocks_(Blocks::rounded_up(rank.call.count, rank.p)) {
    }
    [[nodiscard]] int v() const {
        return at_.v();
    }
    [[nodiscard]] int rank_at(int v) const {
        return at_.rank_at(v);
    }
    /** Whether this rank received the block in the scatter, for itself or for its subtree. */
    [[nodiscard]] bool scattered_to_me(int v) const {
        const int own_index = at_.v();
        return own_index == 0 || (v > own_index && v - own_index < (own_index & -own_index));
    }
    /** Blocks v to v + number - 1, without those that do not exist. */
    [[nodiscard]] Span run(int v, int number) const {
        return blocks_.run(output_, v, static_cast<int64_t>(v) + number);
    }

  private:
    RootedRank at_;
    Span output_;
    Blocks blocks_;
};

/** The number of ranks in the subtree of v if p is a power of two: its lowest bit; for the root, p rounded up
 * to a power of two. */
int subtree_of(const Rank &rank, int v) {
    int mask = 1;
    while (mask < rank.p && (v & mask) == 0)
        mask *= 2;
    return mask;
}

/** Down a binomial tree: each child gets the blocks of its subtree, the largest subtree first; empty blocks
 * are not sent. */
void scatter(Rank &rank, const RootedBlocks &blocks) {
    const int v = blocks.v();
    int mask = subtree_of(rank, v);
    if (v > 0 && blocks.run(v, mask).length > 0)
        rank.recv(blocks.rank_at(v - mask), blocks.run(v, mask));
    for (mask /= 2; mask > 0; mask /= 2)
        if (v + mask < rank.p && blocks.run(v + mask, mask).length > 0)
            rank.send(blocks.rank_at(v + mask), blocks.run(v + mask, mask));
}

/** The number of elements that MPICH's task graphs send in addition to a subtree's blocks: every rank treats
 * what it received as all blocks up to the last one, and forwards that to its first child. */
int64_t surplus_for(const Rank &rank, const RootedBlocks &blocks, int v) {
    const int mask = subtree_of(rank, v);
    const int parent = v - mask;
    const bool is_first = 2 * mask >= subtree_of(rank, parent) || parent + 2 * mask >= rank.p;
    return is_first ? blocks.run(v, rank.p).length - blocks.run(v, mask).length : 0;
}

/** scatter() as a task graph: all sends at once, and the allgather does not wait for them. */
void scatter_as_tasks(Rank &rank, const RootedBlocks &blocks) {
    const int v = blocks.v();
    int mask = subtree_of(rank, v);
    const Span own_blocks = blocks.run(v, mask);
    if (v > 0 && own_blocks.length > 0)
        rank.recv(blocks.rank_at(v - mask), {own_blocks, rank.scratch(surplus_for(rank, blocks, v))});
    for (mask /= 2; mask > 0; mask /= 2) {
        if (v + mask >= rank.p || blocks.run(v + mask, mask).length == 0)
            continue;
        std::vector<Span> pieces{blocks.run(v + mask, mask)};
        for (int64_t more = surplus_for(rank, blocks, v + mask); more > 0; more -= pieces.back().length)
            pieces.push_back(
                own_blocks.part(0, std::min(more, own_blocks.length))); // any elements: they are never read
        rank.isend(blocks.rank_at(v + mask), pieces);
    }
}

void exchange_blocks(Rank &rank, int to, Span data, int from, Span into, Mode mode) {
    if (mode == Mode::blocking)
        return rank.sendrecv(to, data, from, into);
    rank.isend(to, data);
    rank.irecv(from, into);
    rank.wait_all();
}

/** Where the first step of an allgather receives a block. In a task graph the scatter's sends may still read
 * the block's own place: it is received into a scratch buffer. */
Span first_destination(Rank &rank, const RootedBlocks &blocks, int v, Mode mode) {
    const Span place = blocks.run(v, 1);
    return mode == Mode::task_graph && blocks.scattered_to_me(v) ? rank.scratch(place.length) : place;
}

void allgather_by_doubling(Rank &rank, const RootedBlocks &blocks, Mode mode) {
    const int v = blocks.v();
    for (int half = 1; half < rank.p; half *= 2) {
        const int own_start = v & ~(half - 1);
        const int other = own_start ^ half;
        const int partner = blocks.rank_at(v ^ half);
        const Span into = half == 1 ? first_destination(rank, blocks, other, mode) : blocks.run(other, half);
        if ((v ^ half) < rank.p)
            exchange_blocks(rank, partner, blocks.run(own_start, half), partner, into, mode);
        if (other < rank.p && other + half > rank.p)
            forward_to_unpaired(
                rank, v, [&](int number) { return blocks.rank_at(number); }, blocks.run(other, half), half,
                rank.p - other);
    }
}

void allgather_by_ring(Rank &rank, const RootedBlocks &blocks, Mode mode) {
    for (int step = 1; step < rank.p; ++step) {
        const int sent = (blocks.v() - step + 1 + rank.p) % rank.p;
        const int received = (blocks.v() - step + rank.p) % rank.p;
        const Span into =
            step == 1 ? first_destination(rank, blocks, received, mode) : blocks.run(received, 1);
        exchange_blocks(rank, neighbour(rank, 1), blocks.run(sent, 1), neighbour(rank, -1), into, mode);
    }
}

} // namespace

/** SimGrid's bcast__scatter_LR_allgather, and with doubling bcast__scatter_rdb_allgather, after van de
 * Geijn, On global combine operations (1994): a binomial scatter, then an allgather.
 * Rounds: 2 * lg(p) or lg(p) + p - 1. Bytes: 2 * m * (p - 1) / p. */
void scatter_allgather(Rank &rank, Allgather allgather, Mode mode) {
    const RootedBlocks blocks(rank);
    if (mode == Mode::blocking)
        scatter(rank, blocks);
    else
        scatter_as_tasks(rank, blocks);
    if (allgather == Allgather::doubling)
        allgather_by_doubling(rank, blocks, mode);
    else
        allgather_by_ring(rank, blocks, mode);
}

/** SimGrid's bcast__scatter_rdb_allgather.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void scatter_doubling(Rank &rank) {
    if (rank.call.count > 0)
        scatter_allgather(rank, Allgather::doubling, Mode::blocking);
}

/** Open MPI's ompi_coll_base_bcast_intra_scatter_allgather and
 * ompi_coll_base_bcast_intra_scatter_allgather_ring.
 * Rounds: 2 * lg(p) or lg(p) + p - 1. Bytes: 2 * m * (p - 1) / p. */
void openmpi_scatter_allgather(Rank &rank, Allgather allgather) {
    if (rank.call.count < rank.p)
        flat(rank);
    else
        scatter_allgather(rank, allgather, Mode::blocking);
}

/** MPICH's MPIR_Bcast_intra_scatter_recursive_doubling_allgather, MPIR_Bcast_intra_scatter_ring_allgather,
 * MPIR_Ibcast_intra_sched_scatter_recursive_doubling_allgather and
 * MPIR_Ibcast_intra_sched_scatter_ring_allgather.
 * Rounds: 2 * lg(p) or lg(p) + p - 1. Bytes: 2 * m * (p - 1) / p. */
void mpich_scatter_allgather(Rank &rank, Allgather allgather, Mode mode) {
    if (allgather == Allgather::doubling && !is_power_of_two(rank.p))
        throw std::invalid_argument(
            "MPICH's scatter with recursive doubling needs a power of two of ranks; here "
            "there are " +
            std::to_string(rank.p));
    if (mode == Mode::task_graph || rank.call.count > 0)
        scatter_allgather(rank, allgather, mode);
}

} // namespace offbeat::algorithms::bcast
