#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"

namespace offbeat::algorithms::scatter {

using schedule::Rank;

namespace {

/** @param blocking_every every so many ranks the root waits for a send; 1: for each; 0: for none. */
void linear_with(Rank &rank, int64_t blocking_every) {
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.recv(root, rank.output());
        return;
    }
    for (int to = 0; to < rank.p; ++to) {
        const schedule::Span what = block(rank.input(), to, rank.call.count);
        if (to == root)
            copy_some(rank, rank.output(), what);
        else if (blocking_every > 0 && to % blocking_every == 0)
            rank.send(to, what);
        else
            rank.isend(to, what);
    }
    rank.wait_all();
}

} // namespace

void linear(Rank &rank, const Parameters & /*parameters*/) {
    linear_with(rank, 1);
}

void linear_at_once(Rank &rank, const Parameters & /*parameters*/) {
    linear_with(rank, 0);
}

void openmpi_linear_nb(Rank &rank, const Parameters &parameters) {
    const int64_t requests = parameters["requests"];
    linear_with(rank, requests <= 1 ? 0 : requests);
}

} // namespace offbeat::algorithms::scatter
