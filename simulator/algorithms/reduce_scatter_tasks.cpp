#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/reduce_scatter.hpp"
#include "algorithms/tasks.hpp"

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

void task_exchange(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative) {
        mpich_choice(rank);
        return;
    }
    if (nothing_to_combine(rank))
        return;
    const int64_t length = rank.call.count;
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    Tasks tasks(rank);
    if (!exchange.takes_part()) {
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
            const Span mine = piece(incoming, rank.id, digits);
            const auto sent = tasks.isend(peer, piece(all, peer, digits), {last});
            const auto received = tasks.irecv(peer, mine, {last});
            last = tasks.reduce(piece(all, rank.id, digits), mine, Order::from_first, {sent, received});
        }
    }
    tasks.copy(rank.output(), block(all, rank.id, length), {last});
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, block(all, peer, length), {last});
}

} // namespace offbeat::algorithms::reduce_scatter
