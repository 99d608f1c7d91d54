#include "algorithms/alltoall.hpp"
#include "algorithms/exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::alltoall {

using schedule::Rank;
using schedule::Request;

namespace {

/** Own block included, as a message: `together` receives, as many sends, and a wait for all of them. */
void scattered_in_blocks(Rank &rank, int together) {
    const int64_t n = rank.call.count;
    for (int first = 0; first < rank.p; first += together) {
        const int end = std::min(first + together, rank.p);
        for (int step = first; step < end; ++step) {
            const int from = around(rank, step);
            rank.irecv(from, block(rank.output(), from, n));
        }
        for (int step = first; step < end; ++step) {
            const int to = around(rank, -step);
            rank.isend(to, block(rank.input(), to, n));
        }
        rank.wait_all();
    }
}

} // namespace

void linear(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    for (int step = 1; step < rank.p; ++step) {
        const int from = around(rank, step);
        rank.irecv(from, block(rank.output(), from, n));
    }
    for (int step = 1; step < rank.p; ++step) {
        const int to = around(rank, -step);
        rank.isend(to, block(rank.input(), to, n));
    }
}

void linear_sync(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int others = rank.p - 1;
    const int64_t limit = parameters["requests"];
    const int together = limit == 0 || limit > others ? others : static_cast<int>(limit);
    if (together == others)
        return linear(rank, parameters);
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    const schedule::CompletionQueue receives = rank.completion_queue();
    const schedule::CompletionQueue sends = rank.completion_queue();
    const auto receive = [&](int step) {
        const int from = around(rank, step);
        rank.tell(receives, rank.irecv(from, block(rank.output(), from, n)));
    };
    const auto send = [&](int step) {
        const int to = around(rank, -step);
        rank.tell(sends, rank.isend(to, block(rank.input(), to, n)));
    };
    for (int step = 1; step <= together; ++step)
        receive(step);
    for (int step = 1; step <= together; ++step)
        send(step);
    const schedule::Joint start = rank.here();
    for (int step = together + 1; step <= together + others; ++step) {
        rank.pop(receives);
        if (step <= others)
            receive(step);
    }
    rank.at(start);
    for (int step = together + 1; step <= together + others; ++step) {
        rank.pop(sends);
        if (step <= others)
            send(step);
    }
}

void two_proc(Rank &rank, const Parameters & /*none*/) {
    if (rank.p != 2)
        throw std::invalid_argument("two_proc is for 2 ranks, not for " + std::to_string(rank.p));
    const int64_t n = rank.call.count;
    const int other = 1 - rank.id;
    rank.sendrecv(other, block(rank.input(), other, n), other, block(rank.output(), other, n));
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
}

void scattered(Rank &rank, const Parameters &parameters) {
    const int64_t throttle = parameters["throttle"];
    scattered_in_blocks(rank, throttle == 0 ? rank.p : static_cast<int>(std::min<int64_t>(throttle, rank.p)));
}

void scattered_by_four(Rank &rank, const Parameters & /*none*/) {
    scattered_in_blocks(rank, 4);
}

void scattered_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int window = static_cast<int>(std::min<int64_t>(parameters["outstanding_tasks"], rank.p));
    const int batch = static_cast<int>(std::min<int64_t>(parameters["batch_size"], rank.p));
    std::vector<Request> receives(static_cast<size_t>(window));
    std::vector<Request> sends(static_cast<size_t>(window));
    const auto post = [&](int step) {
        const int from = around(rank, step);
        const int to = around(rank, -step);
        receives[static_cast<size_t>(step % window)] = rank.irecv(from, block(rank.output(), from, n));
        sends[static_cast<size_t>(step % window)] = rank.isend(to, block(rank.input(), to, n));
    };
    for (int step = 0; step < window; ++step)
        post(step);
    std::vector<Request> before;
    for (int first = window; first < rank.p; first += batch) {
        const int end = std::min(first + batch, rank.p);
        before.clear();
        for (int step = first; step < std::min(end, first + window); ++step) {
            before.push_back(receives[static_cast<size_t>(step % window)]);
            before.push_back(sends[static_cast<size_t>(step % window)]);
        }
        rank.at(rank.when(before, {}));
        for (int step = first; step < end; ++step)
            post(step);
    }
}

} // namespace offbeat::algorithms::alltoall
