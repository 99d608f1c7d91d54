#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Span;

namespace {

enum class Steps : uint8_t { blocking, task_graph };

/** The message in p blocks as one rank sees it: block v belongs to the rank v places after the root. */
class Shares {
  public:
    explicit Shares(const Rank &rank)
        : p_(rank.p), root_(rank.call.root), v_((rank.id - root_ + p_) % p_), output_(rank.output()),
          blocks_(Blocks::rounded_up(rank.call.count, p_)) {
    }
    [[nodiscard]] int v() const {
        return v_;
    }
    [[nodiscard]] int rank_at(int v) const {
        return (v + root_ + p_) % p_;
    }
    /** Whether the scatter brought this block here, for this rank or one below it. */
    [[nodiscard]] bool scattered_to_me(int v) const {
        return v_ == 0 || (v > v_ && v - v_ < (v_ & -v_));
    }
    /** Blocks v to v + number - 1, as far as they exist. */
    [[nodiscard]] Span run(int v, int number) const {
        return blocks_.run(output_, v, static_cast<int64_t>(v) + number);
    }

  private:
    int p_;
    int root_;
    int v_;
    Span output_;
    Blocks blocks_;
};

/** The place of the lowest bit of v, and the first power of two from p on for the root. */
int subtree_of(const Rank &rank, int v) {
    int mask = 1;
    while (mask < rank.p && (v & mask) == 0)
        mask *= 2;
    return mask;
}

/** Down a binomial tree, each child its subtree's blocks, the largest first; nothing where they are empty. */
void scatter(Rank &rank, const Shares &shares) {
    const int v = shares.v();
    int mask = subtree_of(rank, v);
    if (v > 0 && shares.run(v, mask).length > 0)
        rank.recv(shares.rank_at(v - mask), shares.run(v, mask));
    for (mask /= 2; mask > 0; mask /= 2)
        if (v + mask < rank.p && shares.run(v + mask, mask).length > 0)
            rank.send(shares.rank_at(v + mask), shares.run(v + mask, mask));
}

/** How many elements MPICH's task graphs send on top of a subtree's blocks: every rank takes what it received
 * for all blocks up to the last one, and passes that on to its first child. */
int64_t surplus_for(const Rank &rank, const Shares &shares, int v) {
    const int mask = subtree_of(rank, v);
    const int parent = v - mask;
    const bool is_first = 2 * mask >= subtree_of(rank, parent) || parent + 2 * mask >= rank.p;
    return is_first ? shares.run(v, rank.p).length - shares.run(v, mask).length : 0;
}

/** The same tree as a task graph: all sends at once, and what follows does not wait for them. */
void scatter_as_tasks(Rank &rank, const Shares &shares) {
    const int v = shares.v();
    int mask = subtree_of(rank, v);
    const Span own = shares.run(v, mask);
    if (v > 0 && own.length > 0)
        rank.recv(shares.rank_at(v - mask), {own, rank.scratch(surplus_for(rank, shares, v))});
    for (mask /= 2; mask > 0; mask /= 2) {
        if (v + mask >= rank.p || shares.run(v + mask, mask).length == 0)
            continue;
        std::vector<Span> pieces{shares.run(v + mask, mask)};
        for (int64_t more = surplus_for(rank, shares, v + mask); more > 0; more -= pieces.back().length)
            pieces.push_back(own.part(0, std::min(more, own.length))); // anything will do: nobody reads it
        rank.isend(shares.rank_at(v + mask), pieces);
    }
}

void swap_with(Rank &rank, int to, Span what, int from, Span into, Steps steps) {
    if (steps == Steps::blocking)
        return rank.sendrecv(to, what, from, into);
    rank.isend(to, what);
    rank.irecv(from, into);
    rank.wait_all();
}

/** Where an allgather's first step receives a block. In a task graph the scatter's sends may still be reading
 * what comes back here: it goes elsewhere. */
Span first_landing(Rank &rank, const Shares &shares, int v, Steps steps) {
    const Span place = shares.run(v, 1);
    return steps == Steps::task_graph && shares.scattered_to_me(v) ? rank.scratch(place.length) : place;
}

/** Only the first `served` ranks of a half had partners in the other one; the rest get its blocks from them,
 * along a binomial tree. */
void serve_the_rest(Rank &rank, const Shares &shares, Span other_half, int half, int served) {
    const int v = shares.v();
    for (int distance = half / 2; distance > 0; distance /= 2) {
        const int peer = v ^ distance;
        const int first_without = (v & ~(2 * distance - 1)) + served;
        if (v < first_without && peer >= first_without)
            rank.send(shares.rank_at(peer), other_half);
        else if (peer < first_without && v >= first_without)
            rank.recv(shares.rank_at(peer), other_half);
    }
}

void allgather_by_doubling(Rank &rank, const Shares &shares, Steps steps) {
    const int v = shares.v();
    for (int half = 1; half < rank.p; half *= 2) {
        const int own = v & ~(half - 1);
        const int other = own ^ half;
        const int partner = shares.rank_at(v ^ half);
        const Span into = half == 1 ? first_landing(rank, shares, other, steps) : shares.run(other, half);
        if ((v ^ half) < rank.p)
            swap_with(rank, partner, shares.run(own, half), partner, into, steps);
        if (other < rank.p && other + half > rank.p)
            serve_the_rest(rank, shares, shares.run(other, half), half, rank.p - other);
    }
}

void allgather_by_ring(Rank &rank, const Shares &shares, Steps steps) {
    for (int step = 1; step < rank.p; ++step) {
        const int sent = (shares.v() - step + 1 + rank.p) % rank.p;
        const int received = (shares.v() - step + rank.p) % rank.p;
        const Span into = step == 1 ? first_landing(rank, shares, received, steps) : shares.run(received, 1);
        swap_with(rank, around(rank, 1), shares.run(sent, 1), around(rank, -1), into, steps);
    }
}

void doubling(Rank &rank, Steps steps) {
    const Shares shares(rank);
    if (steps == Steps::blocking)
        scatter(rank, shares);
    else
        scatter_as_tasks(rank, shares);
    allgather_by_doubling(rank, shares, steps);
}

void ring(Rank &rank, Steps steps) {
    const Shares shares(rank);
    if (steps == Steps::blocking)
        scatter(rank, shares);
    else
        scatter_as_tasks(rank, shares);
    allgather_by_ring(rank, shares, steps);
}

void refuse_other_than_powers_of_two(const Rank &rank) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("MPICH scatters and doubles only where the number of ranks is a power of "
                                    "two, and here it is " +
                                    std::to_string(rank.p));
}

} // namespace

