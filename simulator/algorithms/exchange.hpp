/** @file
 * Messages that algorithms of many collectives exchange: blocks of equal length, rings, recursive doubling,
 * meshes.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "algorithms/tasks.hpp"
#include "schedule/program.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace offbeat::algorithms {

/** Separate tags for the data of a collective and for the barriers inside it. */
inline constexpr int data_tag = 0;
inline constexpr int barrier_tag = 1;

/** Message without data. */
inline constexpr Span no_data{};

/** Block `i` of a buffer of blocks of `length` elements. */
inline Span block(const Span &buffer, int64_t i, int64_t length) {
    return buffer.part(i * length, length);
}

/** `blocks` consecutive blocks from block `i` on. */
inline Span blocks(const Span &buffer, int64_t i, int64_t blocks, int64_t length) {
    return buffer.part(i * length, blocks * length);
}

/** Copies and reduces unless the pieces are empty. */
inline void copy_some(Rank &rank, Span into, Span from) {
    if (into.length > 0)
        rank.copy(into, from);
}
inline void reduce_some(Rank &rank, Span into, Span from, Order order = Order::from_first) {
    if (into.length > 0)
        rank.reduce(into, from, order);
}

/** A message from one rank to another one; none if they are the same rank. */
inline void transfer(Rank &rank, int from, Span data, int to, Span into, int tag = data_tag) {
    if (rank.id == from && from != to)
        rank.send(to, data, tag);
    else if (rank.id == to && from != to)
        rank.recv(from, into, tag);
}

/** Sends to several ranks at once, and waits for these sends. */
void send_to_all(Rank &rank, const std::vector<int> &ranks, Span data, int tag = data_tag);

/** All ranks send to rank 0, which receives at once: the first half of a barrier. */
void report_to_rank_zero(Rank &rank);
/** SMPI's default barrier: then rank 0 sends to all ranks at once. */
void linear_barrier(Rank &rank);

/** A sendrecv that is a local copy if both peers are the rank itself, as in Open MPI's collectives and in
 * SMPI. */
inline void exchange(Rank &rank, int to, Span data, int from, Span into, int tag = data_tag) {
    if (to == rank.id && from == rank.id)
        rank.copy(into, data);
    else
        rank.sendrecv(to, data, from, into, tag);
}

/** (rank + distance) mod p, for distances of either sign. */
inline int neighbour(const Rank &rank, int64_t distance) {
    const int64_t other = rank.id + distance;
    if (other >= 0 && other < rank.p)
        return static_cast<int>(other);
    const int64_t remainder = other % rank.p;
    return static_cast<int>(remainder < 0 ? remainder + rank.p : remainder);
}

inline void require_two_ranks(const Rank &rank) {
    if (rank.p != 2)
        throw std::invalid_argument("two_proc is for 2 ranks, not for " + std::to_string(rank.p));
}

inline bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/** `number` with its log2(size) lowest bits in reverse order; `size` is rounded up to a power of two. */
inline int reversed_bits(int number, int size) {
    int reversed = 0;
    for (int bit = 1; bit < size; bit *= 2, number /= 2)
        reversed = 2 * reversed + number % 2;
    return reversed;
}

/** Open MPI's ring reduction: rank r sends piece r, then forwards each received piece after adding its own
 * values; at the end it has the result of piece r + 1. The receive of the next piece is posted before the
 * wait for this one.
 * @param piece     the location of piece 0 ... p - 1
 * @param incoming  buffers as long as the longest piece */
void reduce_along_ring(Rank &rank, const std::function<Span(int)> &piece,
                       const std::array<Span, 2> &incoming);

/** A task graph that sends `data` around the ring with two buffers in turn.
 * @param keep  called with each source and the buffer that has its data: copies them elsewhere */
template <typename Keep> void pass_around_ring(Rank &rank, const Span &data, Keep keep) {
    Span sending = rank.scratch(data.length);
    Span receiving = rank.scratch(data.length);
    rank.copy(sending, data);
    Vertex copied = rank.current_vertex(); // the data have left the buffer that the next receive overwrites
    for (int step = 1; step < rank.p; ++step) {
        const Request sent = rank.isend(neighbour(rank, 1), sending);
        const Request received = rank.irecv(neighbour(rank, -1), receiving);
        const Vertex both = rank.vertex_after({sent, received}, {copied});
        copied = rank.vertex_after({received});
        rank.continue_at(copied);
        keep(neighbour(rank, -step), receiving);
        rank.continue_at(both);
        std::swap(sending, receiving);
    }
}

/** MPICH's allgather of blocks in place along the ring as a task graph with two alternating buffers: a step
 * starts when both messages of the previous step are complete and the block that it overwrites was copied.
 * @param first_tag  of the messages of the first step; each step has a tag of its own */
void gather_blocks_along_ring(Rank &rank, Tasks &tasks, const Blocks &blocks, int first_tag);

/** Recursive doubling where p is no power of two: after the exchange with the other half of 2 · `half`
 * numbers, only the first `paired` numbers of this rank's half have the other half's data. They forward it
 * along a binomial tree.
 * @param number   the number of this rank
 * @param rank_of  from numbers to ranks */
template <typename RankOf>
void forward_to_unpaired(Rank &rank, int number, RankOf rank_of, const Span &other_half, int half,
                         int paired) {
    for (int distance = half / 2; distance > 0; distance /= 2) {
        const int peer = number ^ distance;
        const int first_without = (number & ~(2 * distance - 1)) + paired;
        if (number < first_without && peer >= first_without)
            rank.send(rank_of(peer), other_half);
        else if (peer < first_without && number >= first_without)
            rank.recv(rank_of(peer), other_half);
    }
}

/** Recursive doubling for any p: each rank starts with block `id` of `all` (p blocks of `length` elements)
 * and ends with all blocks. In round k, ranks whose numbers differ in bit k exchange the blocks that they
 * have. */
void exchange_blocks_by_doubling(Rank &rank, const Span &all, int64_t length);

/** Ranks as a mesh, numbered along its rows: p = columns · rows · layers. */
struct Mesh {
    int columns;
    int rows; /**< of a layer */
    int layers;
};

/** As SimGrid divides p: two dimensions with rows <= columns, or three with rows = columns.
 * std::invalid_argument if it finds no mesh (p prime, for instance). */
Mesh mesh_2d_shape(int p);
Mesh mesh_3d_shape(int p);

/** The ranks first, first + stride, ...: `number` of them, without `self`. */
std::vector<int> peers_on_line(int first, int stride, int number, int self);

/** Posts a receive from each peer into `destination(peer)`, sends `data(peer)` to each peer with blocking
 * sends, then waits for the receives. */
template <typename Data, typename Destination>
void exchange_with_all(Rank &rank, const std::vector<int> &peers, Data data, Destination destination) {
    std::vector<Request> receives;
    receives.reserve(peers.size());
    for (const int peer : peers)
        receives.push_back(rank.irecv(peer, destination(peer)));
    for (const int peer : peers)
        rank.send(peer, data(peer));
    rank.wait(receives);
}

} // namespace offbeat::algorithms
