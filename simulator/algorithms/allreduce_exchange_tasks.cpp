#include "algorithms/allreduce.hpp"
#include "algorithms/recursive_exchange_pieces.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <vector>

namespace offbeat::algorithms::allreduce {

using namespace schedule;

namespace {

using Task = Tasks::Task;

/** Ranks that don't take part send their input, and get the result. */
void stand_aside(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange) {
    tasks.isend(exchange.sends_to, rank.input());
    tasks.irecv(exchange.sends_to, rank.output());
}

/** Adds what comes from those that stand aside to the output; returns the last task. Reductions follow each
 * other, here and below: MPICH lets those into one buffer run as data comes where the operation commutes,
 * which takes as long.
 * @param own_buffers receives don't wait for each other. */
Task take_in(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange, bool own_buffers) {
    Task last = tasks.copy(rank.output(), rank.input());
    Span buffer;
    for (size_t i = 0; i < exchange.receives_from.size(); ++i) {
        if (own_buffers || i == 0)
            buffer = rank.scratch(rank.call.count);
        const bool at_once = own_buffers || i == 0;
        const Task received =
            tasks.irecv(exchange.receives_from[i], buffer, at_once ? Tasks::After{} : Tasks::After{last});
        last = tasks.reduce(rank.output(), buffer, Order::from_first, {last, received});
    }
    return last;
}

/** The partners of a phase as their values are taken: for any operation, outwards from this rank. */
std::vector<int> outwards(const Rank &rank, const std::vector<int> &ascending) {
    if (rank.call.commutative)
        return ascending;
    std::vector<int> list;
    const auto higher = std::upper_bound(ascending.begin(), ascending.end(), rank.id);
    list.assign(std::make_reverse_iterator(higher), ascending.rend());
    list.insert(list.end(), higher, ascending.end());
    return list;
}

/** Each phase sends a copy of the result so far, so that what comes can be added meanwhile.
 * @param own_buffers a buffer for each message, whose receive starts at once. */
void exchange_as_tasks(Rank &rank, int k, bool own_buffers) {
    Tasks tasks(rank);
    const RecursiveExchange exchange(rank.p, rank.id, k);
    if (!exchange.takes_part()) {
        stand_aside(rank, tasks, exchange);
        return;
    }
    Task last = take_in(rank, tasks, exchange, own_buffers);
    const Span outgoing = rank.scratch(rank.call.count);
    Span incoming = rank.scratch(rank.call.count);
    Tasks::After sent;
    Tasks::After buffer_free;
    for (const auto &partners : exchange.partners) {
        Tasks::After before = sent;
        before.push_back(last);
        last = tasks.copy(outgoing, rank.output(), before);
        sent = {tasks.imcast(partners, outgoing, {last})};
        for (const int peer : outwards(rank, partners)) {
            if (own_buffers)
                incoming = rank.scratch(rank.call.count);
            const Task received = tasks.irecv(peer, incoming, own_buffers ? Tasks::After{} : buffer_free);
            const bool in_front = rank.call.commutative || peer < rank.id;
            last = tasks.reduce(rank.output(), incoming, in_front ? Order::from_first : Order::into_first,
                                {last, received});
            buffer_free = {last};
        }
    }
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, rank.output(), {last});
}

/** Nearest partners first, one after the other; returns the last task. */
void reduce_pieces(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange, const ExchangePieces &pieces,
                   Task last) {
    const Span incoming = rank.scratch(rank.call.count);
    for (int phase = 0; phase < exchange.phases; ++phase) {
        const int digits = exchange.phases - 1 - phase;
        for (const int peer : exchange.partners[static_cast<size_t>(phase)]) {
            const Span mine = pieces.of(incoming, rank.id, digits);
            const Task sent = tasks.isend(peer, pieces.of(rank.output(), peer, digits), {last});
            const Task received = tasks.irecv(peer, mine, {last});
            last = tasks.reduce(pieces.of(rank.output(), rank.id, digits), mine, Order::from_first,
                                {sent, received});
        }
    }
    tasks.fence();
}

/** Farthest partners first; all receives start at once. Returns them. */
Tasks::After gather_pieces(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange,
                           const ExchangePieces &pieces) {
    Tasks::After receives;
    for (int digits = 0; digits < exchange.phases; ++digits) {
        const auto &partners = exchange.partners[static_cast<size_t>(exchange.phases - 1 - digits)];
        const Tasks::After before = receives;
        for (const int peer : partners)
            tasks.isend(peer, pieces.of(rank.output(), rank.id, digits), before);
        for (const int peer : partners)
            receives.push_back(tasks.irecv(peer, pieces.of(rank.output(), peer, digits)));
    }
    return receives;
}

} // namespace

void task_exchange_single_buffer(Rank &rank, const Parameters &parameters) {
    exchange_as_tasks(rank, static_cast<int>(parameters["k"]), false);
}

void task_exchange_multiple_buffer(Rank &rank, const Parameters &parameters) {
    exchange_as_tasks(rank, static_cast<int>(parameters["k"]), true);
}

void task_exchange_halving(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative) {
        mpich_choice(rank, true);
        return;
    }
    Tasks tasks(rank);
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    if (!exchange.takes_part()) {
        const Task sent = tasks.isend(exchange.sends_to, rank.input());
        tasks.irecv(exchange.sends_to, rank.output(), {sent});
        return;
    }
    const Task last = take_in(rank, tasks, exchange, false);
    const ExchangePieces pieces(exchange, rank.call.count);
    reduce_pieces(rank, tasks, exchange, pieces, last);
    const Tasks::After receives = gather_pieces(rank, tasks, exchange, pieces);
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, rank.output(), receives);
}

} // namespace offbeat::algorithms::allreduce
