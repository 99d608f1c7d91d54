#include "algorithms/scan.hpp"

#include <vector>

namespace offbeat::algorithms::scan {

using namespace schedule;

namespace {

/** Exchanges contributions: receives of those of all ranks before this one, sends to all behind it. */
std::vector<Span> everything_before(Rank &rank) {
    std::vector<Span> received;
    for (int from = 0; from < rank.id; ++from) {
        received.push_back(rank.scratch(rank.call.count));
        rank.irecv(from, received.back());
    }
    for (int to = rank.id + 1; to < rank.p; ++to)
        rank.isend(to, rank.input());
    rank.wait_all();
    return received;
}

} // namespace

void linear(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    rank.copy(rank.output(), rank.input());
    if (rank.id > 0) {
        const Span before = rank.scratch(rank.call.count);
        rank.recv(rank.id - 1, before);
        rank.reduce(rank.output(), before, Order::from_first);
    }
    if (rank.id < rank.p - 1)
        rank.send(rank.id + 1, rank.output());
}

void exclusive_linear(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0 || rank.p == 1)
        return;
    if (rank.id > 0)
        rank.recv(rank.id - 1, rank.output());
    if (rank.id == rank.p - 1)
        return;
    if (rank.id == 0) {
        rank.send(1, rank.input());
        return;
    }
    const Span sum = rank.scratch(rank.call.count);
    rank.copy(sum, rank.input());
    rank.reduce(sum, rank.output(), Order::from_first);
    rank.send(rank.id + 1, sum);
}

void all_behind(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    rank.copy(rank.output(), rank.input());
    for (const Span &data : everything_before(rank))
        rank.reduce(rank.output(), data, Order::from_first);
}

void exclusive_all_behind(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    const std::vector<Span> received = everything_before(rank);
    for (size_t i = 0; i < received.size(); ++i) {
        if (i == 0)
            rank.copy(rank.output(), received[i]);
        else
            rank.reduce(rank.output(), received[i], Order::from_first);
    }
}

} // namespace offbeat::algorithms::scan
