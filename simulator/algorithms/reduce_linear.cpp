#include "algorithms/reduce.hpp"
#include "algorithms/segments.hpp"

#include <algorithm>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

bool nothing_to_combine(Rank &rank) {
    if (rank.p == 1 && rank.call.count > 0)
        rank.copy(rank.output(), rank.input());
    return rank.p == 1 || rank.call.count == 0;
}

Span accumulator(Rank &rank) {
    return rank.id == rank.call.root ? rank.output() : rank.scratch(rank.call.count);
}

void linear(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    if (rank.id != rank.call.root) {
        rank.send(rank.call.root, rank.input());
        return;
    }
    const Span received = rank.scratch(rank.call.count);
    if (rank.id == rank.p - 1)
        rank.copy(rank.output(), rank.input());
    else
        rank.recv(rank.p - 1, rank.output());
    for (int from = rank.p - 2; from >= 0; --from) {
        if (from != rank.id)
            rank.recv(from, received);
        rank.reduce(rank.output(), from == rank.id ? rank.input() : received, Order::from_first);
    }
}

namespace {

/** linear_at_once() for a part of the buffers. */
void straight_to_root(Rank &rank, Span input, Span output) {
    if (rank.id != rank.call.root) {
        rank.send(rank.call.root, input);
        return;
    }
    rank.copy(output, input);
    std::vector<Span> received;
    std::vector<Request> requests;
    for (int from = 0; from < rank.p; ++from) {
        if (from == rank.id)
            continue;
        received.push_back(rank.scratch(input.length));
        requests.push_back(rank.irecv(from, received.back()));
    }
    rank.wait(requests);
    for (const Span &piece : received)
        rank.reduce(output, piece, Order::from_first);
}

} // namespace

void linear_at_once(Rank &rank, const Parameters &none) {
    if (!rank.call.commutative)
        linear(rank, none);
    else if (!nothing_to_combine(rank))
        straight_to_root(rank, rank.input(), rank.output());
}

void ring(Rank &rank, const Parameters &parameters) {
    if (nothing_to_combine(rank))
        return;
    const int from = (rank.id + 1) % rank.p;
    const int to = (rank.id - 1 + rank.p) % rank.p;
    const bool is_root = rank.id == rank.call.root;
    const bool is_start = from == rank.call.root;
    const int64_t length = std::min(rank.call.count, elements_within(rank.call, parameters["segment"]));
    const int64_t rest = rank.call.count % length;
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    const Segments segments(result.part(0, rank.call.count - rest), length);
    std::vector<Span> received;
    std::vector<Request> arriving;
    for (int i = 0; !is_start && i < segments.count(); ++i) {
        received.push_back(rank.scratch(length));
        arriving.push_back(rank.irecv(from, received.back(), i));
    }
    for (int i = 0; i < segments.count(); ++i) {
        if (!is_start) {
            rank.wait(arriving[static_cast<size_t>(i)]);
            rank.reduce(segments[i], received[static_cast<size_t>(i)], Order::from_first);
        }
        if (!is_root)
            rank.isend(to, segments[i], i);
    }
    rank.wait_all();
    if (rest > 0) {
        const int64_t done = rank.call.count - rest;
        straight_to_root(rank, rank.input().part(done, rest), result.part(done, rest));
    }
}

} // namespace offbeat::algorithms::reduce
