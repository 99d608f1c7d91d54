#include "algorithms/scan.hpp"

#include <utility>

namespace offbeat::algorithms::scan {

using namespace schedule;

namespace {

/** Recursive doubling: `sum` becomes that of all ranks within reach; `join` is told of each sum of ranks
 * before this one, from near to far. */
template <typename Join> void exchange_sums(Rank &rank, const Join &join) {
    if (rank.call.count == 0)
        return;
    const Span sum = rank.scratch(rank.call.count);
    const Span received = rank.scratch(rank.call.count);
    rank.copy(sum, rank.input());
    for (int bit = 1; bit < rank.p; bit *= 2) {
        const int partner = rank.id ^ bit;
        if (partner >= rank.p)
            continue;
        rank.sendrecv(partner, sum, partner, received);
        if (partner < rank.id)
            join(received);
        rank.reduce(sum, received, partner < rank.id ? Order::from_first : Order::into_first);
    }
}

} // namespace

void doubling(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count > 0)
        rank.copy(rank.output(), rank.input());
    exchange_sums(rank,
                  [&](const Span &sum_before) { rank.reduce(rank.output(), sum_before, Order::from_first); });
}

void exclusive_doubling(Rank &rank, const Parameters & /*none*/) {
    bool is_empty = true;
    exchange_sums(rank, [&](const Span &sum_before) {
        if (std::exchange(is_empty, false))
            rank.copy(rank.output(), sum_before);
        else
            rank.reduce(rank.output(), sum_before, Order::from_first);
    });
}

void task_doubling(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    const Span sum = rank.scratch(rank.call.count);
    const Span received = rank.scratch(rank.call.count);
    rank.copy(rank.output(), rank.input());
    rank.copy(sum, rank.input());
    bool must_join = false;
    for (int bit = 1; bit < rank.p; bit *= 2) {
        const int partner = rank.id ^ bit;
        if (partner >= rank.p)
            continue;
        const Request sent = rank.isend(partner, sum);
        if (must_join)
            rank.reduce(rank.output(), received, Order::from_first);
        rank.wait({sent, rank.irecv(partner, received)});
        must_join = partner < rank.id;
        rank.reduce(sum, received, must_join ? Order::from_first : Order::into_first);
    }
    if (must_join)
        rank.reduce(rank.output(), received, Order::from_first);
}

} // namespace offbeat::algorithms::scan