void scatter_doubling(Rank &rank, const Parameters & /*parameters*/) {
    if (rank.call.count > 0)
        doubling(rank, Steps::blocking);
}

void scatter_ring(Rank &rank, const Parameters & /*parameters*/) {
    ring(rank, Steps::blocking);
}

void openmpi_scatter_doubling(Rank &rank, const Parameters &parameters) {
    if (rank.call.count < rank.p)
        return flat(rank, parameters);
    doubling(rank, Steps::blocking);
}

void openmpi_scatter_ring(Rank &rank, const Parameters &parameters) {
    if (rank.call.count < rank.p)
        return flat(rank, parameters);
    ring(rank, Steps::blocking);
}

void mpich_scatter_doubling(Rank &rank, const Parameters &parameters) {
    refuse_other_than_powers_of_two(rank);
    scatter_doubling(rank, parameters);
}

void mpich_scatter_ring(Rank &rank, const Parameters & /*parameters*/) {
    if (rank.call.count > 0)
        ring(rank, Steps::blocking);
}

void mpich_nb_scatter_doubling(Rank &rank, const Parameters & /*parameters*/) {
    refuse_other_than_powers_of_two(rank);
    doubling(rank, Steps::task_graph);
}

void mpich_nb_scatter_ring(Rank &rank, const Parameters & /*parameters*/) {
    ring(rank, Steps::task_graph);
}

} // namespace offbeat::algorithms::bcast
