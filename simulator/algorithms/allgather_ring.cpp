#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"

#include <utility>

namespace offbeat::algorithms::allgather {

using schedule::Joint;
using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

/** The block of the rank `places` after (or before) this one. */
Span block_around(const Rank &rank, const Span &output, int places) {
    return block(output, around(rank, places), rank.call.count);
}

/** Pairs (even rank, next one) exchange their own blocks; from then on two blocks at a time are exchanged, by
 * turns with the other neighbour and with this one: what came last. */
void neighbor_exchange(Rank &rank) {
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const int forward = rank.id % 2 == 0 ? 1 : -1;
    const int neighbors[] = {around(rank, forward), around(rank, -forward)};
    rank.copy(block(output, rank.id, n), rank.input());
    rank.sendrecv(neighbors[0], block(output, rank.id, n), neighbors[0], block(output, neighbors[0], n));
    const int own_pair = rank.id / 2 * 2;
    int last = own_pair; // the pair of blocks that goes next
    for (int step = 1; step < rank.p / 2; ++step) {
        const int pairs_off = (step + 1) / 2 * (step % 2 == 0 ? forward : -forward);
        const int next = (own_pair + 2 * pairs_off + rank.p) % rank.p;
        const int neighbor = neighbors[step % 2];
        rank.sendrecv(neighbor, blocks(output, last, 2, n), neighbor, blocks(output, next, 2, n));
        last = next;
    }
}

} // namespace

void ring(Rank &rank, const Parameters & /*none*/) {
    const Span output = rank.output();
    const int next = around(rank, 1);
    const int previous = around(rank, -1);
    rank.copy(block_around(rank, output, 0), rank.input());
    for (int step = 1; step < rank.p; ++step)
        rank.sendrecv(next, block_around(rank, output, 1 - step), previous,
                      block_around(rank, output, -step));
}

void ring_receives_first(Rank &rank, const Parameters & /*none*/) {
    const Span output = rank.output();
    rank.copy(block_around(rank, output, 0), rank.input());
    std::vector<Request> receives;
    for (int step = 1; step < rank.p; ++step)
        receives.push_back(rank.irecv(around(rank, -1), block_around(rank, output, -step)));
    for (int step = 1; step < rank.p; ++step) {
        const Request sent = rank.isend(around(rank, 1), block_around(rank, output, 1 - step));
        rank.wait({receives[static_cast<size_t>(step - 1)], sent});
    }
}

void ring_tasks(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    Span sending = rank.scratch(n);
    Span receiving = rank.scratch(n);
    rank.copy(block_around(rank, rank.output(), 0), rank.input());
    rank.copy(sending, rank.input());
    Joint copied = rank.here(); // what came last was copied out of its buffer
    for (int step = 1; step < rank.p; ++step) {
        const Request sent = rank.isend(around(rank, 1), sending);
        const Request received = rank.irecv(around(rank, -1), receiving);
        const Joint both = rank.when({sent, received}, {copied});
        copied = rank.when({received});
        rank.at(copied);
        rank.copy(block_around(rank, rank.output(), -step), receiving);
        rank.at(both);
        std::swap(sending, receiving);
    }
}

void openmpi_neighbor_exchange(Rank &rank, const Parameters &parameters) {
    if (rank.p % 2 == 0)
        neighbor_exchange(rank);
    else
        ring(rank, parameters);
}

void simgrid_neighbor_exchange(Rank &rank, const Parameters &parameters) {
    if (rank.p % 2 == 0)
        neighbor_exchange(rank);
    else
        to_all_in_steps(rank, parameters);
}

} // namespace offbeat::algorithms::allgather
