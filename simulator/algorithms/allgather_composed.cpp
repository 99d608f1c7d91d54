#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/openmpi_choice.hpp"
#include "algorithms/subcall.hpp"

#include <stdexcept>

namespace offbeat::algorithms::allgather {

namespace {

Subcall gather_to_first(const Rank &rank) {
    return {Collective::gather, 0, rank.call.count, rank.input(), rank.output()};
}

Subcall bcast_from_first(const Rank &rank) {
    return {Collective::bcast, 0, rank.p * rank.call.count, {}, rank.output()};
}

} // namespace

/** Open MPI's ompi_coll_base_allgather_intra_basic_linear.
 * Rounds and bytes: the sum of those of the gather and the bcast that Open MPI chooses. */
void openmpi_gather_bcast(Rank &rank) {
    run_openmpi_choice(rank, everyone(rank), gather_to_first(rank));
    run_openmpi_choice(rank, everyone(rank), bcast_from_first(rank));
}

void simgrid_gather(Rank &rank) {
    if (rank.id != rank.call.root)
        return rank.send(rank.call.root, rank.input());
    for (int other = 0; other < rank.p; ++other) {
        const Span destination = block(rank.output(), other, rank.call.count);
        if (other == rank.id)
            rank.copy(destination, rank.input());
        else
            rank.irecv(other, destination);
    }
}

/** SimGrid's allgather__GB: a flat gather, then a binomial bcast.
 * Rounds: 1 + lg(p). Bytes: m * p * lg(p). */
void simgrid_gather_bcast(Rank &rank) {
    run_subcall(rank, everyone(rank), gather_to_first(rank), simgrid_gather);
    run_subcall(rank, everyone(rank), bcast_from_first(rank), "simgrid", "binomial_tree");
}

/** SimGrid's allgather__2dmesh and allgather__3dmesh.
 * Rounds and bytes: on a mesh of c columns, r rows and l layers c + r + l - 3 rounds; m * (p - 1) bytes. */
void mesh(Rank &rank, Mesh (*shape)(int p)) {
    const auto [columns, rows, layers] = shape(rank.p);
    const int layer_size = columns * rows;
    const int column = rank.id % columns;
    const int layer = rank.id / layer_size * layer_size; // the layer's first rank
    const auto run_of = [&](int peer, int length) {
        return blocks(rank.output(), peer - peer % length, length, rank.call.count);
    };
    rank.copy(run_of(rank.id, 1), rank.input());
    exchange_with_all(
        rank, peers_on_line(rank.id - column, 1, columns, rank.id),
        [&](int /*peer*/) { return rank.input(); }, [&](int peer) { return run_of(peer, 1); });
    exchange_with_all(
        rank, peers_on_line(layer + column, columns, rows, rank.id),
        [&](int /*peer*/) { return run_of(rank.id, columns); },
        [&](int peer) { return run_of(peer, columns); });
    std::vector<int> across_layers;
    for (int i = 1; i < layers; ++i)
        across_layers.push_back((rank.id + i * layer_size) % rank.p);
    exchange_with_all(
        rank, across_layers, [&](int /*peer*/) { return run_of(rank.id, layer_size); },
        [&](int peer) { return run_of(peer, layer_size); });
}

namespace {

/** Nodes as SimGrid numbers them: consecutive ranks, the same number each. */
struct Nodes {
    int length;  /**< ranks per node */
    int number;  /**< of nodes */
    int my_node; /**< this rank's node */
    int place;   /**< of this rank in its node */

