#include "algorithms/folding.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::algorithms {

namespace {

/** Combines in rank order. */
Order order_towards(const Rank &rank, int peer) {
    return peer < rank.id ? Order::from_first : Order::into_first;
}

} // namespace

Folding fold(const Rank &rank, Keep keep) {
    Folding folding{.keep = keep};
    while (2 * folding.size <= rank.p)
        folding.size *= 2;
    folding.pairs = rank.p - folding.size;
    if (rank.id >= 2 * folding.pairs)
        folding.my_number = rank.id - folding.pairs;
    else
        folding.my_number = (rank.id % 2 == 1) == (keep == Keep::odd) ? rank.id / 2 : -1;
    return folding;
}

void fold_into_pairs(Rank &rank, const Folding &folding, Span result, Span incoming) {
    const int partner = folding.partner(rank.id);
    if (partner < 0)
        return;
    if (!folding.participates()) {
        rank.send(partner, result);
        return;
    }
    rank.recv(partner, incoming);
    reduce_some(rank, result, incoming, order_towards(rank, partner));
}

void fold_halves_into_pairs(Rank &rank, const Folding &folding, Span result, Span incoming) {
    if (folding.keep != Keep::even)
        throw std::logic_error("folding by halves needs Keep::even");
    const int partner = folding.partner(rank.id);
    if (partner < 0)
        return;
    const int64_t half = result.length / 2;
    const int64_t rest = result.length - half;
    if (folding.participates()) {
        rank.sendrecv(partner, result.part(half, rest), partner, incoming.part(0, half));
        reduce_some(rank, result.part(0, half), incoming.part(0, half), Order::into_first);
        rank.recv(partner, result.part(half, rest));
    } else {
        rank.sendrecv(partner, result.part(0, half), partner, incoming.part(half, rest));
        reduce_some(rank, result.part(half, rest), incoming.part(half, rest), Order::from_first);
        rank.send(partner, result.part(half, rest));
    }
}

void return_to_folded(Rank &rank, const Folding &folding, Span result) {
    const int partner = folding.partner(rank.id);
    if (partner < 0)
        return;
    if (folding.participates())
        rank.send(partner, result);
    else
        rank.recv(partner, result);
}

void exchange_by_doubling(Rank &rank, const Folding &folding, Span result, Span incoming) {
    if (!folding.participates())
        return;
    for (int distance = 1; distance < folding.size; distance *= 2) {
        const int peer = folding.rank(folding.my_number ^ distance);
        rank.sendrecv(peer, result, peer, incoming);
        reduce_some(rank, result, incoming, order_towards(rank, peer));
    }
}

std::vector<HalvingRound> halve_blocks(const Folding &folding, Distances distances,
                                       const std::function<int64_t(int64_t)> &offset) {
    std::vector<HalvingRound> rounds;
    int64_t from = 0;
    for (int half = folding.size / 2; folding.participates() && half > 0; half /= 2) {
        const int distance = distances == Distances::growing ? folding.size / (2 * half) : half;
        const int64_t start = offset(from);
        const int64_t middle = offset(from + half);
        const int64_t end = offset(from + 2 * half);
        HalvingRound round{folding.rank(folding.my_number ^ distance), start, middle - start, middle,
                           end - middle};
        if (folding.my_number & distance) {
            std::swap(round.own_offset, round.peer_offset);
            std::swap(round.own_length, round.peer_length);
            from += half;
        }
        rounds.push_back(round);
    }
    return rounds;
}

std::vector<HalvingRound> halve_elements(const Folding &folding, int64_t length) {
    std::vector<HalvingRound> rounds;
    int64_t from = 0;
    for (int distance = 1; folding.participates() && distance < folding.size; distance *= 2) {
        const int64_t lower = length / 2;
        HalvingRound round{folding.rank(folding.my_number ^ distance), from, lower, from + lower,
                           length - lower};
        if (folding.my_number & distance) {
            std::swap(round.own_offset, round.peer_offset);
            std::swap(round.own_length, round.peer_length);
        }
        from = round.own_offset;
        length = round.own_length;
        rounds.push_back(round);
    }
    return rounds;
}

void reduce_by_halves(Rank &rank, const std::vector<HalvingRound> &rounds, Span result, Span incoming,
                      bool in_order) {
    for (const HalvingRound &round : rounds) {
        rank.sendrecv(round.peer, result.part(round.peer_offset, round.peer_length), round.peer,
                      incoming.part(round.own_offset, round.own_length));
        reduce_some(rank, result.part(round.own_offset, round.own_length),
                    incoming.part(round.own_offset, round.own_length),
                    in_order ? order_towards(rank, round.peer) : Order::from_first);
    }
}

void gather_by_halves(Rank &rank, const std::vector<HalvingRound> &rounds, Span result) {
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round)
        rank.sendrecv(round->peer, result.part(round->own_offset, round->own_length), round->peer,
                      result.part(round->peer_offset, round->peer_length));
}

} // namespace offbeat::algorithms
