#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"
#include "algorithms/segments.hpp"

namespace offbeat::algorithms::gather {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

Span block_of(const Rank &rank, int from) {
    return block(rank.output(), from, rank.call.count);
}

/** The first segment may be everything; the second one is a message even if it is empty. */
void linear_sync(Rank &rank, int64_t first_bytes) {
    const int64_t count = rank.call.count;
    const int64_t first = openmpi_segment(rank.call, first_bytes, count);
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.recv(root, no_data);
        rank.send(root, rank.input().part(0, first));
        rank.send(root, rank.input().part(first, count - first));
        return;
    }
    for (int from = 0; from < rank.p; ++from) {
        if (from == root)
            continue;
        const Request expected = rank.irecv(from, block_of(rank, from).part(0, first));
        rank.send(from, no_data);
        rank.irecv(from, block_of(rank, from).part(first, count - first));
        rank.wait(expected);
    }
    copy_some(rank, block_of(rank, root), rank.input());
    rank.wait_all();
}

} // namespace

void linear(Rank &rank, const Parameters & /*parameters*/) {
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.send(root, rank.input());
        return;
    }
    for (int from = 0; from < rank.p; ++from) {
        if (from == root)
            copy_some(rank, block_of(rank, root), rank.input());
        else
            rank.recv(from, block_of(rank, from));
    }
}

void openmpi_linear_sync(Rank &rank, const Parameters &parameters) {
    linear_sync(rank, parameters["segment"]);
}

void simgrid_linear_sync(Rank &rank, const Parameters & /*parameters*/) {
    constexpr int64_t large = 92160;
    linear_sync(rank, rank.call.bytes() > large ? 32768 : 1024);
}

} // namespace offbeat::algorithms::gather
