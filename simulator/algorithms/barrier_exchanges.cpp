#include "algorithms/barrier.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::barrier {

using schedule::Joint;
using schedule::Rank;
using schedule::Request;

namespace {

/** The rank `places` after (or before) this one, around the circle any number of times. */
int far_around(const Rank &rank, int64_t places) {
    return around(rank, static_cast<int>(places % rank.p));
}

/** Posts `what` for all of some ranks. */
template <typename Post> std::vector<Request> for_each(const std::vector<int> &ranks, Post post) {
    std::vector<Request> requests;
    requests.reserve(ranks.size());
    for (const int other : ranks)
        requests.push_back(post(other));
    return requests;
}

} // namespace

void dissemination(Rank &rank, const Parameters & /*none*/) {
    for (int distance = 1; distance < rank.p; distance *= 2)
        rank.sendrecv(around(rank, distance), no_data, around(rank, -distance), no_data);
}

void dissemination_radix(Rank &rank, const Parameters &parameters) {
    const int64_t k = std::min<int64_t>(parameters["k"], rank.p);
    if (k <= 2)
        return dissemination(rank, parameters);
    std::vector<Request> sends;
    std::vector<Request> receives;
    std::vector<Request> receives_before;
    for (int64_t distance = 1; distance < rank.p; distance *= k) {
        sends.clear();
        receives.clear();
        for (int64_t i = 1; i < k; ++i) {
            receives.push_back(rank.irecv(far_around(rank, -i * distance), no_data));
            if (i == 1)
                rank.wait(receives_before);
            sends.push_back(rank.isend(far_around(rank, i * distance), no_data));
        }
        rank.wait(sends);
        receives_before = receives;
    }
    rank.wait(receives_before);
}

void dissemination_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t k = parameters["k"];
    const Joint start = rank.here();
    Joint ready = start; // all receives of the rounds before are complete
    std::vector<Request> receives;
    for (int64_t distance = 1; distance < rank.p; distance *= k) {
        receives.clear();
        for (int64_t i = 1; i < k; ++i) {
            rank.at(start);
            receives.push_back(rank.irecv(far_around(rank, -i * distance), no_data));
            rank.at(ready);
            rank.isend(far_around(rank, i * distance), no_data);
        }
        ready = rank.when(receives, std::span<const Joint>(&ready, 1));
    }
    rank.at(ready);
}

void recursive_doubling(Rank &rank, bool synchronous) {
    int all = 1;
    while (all * 2 <= rank.p)
        all *= 2;
    if (rank.id >= all)
        return rank.sendrecv(rank.id - all, no_data, rank.id - all, no_data);
    const bool stands_for_another = rank.id + all < rank.p;
    if (stands_for_another)
        rank.recv(rank.id + all, no_data);
    for (int distance = 1; distance < all; distance *= 2)
        rank.sendrecv(rank.id ^ distance, no_data, rank.id ^ distance, no_data);
    if (stands_for_another && synchronous)
        rank.ssend(rank.id + all, no_data);
    else if (stands_for_another)
        rank.send(rank.id + all, no_data);
}

void two_proc(Rank &rank, const Parameters & /*none*/) {
    if (rank.p != 2)
        throw std::invalid_argument("two_proc is for 2 ranks, not for " + std::to_string(rank.p));
    rank.sendrecv(1 - rank.id, no_data, 1 - rank.id, no_data);
}

void recursive_exchange(Rank &rank, const Parameters &parameters) {
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    const int together = parameters["single_phase_recv"] != 0 ? 1 : 2;
    const auto receive = [&](int from) { return rank.irecv(from, no_data); };
    const auto send = [&](int to) { return rank.isend(to, no_data); };
    if (!exchange.takes_part()) {
        rank.send(exchange.sends_to, no_data);
        rank.recv(exchange.sends_to, no_data);
        return;
    }
    rank.wait(for_each(exchange.receives_from, receive));
    for (int first = 0; first < exchange.phases; first += together) {
        const int end = std::min(first + together, exchange.phases);
        std::vector<std::vector<Request>> receives;
        for (int phase = first; phase < end; ++phase)
            receives.push_back(for_each(exchange.partners[static_cast<size_t>(phase)], receive));
        for (int phase = first; phase < end; ++phase) {
            rank.wait(for_each(exchange.partners[static_cast<size_t>(phase)], send));
            rank.wait(receives[static_cast<size_t>(phase - first)]);
        }
    }
    for_each(exchange.receives_from, send);
}

void recursive_exchange_tasks(Rank &rank, const Parameters &parameters) {
    const RecursiveExchange exchange(rank.p, rank.id, static_cast<int>(parameters["k"]));
    const Joint start = rank.here();
    const auto receive = [&](int from) { return rank.irecv(from, no_data); };
    const auto send = [&](int to) { return rank.isend(to, no_data); };
    if (!exchange.takes_part()) {
        rank.isend(exchange.sends_to, no_data);
        rank.irecv(exchange.sends_to, no_data);
        return;
    }
    std::vector<Request> receives = for_each(exchange.receives_from, receive);
    Joint ready = start;
    for (const std::vector<int> &partners : exchange.partners) {
        if (!receives.empty())
            ready = rank.when(receives, std::span<const Joint>(&ready, 1));
        rank.at(ready);
        for_each(partners, send);
        rank.at(start);
        receives = for_each(partners, receive);
    }
    if (!receives.empty())
        rank.at(rank.when(receives, std::span<const Joint>(&ready, 1)));
    for_each(exchange.receives_from, send);
}

} // namespace offbeat::algorithms::barrier
