#include "algorithms/reduce.hpp"

#include "algorithms/blocks.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/subcall.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

Span accumulator(Rank &rank) {
    return rank.id == rank.call.root ? rank.output() : rank.scratch(rank.call.count);
}

void linear(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
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

void linear_nonblocking(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative)
        linear(rank, parameters);
    else if (!reduces_without_messages(rank))
        reduce_at_root(rank, rank.input(), rank.output());
}

void ring(Rank &rank, const Parameters &parameters) {
    if (reduces_without_messages(rank))
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
    if (rest > 0) {
        const int64_t in_segments = rank.call.count - rest;
        reduce_at_root(rank, rank.input().part(in_segments, rest), result.part(in_segments, rest));
    }
}

namespace {

const Parameters no_parameters{{}};

/** The threshold for dividing messages: MPICH divides longer messages, SimGrid also messages of this length.
 */
constexpr int64_t mpich_short_bytes = 2048;

/** SimGrid's choice in a communicator of one node or of leaders. */
void simgrid_flat(Rank &rank) {
    if (rank.call.count < fold(rank, Keep::odd).size || rank.call.bytes() < mpich_short_bytes ||
        !rank.call.commutative)
        binomial(rank, no_parameters);
    else
        simgrid_scatter_gather(rank, no_parameters);
}

Subcall reduce_subcall(const Rank &rank, int root, Span input, Span output) {
    return {Collective::reduce, root, rank.call.count, input, output};
}

/** All ranks on one node: small messages are reduced to rank 0, which sends the result to the root. */
void simgrid_one_node(Rank &rank) {
    constexpr int64_t shared_memory_bytes = 2048;
    if (rank.call.bytes() > shared_memory_bytes || !rank.call.commutative) {
        knomial(rank, 4);
        return;
    }
    const Span sum = rank.id != 0 ? Span{} : accumulator(rank);
    run(rank, everyone(rank), reduce_subcall(rank, 0, rank.input(), sum),
        [](Rank &inner) { linear(inner, no_parameters); });
    if (rank.call.root == 0)
        return;
    if (rank.id == 0)
        rank.send(rank.call.root, sum, 1);
    else if (rank.id == rank.call.root)
        rank.recv(0, rank.output(), 1);
}

} // namespace

void simgrid_two_level(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const Group node = same_node(rank);
    if (node.p == rank.p) {
        simgrid_one_node(rank);
        return;
    }
    const Group leaders = node_leaders(rank);
    const int root = rank.call.root;
    const int leader_of_root = leader_of(rank.call, root);
    Span node_sum = rank.input();
    if (node.p > 1) {
        node_sum = node.me == 0 ? rank.scratch(rank.call.count) : Span{};
        run(rank, node, reduce_subcall(rank, 0, rank.input(), node_sum), simgrid_flat);
    }
    Span sum;
    if (leaders.contains_me()) {
        if (rank.id == leader_of_root)
            sum = accumulator(rank);
        run(rank, leaders, reduce_subcall(rank, leaders.number(leader_of_root), node_sum, sum), simgrid_flat);
    }
    if (root == leader_of_root)
        return;
    if (rank.id == leader_of_root)
        rank.send(root, sum, 1);
    else if (rank.id == root)
        rank.recv(leader_of_root, rank.output(), 1);
}

void mpich_flat(Rank &rank, bool scheduled) {
    if (rank.call.bytes() <= mpich_short_bytes)
        binomial(rank, no_parameters);
    else if (scheduled)
        mpich_scheduled_scatter_gather(rank, no_parameters);
    else
        mpich_scatter_gather(rank, no_parameters);
}

