#include "algorithms/allreduce.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <vector>

namespace offbeat::algorithms::allreduce {

namespace {

std::vector<Span> scratch_buffers(Rank &rank, int buffers) {
    std::vector<Span> list;
    for (int i = 0; i < buffers; ++i)
        list.push_back(rank.scratch(rank.call.count));
    return list;
}

/** Reduces what was received from some ranks (ascending) in rank order. */
void combine(Rank &rank, const std::vector<int> &from, std::span<const Span> received) {
    size_t own_position = 0;
    while (own_position < from.size() && from[own_position] < rank.id)
        ++own_position;
    for (size_t i = own_position; i-- > 0;)
        reduce_some(rank, rank.output(), received[i], Order::from_first);
    for (size_t i = own_position; i < from.size(); ++i)
        reduce_some(rank, rank.output(), received[i], Order::into_first);
}

/** Sends to all partners of a phase, waits for these sends, then for the receives. */
void exchange_phase(Rank &rank, const std::vector<int> &partners, std::span<const Request> receives,
                    std::span<const Span> received) {
    send_to_all(rank, partners, rank.output());
    rank.wait(receives);
    combine(rank, partners, received);
}

} // namespace

/** MPICH's MPIR_Allreduce_intra_recexch.
 * Rounds: log(p, k). Bytes: m * (k - 1) * log(p, k). Other p: two rounds more. */
void recursive_exchange(Rank &rank, const Parameters &parameters) {
    copy_input_to_output(rank);
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    if (!exchange.participates()) {
        rank.send(exchange.sends_to, rank.output());
        rank.recv(exchange.sends_to, rank.output());
        return;
    }
    const int phases_at_once = parameters["single_phase_recv"] != 0 ? 1 : 2;
    const auto others = static_cast<size_t>(exchange.k - 1);
    const std::vector<Span> buffers = scratch_buffers(rank, phases_at_once * (exchange.k - 1));
    std::vector<Request> receives;
    for (size_t i = 0; i < exchange.receives_from.size(); ++i)
        receives.push_back(rank.irecv(exchange.receives_from[i], buffers[i]));
    rank.wait(receives);
    for (size_t i = 0; i < exchange.receives_from.size(); ++i)
        reduce_some(rank, rank.output(), buffers[i]);
    for (int first = 0; first < exchange.phases; first += phases_at_once) {
        const int end = std::min(first + phases_at_once, exchange.phases);
        receives.clear();
        for (int phase = first; phase < end; ++phase)
            for (const int peer : exchange.partners[static_cast<size_t>(phase)])
                receives.push_back(rank.irecv(peer, buffers[receives.size()]));
        for (int phase = first; phase < end; ++phase) {
            const size_t from = static_cast<size_t>(phase - first) * others;
            exchange_phase(rank, exchange.partners[static_cast<size_t>(phase)],
                           std::span(receives).subspan(from, others),
                           std::span(buffers).subspan(from, others));
        }
    }
    send_to_all(rank, exchange.receives_from, rank.output());
}

/** MPICH's MPIR_Allreduce_intra_recursive_multiplying.
 * Rounds: log(p, k). Bytes: m * (k - 1) * log(p, k). Other p: two rounds more. */
void recursive_multiplying(Rank &rank, const Parameters &parameters) {
    const auto k = parameters["k"];
    int participants = 1;
    while (static_cast<int64_t>(participants) * k <= rank.p)
        participants *= k;
    if (participants < rank.p && !rank.call.commutative)
        return mpich_choice(rank, false);
    copy_input_to_output(rank);
    if (rank.id >= participants) {
        rank.send(rank.id % participants, rank.output());
        rank.recv(rank.id % participants, rank.output());
        return;
    }
    const std::vector<Span> buffers = scratch_buffers(rank, k - 1);
    std::vector<int> outside;
    std::vector<Request> requests;
    for (int other = rank.id + participants; other < rank.p; other += participants) {
        requests.push_back(rank.irecv(other, buffers[outside.size()]));
        outside.push_back(other);
    }
    rank.wait(requests);
    combine(rank, outside, buffers);
    for (int distance = 1; distance < participants; distance *= k) {
        std::vector<int> others;
        requests.clear();
        const int first = rank.id - rank.id / distance % k * distance;
        for (int other = first; other < first + k * distance; other += distance) {
            if (other == rank.id)
                continue;
            requests.push_back(rank.isend(other, rank.output()));
            requests.push_back(rank.irecv(other, buffers[others.size()]));
            others.push_back(other);
        }
        rank.wait(requests);
        combine(rank, others, buffers);
    }
    send_to_all(rank, outside, rank.output());
}

namespace {

/** A reduce-scatter with the nearest partners first, one after the other. */
void reduce_pieces(Rank &rank, const RecursiveExchange &exchange, const ExchangePieces &pieces,
                   Span incoming) {
    for (int phase = 0; phase < exchange.phases; ++phase) {
        const int digits = exchange.phases - 1 - phase;
        for (const int peer : exchange.partners[static_cast<size_t>(phase)]) {
            rank.sendrecv(peer, pieces.of(rank.output(), peer, digits), peer,
                          pieces.of(incoming, rank.id, digits));
            reduce_some(rank, pieces.of(rank.output(), rank.id, digits),
                        pieces.of(incoming, rank.id, digits));
        }
    }
}

/** An allgather with the farthest partners first, all partners of a phase at once. */
void gather_pieces(Rank &rank, const RecursiveExchange &exchange, const ExchangePieces &pieces,
                   int phases_at_once) {
    const auto partners = [&](int digits) -> const std::vector<int> & {
        return exchange.partners[static_cast<size_t>(exchange.phases - 1 - digits)];
    };
    const auto others = static_cast<size_t>(exchange.k - 1);
    for (int first = 0; first < exchange.phases; first += phases_at_once) {
        const int end = std::min(first + phases_at_once, exchange.phases);
        std::vector<Request> receives;
        std::vector<Request> sends;
        for (int digits = first; digits < end; ++digits)
            for (const int peer : partners(digits))
                receives.push_back(rank.irecv(peer, pieces.of(rank.output(), peer, digits)));
        for (int digits = first; digits < end; ++digits) {
            for (const int peer : partners(digits))
                sends.push_back(rank.isend(peer, pieces.of(rank.output(), rank.id, digits)));
            rank.wait(std::span(receives).subspan(static_cast<size_t>(digits - first) * others, others));
        }
        rank.wait(sends);
    }
}

} // namespace

/** MPICH's MPIR_Allreduce_intra_k_reduce_scatter_allgather.
 * Rounds: 2 * (k - 1) * log(p, k). Bytes: 2 * m * (p - 1) / p. */
void exchange_halving(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative)
        return mpich_choice(rank, false);
    copy_input_to_output(rank);
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    if (!exchange.participates()) {
        rank.send(exchange.sends_to, rank.output());
        rank.recv(exchange.sends_to, rank.output());
        return;
    }
    const Span incoming = rank.scratch(rank.call.count);
    for (const int peer : exchange.receives_from) {
        rank.recv(peer, incoming);
        reduce_some(rank, rank.output(), incoming);
    }
    const ExchangePieces pieces(exchange, rank.call.count);
    reduce_pieces(rank, exchange, pieces, incoming);
    gather_pieces(rank, exchange, pieces, parameters["single_phase_recv"] != 0 ? 1 : 2);
    send_to_all(rank, exchange.receives_from, rank.output());
}

