#include "algorithms/allreduce.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/recursive_exchange_pieces.hpp"

#include <algorithm>
#include <vector>

namespace offbeat::algorithms::allreduce {

using namespace schedule;

namespace {

std::vector<Span> scratch_buffers(Rank &rank, int buffers) {
    std::vector<Span> list;
    for (int i = 0; i < buffers; ++i)
        list.push_back(rank.scratch(rank.call.count));
    return list;
}

/** Adds what came from some ranks, ascending, in the order of the ranks. */
void combine(Rank &rank, const std::vector<int> &from, std::span<const Span> received) {
    size_t mine = 0;
    while (mine < from.size() && from[mine] < rank.id)
        ++mine;
    for (size_t i = mine; i-- > 0;)
        reduce_some(rank, rank.output(), received[i], Order::from_first);
    for (size_t i = mine; i < from.size(); ++i)
        reduce_some(rank, rank.output(), received[i], Order::into_first);
}

/** The result to several ranks at once. */
void send_result(Rank &rank, const std::vector<int> &to) {
    std::vector<Request> sends;
    for (const int peer : to)
        sends.push_back(rank.isend(peer, rank.output()));
    rank.wait(sends);
}

/** Sends to all partners of a phase and waits for these sends, then for what they send. */
void exchange_phase(Rank &rank, const std::vector<int> &partners, std::span<const Request> receives,
                    std::span<const Span> received) {
    send_result(rank, partners);
    rank.wait(receives);
    combine(rank, partners, received);
}

} // namespace

void recursive_exchange(Rank &rank, const Parameters &parameters) {
    copy_in(rank);
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    if (!exchange.takes_part()) {
        rank.send(exchange.sends_to, rank.output());
        rank.recv(exchange.sends_to, rank.output());
        return;
    }
    const int ahead = parameters["single_phase_recv"] != 0 ? 1 : 2;
    const auto others = static_cast<size_t>(exchange.k - 1);
    const std::vector<Span> buffers = scratch_buffers(rank, ahead * (exchange.k - 1));
    std::vector<Request> receives;
    for (size_t i = 0; i < exchange.receives_from.size(); ++i)
        receives.push_back(rank.irecv(exchange.receives_from[i], buffers[i]));
    rank.wait(receives);
    for (size_t i = 0; i < exchange.receives_from.size(); ++i)
        reduce_some(rank, rank.output(), buffers[i]);
    for (int first = 0; first < exchange.phases; first += ahead) {
        const int end = std::min(first + ahead, exchange.phases);
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
    send_result(rank, exchange.receives_from);
}

void recursive_multiplying(Rank &rank, const Parameters &parameters) {
    const auto k = static_cast<int>(parameters["k"]);
    int inside = 1;
    while (static_cast<int64_t>(inside) * k <= rank.p)
        inside *= k;
    if (inside < rank.p && !rank.call.commutative) {
        mpich_choice(rank, false);
        return;
    }
    copy_in(rank);
    if (rank.id >= inside) {
        rank.send(rank.id % inside, rank.output());
        rank.recv(rank.id % inside, rank.output());
        return;
    }
    const std::vector<Span> buffers = scratch_buffers(rank, k - 1);
    std::vector<int> outside;
    std::vector<Request> requests;
    for (int other = rank.id + inside; other < rank.p; other += inside) {
        requests.push_back(rank.irecv(other, buffers[outside.size()]));
        outside.push_back(other);
    }
    rank.wait(requests);
    combine(rank, outside, buffers);
    for (int distance = 1; distance < inside; distance *= k) {
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
    send_result(rank, outside);
}

namespace {

/** Nearest partners first, one after the other. */
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

/** Farthest partners first, all of a phase at once; receives are posted `ahead` phases at a time. */
void gather_pieces(Rank &rank, const RecursiveExchange &exchange, const ExchangePieces &pieces, int ahead) {
    const auto partners = [&](int digits) -> const std::vector<int> & {
        return exchange.partners[static_cast<size_t>(exchange.phases - 1 - digits)];
    };
    const auto others = static_cast<size_t>(exchange.k - 1);
    for (int first = 0; first < exchange.phases; first += ahead) {
        const int end = std::min(first + ahead, exchange.phases);
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

void exchange_halving(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative) {
        mpich_choice(rank, false);
        return;
    }
    copy_in(rank);
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    if (!exchange.takes_part()) {
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
    send_result(rank, exchange.receives_from);
}

} // namespace offbeat::algorithms::allreduce
