/** @file
 * Messages that algorithms of many collectives exchange: blocks of equal length, rings, recursive doubling,
 * meshes.
 */
#pragma once

#include "schedule/program.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace offbeat::algorithms {

/** Separate tags for the data of a collective and for the barriers inside it. */
inline constexpr int data_tag = 0;
inline constexpr int barrier_tag = 1;

/** Message without data. */
inline constexpr schedule::Span no_data{};

/** Block `i` of a buffer of blocks of `length` elements. */
inline schedule::Span block(const schedule::Span &buffer, int64_t i, int64_t length) {
    return buffer.part(i * length, length);
}

/** `blocks` consecutive blocks from block `i` on. */
inline schedule::Span blocks(const schedule::Span &buffer, int64_t i, int64_t blocks, int64_t length) {
    return buffer.part(i * length, blocks * length);
}

/** Copies and reduces unless the pieces are empty. */
inline void copy_some(schedule::Rank &rank, schedule::Span into, schedule::Span from) {
    if (into.length > 0)
        rank.copy(into, from);
}
inline void reduce_some(schedule::Rank &rank, schedule::Span into, schedule::Span from,
                        schedule::Order order = schedule::Order::from_first) {
    if (into.length > 0)
        rank.reduce(into, from, order);
}

/** True if a reduction needs no message: there are no elements, or only one rank, whose input this copies to
 * its output. */
inline bool reduces_without_messages(schedule::Rank &rank) {
    if (rank.p == 1)
        copy_some(rank, rank.output(), rank.input());
    return rank.p == 1 || rank.call.count == 0;
}

/** A sendrecv that is a local copy if both peers are the rank itself, as in Open MPI's collectives and in
 * SMPI. */
inline void exchange(schedule::Rank &rank, int to, schedule::Span data, int from, schedule::Span into,
                     int tag = data_tag) {
    if (to == rank.id && from == rank.id)
        rank.copy(into, data);
    else
        rank.sendrecv(to, data, from, into, tag);
}

/** (rank + distance) mod p, for distances of either sign. */
inline int neighbour(const schedule::Rank &rank, int64_t distance) {
    const int64_t other = rank.id + distance;
    if (other >= 0 && other < rank.p)
        return static_cast<int>(other);
    const int64_t remainder = other % rank.p;
    return static_cast<int>(remainder < 0 ? remainder + rank.p : remainder);
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
void reduce_along_ring(schedule::Rank &rank, const std::function<schedule::Span(int)> &piece,
                       const std::array<schedule::Span, 2> &incoming);

/** Recursive doubling where p is no power of two: after the exchange with the other half of 2 · `half`
 * numbers, only the first `paired` numbers of this rank's half have the other half's data. They forward it
 * along a binomial tree.
 * @param number   the number of this rank
 * @param rank_of  from numbers to ranks */
template <typename RankOf>
void forward_to_unpaired(schedule::Rank &rank, int number, RankOf rank_of, const schedule::Span &other_half,
                         int half, int paired) {
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
void exchange_blocks_by_doubling(schedule::Rank &rank, const schedule::Span &all, int64_t length);

/** Ranks as a mesh, numbered along its rows: p = rows · columns, rows <= columns. */
struct Mesh2d {
    int rows;
    int columns;
};

/** p = side · side · layers. */
struct Mesh3d {
    int side;
    int layers;
};

/** As SimGrid divides p. std::invalid_argument if it finds no mesh (p prime, for instance). */
Mesh2d mesh_2d_shape(int p);
Mesh3d mesh_3d_shape(int p);

/** The ranks first, first + stride, ...: `number` of them, without `self`. */
std::vector<int> peers_on_line(int first, int stride, int number, int self);

/** Posts a receive from each peer into `destination(peer)`, sends `data(peer)` to each peer with blocking
 * sends, then waits for the receives. */
template <typename Data, typename Destination>
void exchange_with_all(schedule::Rank &rank, const std::vector<int> &peers, Data data,
                       Destination destination) {
    std::vector<schedule::Request> receives;
    receives.reserve(peers.size());
    for (const int peer : peers)
        receives.push_back(rank.irecv(peer, destination(peer)));
    for (const int peer : peers)
        rank.send(peer, data(peer));
    rank.wait(receives);
}

} // namespace offbeat::algorithms