namespace {

using Task = Tasks::Task;

/** Reduces the inputs of nonparticipants into the output; returns the last task. Reductions follow each
 * other, here and below: MPICH runs reductions into one buffer in order of arrival if the operation commutes,
 * which takes as long.
 * @param own_buffers  a buffer for each message: receives do not wait for each other */
Task reduce_from_nonparticipants(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange,
                                 bool own_buffers) {
    Task last = tasks.copy(rank.output(), rank.input());
    Span buffer;
    for (size_t i = 0; i < exchange.receives_from.size(); ++i) {
        if (own_buffers || i == 0)
            buffer = rank.scratch(rank.call.count);
        const bool independent = own_buffers || i == 0;
        const Task received =
            tasks.irecv(exchange.receives_from[i], buffer, independent ? Tasks::After{} : Tasks::After{last});
        last = tasks.reduce(rank.output(), buffer, Order::from_first, {last, received});
    }
    return last;
}

/** The partners of a phase in the order in which their values are reduced. For operations that do not
 * commute: lower ranks in descending order, then higher ranks in ascending order. */
std::vector<int> in_reduction_order(const Rank &rank, const std::vector<int> &ascending) {
    if (rank.call.commutative)
        return ascending;
    std::vector<int> list;
    const auto higher = std::upper_bound(ascending.begin(), ascending.end(), rank.id);
    list.assign(std::make_reverse_iterator(higher), ascending.rend());
    list.insert(list.end(), higher, ascending.end());
    return list;
}

} // namespace

