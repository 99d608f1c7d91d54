#include "algorithms/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms {

void send_to_all(Rank &rank, const std::vector<int> &ranks, Span data, int tag) {
    std::vector<Request> sends;
    for (const int to : ranks)
        sends.push_back(rank.isend(to, data, tag));
    rank.wait(sends);
}

void report_to_rank_zero(Rank &rank) {
    if (rank.id > 0)
        return rank.send(0, no_data, barrier_tag);
    for (int other = 1; other < rank.p; ++other)
        rank.irecv(other, no_data, barrier_tag);
    rank.wait_all();
}

/** SimGrid's barrier__ompi_basic_linear.
 * Rounds: 2. Bytes: 0. */
void linear_barrier(Rank &rank) {
    report_to_rank_zero(rank);
    if (rank.id > 0)
        return rank.recv(0, no_data, barrier_tag);
    send_to_all(rank, peers_on_line(0, 1, rank.p, 0), no_data, barrier_tag);
}

void reduce_along_ring(Rank &rank, const std::function<Span(int)> &piece,
                       const std::array<Span, 2> &incoming) {
    const int right = neighbour(rank, 1);
    const int left = neighbour(rank, -1);
    const auto incoming_piece = [&](int step) { // piece r - step; the buffers alternate
        return incoming[static_cast<size_t>(step % 2)].part(0, piece(neighbour(rank, -step)).length);
    };
    Request receive = rank.irecv(left, incoming_piece(1));
    rank.send(right, piece(rank.id));
    for (int step = 1; step < rank.p; ++step) {
        Request next_receive = none;
        if (step + 1 < rank.p)
            next_receive = rank.irecv(left, incoming_piece(step + 1));
        rank.wait(receive);
        const Span own = piece(neighbour(rank, -step));
        reduce_some(rank, own, incoming_piece(step));
        if (step + 1 < rank.p)
            rank.send(right, own);
        receive = next_receive;
    }
}

void gather_blocks_along_ring(Rank &rank, Tasks &tasks, const Blocks &blocks, int first_tag) {
    const std::array<Span, 2> buffers = {rank.scratch(blocks.length(0)), rank.scratch(blocks.length(0))};
    const auto block_of_step = [&](int step) { return blocks.block(rank.output(), neighbour(rank, -step)); };
    const auto buffer = [&](int step) {
        return buffers[static_cast<size_t>(step % 2)].part(0, block_of_step(step).length);
    };
    Tasks::After send_after = {tasks.copy(buffer(0), block_of_step(0))};
    Tasks::After receive_after;
    Tasks::After copied; // in the previous step
    for (int step = 0; step < rank.p - 1; ++step) {
        const auto sent = tasks.isend(neighbour(rank, 1), buffer(step), send_after, first_tag + step);
        const auto received =
            tasks.irecv(neighbour(rank, -1), buffer(step + 1), receive_after, first_tag + step);
        send_after = {received, sent};
        receive_after = copied;
        receive_after.insert(receive_after.end(), {sent, received});
        copied = {tasks.copy(block_of_step(step + 1), buffer(step + 1), {received})};
    }
}

void exchange_blocks_by_doubling(Rank &rank, const Span &all, int64_t length) {
    const auto half_at = [&](int first, int half) {
        return blocks(all, first, std::min(half, rank.p - first), length);
    };
    for (int half = 1; half < rank.p; half *= 2) {
        const int own = rank.id & ~(half - 1);
        const int other = own ^ half;
        if (other >= rank.p)
            continue;
        const int partner = rank.id ^ half;
        if (partner < rank.p)
            rank.sendrecv(partner, half_at(own, half), partner, half_at(other, half));
        if (other + half > rank.p)
            forward_to_unpaired(
                rank, rank.id, [](int number) { return number; }, half_at(other, half), half, rank.p - other);
    }
}

Mesh mesh_2d_shape(int p) {
    for (int factor = static_cast<int>(std::sqrt(p)); factor <= p / 2; ++factor)
        if (p % factor == 0)
            return {std::max(factor, p / factor), std::min(factor, p / factor), 1};
    throw std::invalid_argument(
        std::to_string(p) + " ranks make no two-dimensional mesh: the number has no two suitable factors");
}

Mesh mesh_3d_shape(int p) {
    for (int side = static_cast<int>(std::cbrt(p)); side <= p / 3; ++side)
        if (p % (side * side) == 0)
            return {side, side, p / (side * side)};
    throw std::invalid_argument(std::to_string(p) + " ranks make no three-dimensional mesh: p needs a square "
                                                    "factor whose root is at least p's cube root");
}

std::vector<int> peers_on_line(int first, int stride, int number, int self) {
    std::vector<int> others;
    for (int i = 0; i < number; ++i)
        if (first + i * stride != self)
            others.push_back(first + i * stride);
    return others;
}

} // namespace offbeat::algorithms