namespace {

void mpich_by_nodes(Rank &rank, bool scheduled) {
    const auto flat = [=](Rank &inner) { mpich_flat(inner, scheduled); };
    if (!rank.call.commutative || nodes_used(rank.call) == rank.p) {
        if (!reduces_without_messages(rank))
            flat(rank);
        return;
    }
    if (reduces_without_messages(rank))
        return;
    const Group node = same_node(rank);
    const int root = rank.call.root;
    const bool on_root_node = rank.call.node(rank.id) == rank.call.node(root);
    Span partial_sum = rank.input();
    if (!on_root_node && node.p > 1) {
        partial_sum = node.me == 0 ? rank.scratch(rank.call.count) : Span{};
        run(rank, node, reduce_subcall(rank, 0, rank.input(), partial_sum), flat);
    }
    if (node.me == 0) {
        const Group leaders = node_leaders(rank);
        const int target = leaders.number(leader_of(rank.call, root));
        Span sum;
        if (on_root_node)
            sum = rank.id == root && node.p == 1 ? rank.output() : rank.scratch(rank.call.count);
        run(rank, leaders, reduce_subcall(rank, target, partial_sum, sum), flat);
        partial_sum = on_root_node ? sum : partial_sum;
    }
    if (on_root_node && node.p > 1)
        run(rank, node, reduce_subcall(rank, node.number(root), partial_sum, rank.output()), flat);
}

} // namespace

void mpich_nodes(Rank &rank, const Parameters & /*parameters*/) {
    mpich_by_nodes(rank, false);
}

void mpich_scheduled_nodes(Rank &rank, const Parameters & /*parameters*/) {
    mpich_by_nodes(rank, true);
}

} // namespace offbeat::algorithms::reduce

namespace offbeat::algorithms {

using schedule::Collective;

/** SimGrid's arrival_pattern_aware is missing: it probes for messages in a loop with sleeps of 100 µs. */
std::vector<Algorithm> reduce_algorithms() {
    using namespace reduce;
    std::vector<Algorithm> list;
    add_family(list, Collective::reduce, "openmpi",
               {
                   {"linear", linear, ordered | scales},
                   {"chain", chain, {{"segment", 0}, {"fanout", 4, 1}, {"requests", 0}}},
                   {"pipeline", pipeline, {{"segment", 0}, {"requests", 0}}},
                   {"binary", binary, {{"segment", 0}, {"requests", 0}}},
                   {"binomial", binomial_segmented, {{"segment", 0}, {"requests", 0}}},
                   {"in_order_binary", in_order_binary, {{"segment", 0}, {"requests", 0}}, ordered},
                   {"rabenseifner", openmpi_rabenseifner, ordered},
               });
    add_family(list, Collective::reduce, "mpich",
               {
                   {"binomial", binomial, scales},
                   {"smp", mpich_nodes},
                   {"reduce_scatter_gather", mpich_scatter_gather},
                   {"nb(sched_smp)", mpich_scheduled_nodes},
                   {"nb(sched_binomial)", binomial, scales},
                   {"nb(sched_reduce_scatter_gather)", mpich_scheduled_scatter_gather},
                   {"nb(tsp_tree)",
                    task_tree,
                    {{"tree_type", 0}, {"k", 2, 1}, {"chunk_size", 0}, {"buffer_per_child", 0}}},
                   {"nb(tsp_ring)", task_chain, {{"chunk_size", 0}, {"buffer_per_child", 0}}},
               });
    add_family(list, Collective::reduce, "simgrid",
               {
                   {"binomial", binomial, scales},
                   {"flat_tree", linear, ordered | scales},
                   {"NTSL", ring, {{"segment", 8192, 1}}},
                   {"scatter_gather", simgrid_scatter_gather},
                   {"ompi_chain", simgrid_chain},
                   {"ompi_pipeline", simgrid_pipeline},
                   {"ompi_basic_linear", linear, ordered | scales},
                   {"ompi_in_order_binary", simgrid_in_order_binary, ordered | scales},
                   {"ompi_binary", simgrid_binary},
                   {"ompi_binomial", simgrid_binomial},
                   {"mvapich2_knomial", knomial, {{"radix", 4, 2}}, scales},
                   {"mvapich2_two_level", simgrid_two_level},
                   {"rab", rabenseifner, ordered},
               });
    return list;
}

} // namespace offbeat::algorithms
