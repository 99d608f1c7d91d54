#include "algorithms/alltoall.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/mesh.hpp"
#include "algorithms/recursive_doubling.hpp"

#include <utility>

namespace offbeat::algorithms::alltoall {

using schedule::Rank;
using schedule::Span;

namespace {

/** Copies the block for one receiver out of each of some ranks' whole inputs. */
template <typename InputOf>
Span take_blocks_for(Rank &rank, int receiver, const Span &into, int ranks, InputOf input_of) {
    const int64_t n = rank.call.count;
    for (int i = 0; i < ranks; ++i)
        copy_some(rank, block(into, i, n), block(input_of(i), receiver, n));
    return into;
}

} // namespace

void mesh_2d(Rank &rank, const Parameters & /*none*/) {
    const auto [rows, columns] = mesh_2d_of(rank.p);
    const int64_t n = rank.call.count;
    const int row = rank.id / columns * columns; // its first rank
    const int column = rank.id % columns;
    const Span mine = rank.input();
    const Span inputs = rank.scratch(columns * rank.p * n); // those of my row
    const Span packed = rank.scratch(columns * n);
    const auto input_of = [&](int i) { return i == column ? mine : block(inputs, i, rank.p * n); };
    const auto output_of = [&](int peer) { return blocks(rank.output(), peer - peer % columns, columns, n); };

    exchange_with_all(
        rank, others_on_line(row, 1, columns, rank.id), [&](int /*peer*/) { return mine; },
        [&](int peer) { return input_of(peer % columns); });
    take_blocks_for(rank, rank.id, output_of(rank.id), columns, input_of);
    exchange_with_all(
        rank, others_on_line(column, columns, rows, rank.id),
        [&](int peer) { return take_blocks_for(rank, peer, packed, columns, input_of); }, output_of);
}

void mesh_3d(Rank &rank, const Parameters & /*none*/) {
    const auto [side, layers] = mesh_3d_of(rank.p);
    const int64_t n = rank.call.count;
    const int64_t whole = rank.p * n;
    const int layer_size = side * side;
    const int layer = rank.id / layer_size * layer_size; // its first rank
    const int place = rank.id % layer_size;
    const Span inputs = rank.scratch(layer_size * whole); // those of my layer
    const Span packed = rank.scratch(layer_size * n);
    const auto input_of = [&](int i) { return block(inputs, i, whole); };
    const auto row_of = [&](int i) { return blocks(inputs, i - i % side, side, whole); };
    const auto output_of = [&](int peer) {
        return blocks(rank.output(), peer - peer % layer_size, layer_size, n);
    };
    copy_some(rank, input_of(place), rank.input());
    exchange_with_all(
        rank, others_on_line(rank.id - rank.id % side, 1, side, rank.id),
        [&](int /*peer*/) { return rank.input(); }, [&](int peer) { return input_of(peer % layer_size); });
    exchange_with_all(
        rank, others_on_line(layer + rank.id % side, side, side, rank.id),
        [&](int /*peer*/) { return row_of(place); }, [&](int peer) { return row_of(peer % layer_size); });
    take_blocks_for(rank, rank.id, output_of(rank.id), layer_size, input_of);
    std::vector<int> same_place;
    for (int i = 1; i < layers; ++i)
        same_place.push_back((rank.id + i * layer_size) % rank.p);
    exchange_with_all(
        rank, same_place, [&](int peer) { return take_blocks_for(rank, peer, packed, layer_size, input_of); },
        output_of);
}

void whole_inputs_around_ring(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    const int next = around(rank, 1);
    const int previous = around(rank, -1);
    Span sending = rank.scratch(rank.p * n);
    Span receiving = rank.scratch(rank.p * n);
    rank.copy(sending, rank.input());
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    schedule::Joint taken =
        rank.here(); // the block was copied out of the buffer into which the next receive goes
    for (int step = 1; step < rank.p; ++step) {
        const schedule::Request sent = rank.isend(next, sending);
        const schedule::Request received = rank.irecv(previous, receiving);
        const schedule::Joint both = rank.when({sent, received}, {taken});
        taken = rank.when({received});
        rank.at(taken);
        rank.copy(block(rank.output(), around(rank, -step), n), block(receiving, rank.id, n));
        rank.at(both);
        std::swap(sending, receiving);
    }
}

void recursive_doubling(Rank &rank, const Parameters & /*none*/) {
    const int64_t whole = rank.p * rank.call.count;
    const Span inputs = rank.scratch(rank.p * whole);
    copy_some(rank, block(inputs, rank.id, whole), rank.input());
    recursive_doubling_of_blocks(rank, inputs, whole);
    take_blocks_for(rank, rank.id, rank.output(), rank.p, [&](int i) { return block(inputs, i, whole); });
}

} // namespace offbeat::algorithms::alltoall
