#include "algorithms/allgather.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/mesh.hpp"
#include "algorithms/openmpi_choice.hpp"

namespace offbeat::algorithms::allgather {

using schedule::Collective;
using schedule::Rank;
using schedule::Span;

namespace {

Part gather_part(const Rank &rank) {
    return {Collective::gather, 0, rank.call.count, rank.input(), rank.output()};
}

Part bcast_part(const Rank &rank) {
    return {Collective::bcast, 0, rank.p * rank.call.count, {}, rank.output()};
}

} // namespace

void openmpi_gather_bcast(Rank &rank, const Parameters & /*none*/) {
    run_openmpi_choice(rank, everyone(rank), gather_part(rank));
    run_openmpi_choice(rank, everyone(rank), bcast_part(rank));
}

void simgrid_gather(Rank &rank) {
    if (rank.id != rank.call.root)
        return rank.send(rank.call.root, rank.input());
    for (int other = 0; other < rank.p; ++other) {
        const Span there = block(rank.output(), other, rank.call.count);
        if (other == rank.id)
            rank.copy(there, rank.input());
        else
            rank.irecv(other, there);
    }
}

void simgrid_gather_bcast(Rank &rank, const Parameters & /*none*/) {
    run(rank, everyone(rank), gather_part(rank), simgrid_gather);
    run(rank, everyone(rank), bcast_part(rank), "simgrid", "binomial_tree");
}

void mesh_2d(Rank &rank, const Parameters & /*none*/) {
    const auto [rows, columns] = mesh_2d_of(rank.p);
    const int row_length = columns;
    const int64_t n = rank.call.count;
    const int column = rank.id % columns;
    const auto row_of = [&](int peer) {
        return blocks(rank.output(), peer - peer % row_length, row_length, n);
    };
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    exchange_with_all(
        rank, others_on_line(rank.id - column, 1, columns, rank.id),
        [&](int /*peer*/) { return rank.input(); }, [&](int peer) { return block(rank.output(), peer, n); });
    exchange_with_all(
        rank, others_on_line(column, columns, rows, rank.id), [&](int /*peer*/) { return row_of(rank.id); },
        row_of);
}

void mesh_3d(Rank &rank, const Parameters & /*none*/) {
    const auto [side, layers] = mesh_3d_of(rank.p);
    const int row_length = side;
    const int layer_size = side * side;
    const int64_t n = rank.call.count;
    const int column = rank.id % side;
    const int layer = rank.id / layer_size * layer_size; // its first rank
    const auto run_of = [&](int peer, int length) {
        return blocks(rank.output(), peer - peer % length, length, n);
    };
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    exchange_with_all(
        rank, others_on_line(rank.id - column, 1, side, rank.id), [&](int /*peer*/) { return rank.input(); },
        [&](int peer) { return block(rank.output(), peer, n); });
    exchange_with_all(
        rank, others_on_line(layer + column, side, side, rank.id),
        [&](int /*peer*/) { return run_of(rank.id, row_length); },
        [&](int peer) { return run_of(peer, row_length); });
    std::vector<int> same_place;
    for (int i = 1; i < layers; ++i)
        same_place.push_back((rank.id + i * layer_size) % rank.p);
    exchange_with_all(
        rank, same_place, [&](int /*peer*/) { return run_of(rank.id, layer_size); },
        [&](int peer) { return run_of(peer, layer_size); });
}

} // namespace offbeat::algorithms::allgather
