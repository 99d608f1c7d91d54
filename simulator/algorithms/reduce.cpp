#include "algorithms/reduce.hpp"

#include "algorithms/blocks.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/subcall.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace offbeat::algorithms::reduce {

Span accumulator(Rank &rank) {
    return rank.id == rank.call.root ? rank.output() : rank.scratch(rank.call.count);
}

/** Open MPI's ompi_coll_base_reduce_intra_basic_linear, SimGrid's reduce__flat_tree and
 * reduce__ompi_basic_linear.
 * Rounds: p - 1. Bytes: m. */
void linear(Rank &rank) {
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

/** linear_nonblocking() for a part of the buffers. */
void reduce_at_root(Rank &rank, Span input, Span output) {
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

void linear_nonblocking(Rank &rank) {
    if (!rank.call.commutative)
        linear(rank);
    else
        reduce_at_root(rank, rank.input(), rank.output());
}

/** SimGrid's reduce__NTSL. Sends do not wait for each other.
 * Rounds: p - 1. Bytes: m. */
void ring(Rank &rank, const Parameters &parameters) {
    const int from = (rank.id + 1) % rank.p;
    const int to = (rank.id - 1 + rank.p) % rank.p;
    const bool is_root = rank.id == rank.call.root;
    const bool is_start = from == rank.call.root;
    const int64_t length = std::min(rank.call.count, elements_within(rank.call, parameters["segment"]));
    const int64_t remainder = rank.call.count % length;
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    const Segments segments(result.part(0, rank.call.count - remainder), length);
    std::vector<Span> received;
    std::vector<Request> receives;
    for (int i = 0; !is_start && i < segments.count(); ++i) {
        received.push_back(rank.scratch(length));
        receives.push_back(rank.irecv(from, received.back(), i));
    }
    for (int i = 0; i < segments.count(); ++i) {
        if (!is_start) {
            rank.wait(receives[static_cast<size_t>(i)]);
            rank.reduce(segments[i], received[static_cast<size_t>(i)], Order::from_first);
        }
        if (!is_root)
            rank.isend(to, segments[i], i);
    }
    rank.wait_all();
    if (remainder > 0) {
        const int64_t in_segments = rank.call.count - remainder;
        reduce_at_root(rank, rank.input().part(in_segments, remainder), result.part(in_segments, remainder));
    }
}

namespace {

/** The threshold for dividing messages: MPICH divides longer messages, SimGrid also messages of this length.
 * The default of MPIR_CVAR_REDUCE_SHORT_MSG_SIZE; reduce__mpich of SimGrid's smpi_mpich_selector.cpp. */
constexpr int64_t mpich_short_bytes = 2048;

/** SimGrid's choice in a communicator of one node or of leaders. */
void simgrid_flat(Rank &rank) {
    if (rank.call.count < fold(rank, Keep::odd).size || rank.call.bytes() < mpich_short_bytes ||
        !rank.call.commutative)
        binomial(rank);
    else
        simgrid_scatter_gather(rank);
}

Subcall reduce_subcall(const Rank &rank, int root, Span input, Span output) {
    return {Collective::reduce, root, rank.call.count, input, output};
}

/** All ranks on one node: small messages are reduced to rank 0, which sends the result to the root. */
void simgrid_one_node(Rank &rank) {
    constexpr int64_t shared_memory_bytes =
        2048;                    // MV2_INTRA_SHMEM_REDUCE_MSG in reduce-mvapich-two-level.cpp
    constexpr int64_t radix = 4; // SMPI_DEFAULT_KNOMIAL_FACTOR in reduce-mvapich-knomial.cpp
    if (rank.call.bytes() > shared_memory_bytes || !rank.call.commutative)
        return knomial(rank, radix);
    const Span sum = rank.id != 0 ? Span{} : accumulator(rank);
    run_subcall(rank, everyone(rank), reduce_subcall(rank, 0, rank.input(), sum),
                [](Rank &inner) { linear(inner); });
    transfer(rank, 0, sum, rank.call.root, rank.output(), 1);
}

} // namespace

/** SimGrid's reduce__mvapich2_two_level.
 * Rounds and bytes: the sum of those that SimGrid chooses on the nodes and among the leaders, and one
 * message to the root. */
void simgrid_two_level(Rank &rank) {
    const Group node = same_node(rank);
    if (node.p == rank.p)
        return simgrid_one_node(rank);
    const Group leaders = node_leaders(rank);
    const int root = rank.call.root;
    const int leader_of_root = leader_of(rank.call, root);
    Span node_sum = rank.input();
    if (node.p > 1) {
        node_sum = node.my_number == 0 ? rank.scratch(rank.call.count) : Span{};
        run_subcall(rank, node, reduce_subcall(rank, 0, rank.input(), node_sum), simgrid_flat);
    }
    Span sum;
    if (leaders.is_member()) {
        if (rank.id == leader_of_root)
            sum = accumulator(rank);
        run_subcall(rank, leaders, reduce_subcall(rank, leaders.number(leader_of_root), node_sum, sum),
                    simgrid_flat);
    }
    transfer(rank, leader_of_root, sum, root, rank.output(), 1);
}

void mpich_flat(Rank &rank, bool scheduled) {
    if (rank.call.bytes() <= mpich_short_bytes)
        binomial(rank);
    else
        mpich_scatter_gather(rank, scheduled);
}

/** MPICH's MPIR_Reduce_intra_smp and MPIR_Ireduce_intra_sched_smp.
 * Rounds and bytes: the sum of those that MPICH chooses on the nodes, among the leaders and on the root's
 * node. */
void mpich_by_nodes(Rank &rank, bool scheduled) {
    const auto flat = [=](Rank &inner) { mpich_flat(inner, scheduled); };
    if (!rank.call.commutative || nodes_used(rank.call) == rank.p)
        return flat(rank);
    const Group node = same_node(rank);
    const int root = rank.call.root;
    const bool on_root_node = rank.call.node(rank.id) == rank.call.node(root);
    Span partial_sum = rank.input();
    if (!on_root_node && node.p > 1) {
        partial_sum = node.my_number == 0 ? rank.scratch(rank.call.count) : Span{};
        run_subcall(rank, node, reduce_subcall(rank, 0, rank.input(), partial_sum), flat);
    }
    if (node.my_number == 0) {
        const Group leaders = node_leaders(rank);
        const int target = leaders.number(leader_of(rank.call, root));
        Span sum;
        if (on_root_node)
            sum = rank.id == root && node.p == 1 ? rank.output() : rank.scratch(rank.call.count);
        run_subcall(rank, leaders, reduce_subcall(rank, target, partial_sum, sum), flat);
        partial_sum = on_root_node ? sum : partial_sum;
    }
    if (on_root_node && node.p > 1)
        run_subcall(rank, node, reduce_subcall(rank, node.number(root), partial_sum, rank.output()), flat);
}

} // namespace offbeat::algorithms::reduce

namespace offbeat::algorithms {

/** SimGrid's arrival_pattern_aware is missing: it probes for messages in a loop with sleeps of 100 µs. */
std::vector<Algorithm> reduce_algorithms() {
    using namespace reduce;
    return {
        {"openmpi", "linear", linear, ordered | scales},
        {"openmpi", "chain", chain, {{"segment", 0}, {"fanout", 4, 1}, {"requests", 0}}},
        {"openmpi", "pipeline", pipeline, {{"segment", 0}, {"requests", 0}}},
        {"openmpi", "binary", binary, {{"segment", 0}, {"requests", 0}}},
        {"openmpi", "binomial", pipelined_binomial, {{"segment", 0}, {"requests", 0}}},
        {"openmpi", "in_order_binary", in_order_binary, {{"segment", 0}, {"requests", 0}}, ordered},
        {"openmpi", "rabenseifner", openmpi_rabenseifner, ordered},
        {"mpich", "binomial", binomial, scales},
        {"mpich", "smp", fixed(mpich_by_nodes, false)},
        {"mpich", "reduce_scatter_gather", fixed(mpich_scatter_gather, false)},
        {"mpich", "nb(sched_smp)", fixed(mpich_by_nodes, true)},
        {"mpich", "nb(sched_binomial)", binomial, scales},
        {"mpich", "nb(sched_reduce_scatter_gather)", fixed(mpich_scatter_gather, true)},
        {"mpich",
         "nb(tsp_tree)",
         task_tree,
         {{"tree_type", 0}, {"k", 2, 1}, {"chunk_size", 0}, {"buffer_per_child", 0}}},
        {"mpich", "nb(tsp_ring)", task_chain, {{"chunk_size", 0}, {"buffer_per_child", 0}}},
        {"simgrid", "binomial", binomial, scales},
        {"simgrid", "flat_tree", linear, ordered | scales},
        {"simgrid", "NTSL", ring, {{"segment", 8192, 1}}},
        {"simgrid", "scatter_gather", simgrid_scatter_gather},
        {"simgrid", "ompi_chain", simgrid_chain},
        {"simgrid", "ompi_pipeline", simgrid_pipeline},
        {"simgrid", "ompi_basic_linear", linear, ordered | scales},
        {"simgrid", "ompi_in_order_binary", simgrid_in_order_binary, ordered | scales},
        {"simgrid", "ompi_binary", simgrid_binary},
        {"simgrid", "ompi_binomial", simgrid_binomial},
        {"simgrid", "mvapich2_knomial", mvapich_knomial, {{"radix", 4, 2}}, scales},
        {"simgrid", "mvapich2_two_level", simgrid_two_level},
        {"simgrid", "rab", rabenseifner, ordered},
    };
}

} // namespace offbeat::algorithms