    explicit Nodes(const Rank &rank) {
        const int uniform = ranks_on_every_node(rank.call);
        length = uniform > 0 ? uniform : 1;
        number = rank.p / length;
        my_node = rank.id / length;
        place = rank.id % length;
    }
    /** The node at a distance before this rank's (negative: after), modulo the number of nodes. */
    [[nodiscard]] int before(int distance) const {
        return ((my_node - distance) % number + number) % number;
    }
    [[nodiscard]] int rank_at(int node, int position) const {
        return node * length + position;
    }
    [[nodiscard]] Span blocks_of(const Rank &rank, int node) const {
        return block(rank.output(), node, length * rank.call.count);
    }
};

/** Every rank sends its block to every rank of its node, step by step. */
void exchange_in_node(Rank &rank, const Nodes &nodes) {
    const int64_t n = rank.call.count;
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    for (int step = 1; step < nodes.length; ++step) {
        const int to = nodes.rank_at(nodes.my_node, (nodes.place + step) % nodes.length);
        const int from = nodes.rank_at(nodes.my_node, (nodes.place - step + nodes.length) % nodes.length);
        rank.sendrecv(to, rank.input(), from, block(rank.output(), from, n));
    }
}

/** The leader forwards what it receives to the next leader and to the next rank of its node. */
void forward_among_leaders(Rank &rank, const Nodes &nodes) {
    const int previous = nodes.rank_at(nodes.before(1), 0);
    const int next = nodes.rank_at(nodes.before(-1), 0);
    std::vector<Request> receives;
    for (int step = 1; step < nodes.number; ++step)
        receives.push_back(rank.irecv(previous, nodes.blocks_of(rank, nodes.before(step))));
    std::vector<Request> sends = {rank.isend(next, nodes.blocks_of(rank, nodes.my_node))};
    for (int step = 1; step < nodes.number; ++step) {
        const Span received = nodes.blocks_of(rank, nodes.before(step));
        rank.wait(receives[static_cast<size_t>(step - 1)]);
        if (step + 1 < nodes.number)
            sends.push_back(rank.isend(next, received));
        if (nodes.length > 1)
            rank.send(rank.id + 1, received);
    }
    rank.wait(sends);
}

void forward_down_chain(Rank &rank, const Nodes &nodes) {
    for (int step = 1; step < nodes.number; ++step) {
        const Span received = nodes.blocks_of(rank, nodes.before(step));
        rank.recv(rank.id - 1, received);
        if (nodes.place + 1 < nodes.length)
            rank.send(rank.id + 1, received);
    }
}

/** What MPICH in SimGrid chooses: allgather__mpich in smpi_mpich_selector.cpp. */
void mpich_choice(Rank &rank) {
    constexpr int64_t long_bytes = 524288; // of all blocks together
    constexpr int64_t short_bytes = 81920;
    const int64_t bytes = rank.p * rank.call.bytes();
    if (is_power_of_two(rank.p) && bytes < long_bytes)
        recursive_doubling(rank);
    else if (bytes <= short_bytes)
        bruck(rank);
    else
        direct_stepwise(rank);
}

} // namespace

/** SimGrid's allgather__smp_simple.
 * Rounds: 2 * s - 1. Bytes: m * (s - 1) + m * s * (N - 1) + m * p * (s - 1). */
void nodes_simple(Rank &rank) {
    const Nodes nodes(rank);
    exchange_in_node(rank, nodes);
    const int leader = nodes.rank_at(nodes.my_node, 0);
    if (nodes.place > 0)
        return rank.recv(leader, rank.output());
    for (int step = 1; step < nodes.number; ++step)
        rank.irecv(nodes.rank_at(nodes.before(step), 0), nodes.blocks_of(rank, nodes.before(step)));
    for (int step = 1; step < nodes.number; ++step)
        rank.isend(nodes.rank_at(nodes.before(-step), 0), nodes.blocks_of(rank, nodes.my_node));
    rank.wait_all();
    for (int place = 1; place < nodes.length; ++place)
        rank.send(leader + place, rank.output());
}

/** SimGrid's allgather__SMP_NTS.
 * Rounds: 2 * (N + s) - 5. Bytes: m * (s - 1) + 2 * m * s * (N - 1). */
void nodes_ring(Rank &rank) {
    const Nodes nodes(rank);
    if (nodes.number <= 1)
        return direct_nonblocking(rank);
    exchange_in_node(rank, nodes);
    if (nodes.place == 0)
        forward_among_leaders(rank, nodes);
    else
        forward_down_chain(rank, nodes);
}

/** SimGrid's allgather__loosely_lr.
 * Rounds: N. Bytes: m * (p - 1). */
void nodes_loose_ring(Rank &rank) {
    const Nodes nodes(rank);
    const int64_t n = rank.call.count;
    const auto block_at = [&](int node, int place) {
        return block(rank.output(), nodes.rank_at(node, place), n);
    };
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    for (int step = 0; step < nodes.number; ++step) {
        const Span received = block_at(nodes.before(step), nodes.place);
        Request next_receive = none;
        for (int place = 0; place < nodes.length; ++place) {
            const int peer = nodes.rank_at(nodes.my_node, place);
            if (place != nodes.place) {
                rank.irecv(peer, block_at(nodes.before(step), place));
                rank.isend(peer, received);
            } else if (step + 1 < nodes.number) {
                next_receive = rank.irecv(nodes.rank_at(nodes.before(1), nodes.place),
                                          block_at(nodes.before(step + 1), nodes.place));
                rank.isend(nodes.rank_at(nodes.before(-1), nodes.place), received);
            }
        }
        if (next_receive != none)
            rank.wait(next_receive);
    }
}

/** SimGrid's allgather__mvapich2_smp.
 * Rounds and bytes: 1 + lg(s) rounds and m * p * lg(s) bytes in addition to those of the leaders'
 * allgather. */
void nodes_mvapich(Rank &rank) {
    const int length = ranks_on_every_node(rank.call);
    if (length == 0 || !nodes_are_consecutive(rank.call))
        throw std::invalid_argument(
            "mvapich2_smp needs the same number of ranks on every node, numbered node by node");
    const int64_t n = rank.call.count;
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const Span node_blocks = rank.scratch(leaders.is_member() ? length * n : 0);
    run_subcall(rank, node, {Collective::gather, 0, n, rank.input(), node_blocks}, simgrid_gather);
    if (leaders.is_member() && leaders.p > 1)
        run_subcall(rank, leaders, {Collective::allgather, 0, length * n, node_blocks, rank.output()},
                    [&](Rank &inner) { mpich_choice(inner); });
    else if (leaders.is_member())
        rank.copy(rank.output(), node_blocks);
    run_subcall(rank, node, {Collective::bcast, 0, rank.p * n, {}, rank.output()}, "simgrid",
                "binomial_tree");
}

} // namespace offbeat::algorithms::allgather