/** MPICH's MPIR_TSP_Iallreduce_sched_intra_recexch. With one buffer, the receives of a phase follow each
 * other.
 * Rounds: log(p, k) or (k - 1) * log(p, k). Bytes: m * (k - 1) * log(p, k). Other p: two rounds more. */
void exchange_as_tasks(Rank &rank, const Parameters &parameters, bool own_buffers) {
    Tasks tasks(rank);
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    if (!exchange.participates()) {
        tasks.isend(exchange.sends_to, rank.input());
        tasks.irecv(exchange.sends_to, rank.output());
        return;
    }
    Task last = reduce_from_nonparticipants(rank, tasks, exchange, own_buffers);
    const Span outgoing = rank.scratch(rank.call.count);
    Span incoming = rank.scratch(rank.call.count);
    Tasks::After sent;
    Tasks::After buffer_free;
    for (const auto &partners : exchange.partners) {
        Tasks::After before = sent;
        before.push_back(last);
        last = tasks.copy(outgoing, rank.output(), before);
        sent = {tasks.imcast(partners, outgoing, {last})};
        for (const int peer : in_reduction_order(rank, partners)) {
            if (own_buffers)
                incoming = rank.scratch(rank.call.count);
            const Task received = tasks.irecv(peer, incoming, own_buffers ? Tasks::After{} : buffer_free);
            const bool from_front = rank.call.commutative || peer < rank.id;
            last = tasks.reduce(rank.output(), incoming, from_front ? Order::from_first : Order::into_first,
                                {last, received});
            buffer_free = {last};
        }
    }
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, rank.output(), {last});
}

namespace {

/** A reduce-scatter with the nearest partners first, one after the other. */
void reduce_pieces(Rank &rank, Tasks &tasks, const RecursiveExchange &exchange, const ExchangePieces &pieces,
                   Task last) {
    const Span incoming = rank.scratch(rank.call.count);
    for (int phase = 0; phase < exchange.phases; ++phase) {
        const int digits = exchange.phases - 1 - phase;
        for (const int peer : exchange.partners[static_cast<size_t>(phase)]) {
            const Span own = pieces.of(incoming, rank.id, digits);
            const Task sent = tasks.isend(peer, pieces.of(rank.output(), peer, digits), {last});
            const Task received = tasks.irecv(peer, own, {last});
            last = tasks.reduce(pieces.of(rank.output(), rank.id, digits), own, Order::from_first,
                                {sent, received});
        }
    }
    tasks.fence();
}

/** An allgather with the farthest partners first; all receives start at once. Returns the receives. */
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

/** MPICH's MPIR_TSP_Iallreduce_sched_intra_recexch_reduce_scatter_recexch_allgatherv.
 * Rounds: 2 * (k - 1) * log(p, k). Bytes: 2 * m * (p - 1) / p. */
void task_exchange_halving(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative)
        return mpich_choice(rank, true);
    Tasks tasks(rank);
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    if (!exchange.participates()) {
        const Task sent = tasks.isend(exchange.sends_to, rank.input());
        tasks.irecv(exchange.sends_to, rank.output(), {sent});
        return;
    }
    const Task last = reduce_from_nonparticipants(rank, tasks, exchange, false);
    const ExchangePieces pieces(exchange, rank.call.count);
    reduce_pieces(rank, tasks, exchange, pieces, last);
    const Tasks::After receives = gather_pieces(rank, tasks, exchange, pieces);
    for (const int peer : exchange.receives_from)
        tasks.isend(peer, rank.output(), receives);
}

} // namespace offbeat::algorithms::allreduce
