#include "algorithms/allreduce.hpp"
#include "algorithms/bcast.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/reduce.hpp"
#include "algorithms/subcall.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allreduce {

namespace {

/** Nodes as SimGrid numbers them: runs of `length` consecutive ranks. */
struct Runs {
    int length;
    int nodes;
    Group node;    /**< of this rank */
    Group leaders; /**< the first ranks of all nodes; my_number is -1 if this rank is no leader */
};

Runs runs_of(const Rank &rank, const std::string &name) {
    const int length = std::max(1, ranks_on_every_node(rank.call));
    const int nodes = rank.p / length;
    if (nodes > 1 && !is_power_of_two(length))
        throw std::invalid_argument(name + " deadlocks on several nodes with " + std::to_string(length) +
                                    " ranks each: it needs a power of two");
    Runs runs{length, nodes, {length, rank.id % length, {}}, {nodes, -1, {}}};
    for (int i = 0; i < length; ++i)
        runs.node.ranks.push_back(rank.id - rank.id % length + i);
    for (int i = 0; i < nodes; ++i)
        runs.leaders.ranks.push_back(i * length);
    if (rank.id % length == 0)
        runs.leaders.my_number = rank.id / length;
    return runs;
}

/** A binomial reduce to the first rank of a group, in place, the nearest partner first. */
void reduce_to_first(Rank &rank, const Group &group, Span data) {
    const Tree tree = in_order_binomial_tree({group.p, group.my_number, 0}, 2);
    const Span incoming = rank.scratch(data.length);
    for (const int child : tree.children) {
        rank.recv(group.rank(child), incoming);
        reduce_some(rank, data, incoming);
    }
    if (!tree.is_root())
        rank.send(group.rank(tree.parent), data);
}

/** A binomial bcast from the first rank of a group, the farthest partner first. */
void bcast_from_first(Rank &rank, const Group &group, Span data) {
    const Tree tree = knomial_tree({group.p, group.my_number, 0}, 2);
    if (!tree.is_root())
        rank.recv(group.rank(tree.parent), data);
    for (const int child : tree.children)
        rank.send(group.rank(child), data);
}

/** An allreduce of the leaders, in place. */
void between_leaders(Rank &rank, const Group &leaders, const std::function<void(Rank &)> &in_place) {
    if (!leaders.is_member())
        return;
    const Subcall subcall{Collective::allreduce, 0, rank.call.count, rank.output(), rank.output()};
    run_subcall(rank, leaders, subcall, in_place);
}

void refuse_remainder(const Rank &rank, const Runs &runs, const std::string &name) {
    if (rank.call.count % runs.nodes != 0)
        throw std::invalid_argument(
            name + " omits elements unless their number is a multiple of the number of nodes (" +
            std::to_string(rank.call.count) + ", " + std::to_string(runs.nodes) + ")");
}

/** A reduce in each node, an allreduce of the leaders, a bcast in each node. */
void smp(Rank &rank, const Runs &runs, const std::function<void(Rank &)> &in_place) {
    copy_input_to_output(rank);
    reduce_to_first(rank, runs.node, rank.output());
    between_leaders(rank, runs.leaders, in_place);
    bcast_from_first(rank, runs.node, rank.output());
}

} // namespace

/** SimGrid's allreduce__smp_binomial.
 * Rounds: 2 * lg(p). Bytes: m * lg(p). */
void smp_binomial(Rank &rank) {
    const Runs runs = runs_of(rank, "smp_binomial");
    smp(rank, runs, [](Rank &leader) {
        reduce_to_first(leader, everyone(leader), leader.output());
        bcast_from_first(leader, everyone(leader), leader.output());
    });
}

/** SimGrid's allreduce__smp_binomial_pipeline. Blocking messages leave no overlap between chunks.
 * Rounds: 2 * lg(p) * ceil(m / 4096). Bytes: m * lg(p). */
void smp_binomial_pipeline(Rank &rank) {
    constexpr int64_t chunk_elements = 4096; // allreduce_smp_binomial_pipeline_segment_size
    const Runs runs = runs_of(rank, "smp_binomial_pipeline");
    const int64_t chunk = std::min(chunk_elements, rank.call.count);
    if (chunk == 0)
        throw std::invalid_argument("smp_binomial_pipeline divides by zero without elements");
    if (rank.call.count % chunk != 0)
        throw std::invalid_argument(
            "smp_binomial_pipeline omits the elements after the last whole chunk of " +
            std::to_string(chunk) + " elements (of " + std::to_string(rank.call.count) + ")");
    copy_input_to_output(rank);
    const int64_t chunks = rank.call.count / chunk;
    const auto in_stage = [&](int64_t index) { return index >= 0 && index < chunks; };
    const auto piece = [&](int64_t index) { return rank.output().part(index * chunk, chunk); };
    const bool leads = runs.leaders.is_member();
    for (int64_t phase = 0; phase < chunks + 3; ++phase) {
        if (in_stage(phase))
            reduce_to_first(rank, runs.node, piece(phase));
        if (leads && in_stage(phase - 1))
            reduce_to_first(rank, runs.leaders, piece(phase - 1));
        if (leads && in_stage(phase - 2))
            bcast_from_first(rank, runs.leaders, piece(phase - 2));
        if (in_stage(phase - 3))
            bcast_from_first(rank, runs.node, piece(phase - 3));
    }
}

/** SimGrid's allreduce__smp_rdb: recursive doubling among the leaders.
 * Rounds: 2 * lg(s) + lg(N). Bytes: m * lg(p). */
void smp_doubling(Rank &rank) {
    smp(rank, runs_of(rank, "smp_rdb"), recursive_doubling_in_place);
}

/** SimGrid's allreduce__smp_rsag: a ring of the leaders.
 * Rounds: 2 * lg(s) + 2 * (N - 1). Bytes: m * lg(s) + 2 * m * (N - 1) / N. */
void smp_ring(Rank &rank) {
    const Runs runs = runs_of(rank, "smp_rsag");
    refuse_remainder(rank, runs, "smp_rsag");
    smp(rank, runs,
        [](Rank &leader) { ring_in_place(leader, Blocks::equal(leader.call.count / leader.p, leader.p)); });
}

/** SimGrid's allreduce__smp_rsag_lr: a ring of the leaders.
 * Rounds: 2 * lg(s) + 2 * (N - 1). Bytes: m * lg(s) + 2 * m * (N - 1) / N. */
void smp_ring_remainder_last(Rank &rank) {
    const Runs runs = runs_of(rank, "smp_rsag_lr");
    if (rank.call.count > 0 && rank.call.count < runs.nodes)
        throw std::invalid_argument(
            "smp_rsag_lr adds elements more than once if there are fewer elements than nodes");
    smp(rank, runs,
        [](Rank &leader) { ring_in_place(leader, Blocks::remainder_last(leader.call.count, leader.p)); });
}

/** SimGrid's allreduce__smp_rsag_rab: Rabenseifner's algorithm among the leaders.
 * Rounds: 2 * lg(p). Bytes: m * lg(s) + 2 * m * (N - 1) / N. */
void smp_halving(Rank &rank) {
    const Runs runs = runs_of(rank, "smp_rsag_rab");
    refuse_remainder(rank, runs, "smp_rsag_rab");
    if (runs.nodes > 1 && rank.call.count / runs.nodes % 2 != 0)
        throw std::invalid_argument(
            "smp_rsag_rab omits an element of every node if a node's number of elements is odd (" +
            std::to_string(rank.call.count / runs.nodes) + ")");
    smp(rank, runs, [](Rank &leader) {
        const Folding folding = fold(leader, Keep::even);
        const auto rounds = halve_elements(folding, leader.call.count);
        reduce_by_halves(leader, rounds, leader.output(), leader.scratch(leader.call.count));
        gather_by_halves(leader, rounds, leader.output());
    });
}

/** SimGrid's allreduce__mvapich2_two_level. In the nodes, which halve messages above 2 KiB:
 * Rounds: 3 * lg(s) + lg(N). Bytes: 2 * m * (s - 1) / s + m * lg(p). */
void mvapich_two_level(Rank &rank) {
    if (rank.call.count == 0)
        return;
    copy_input_to_output(rank);
    const Subcall subcall{Collective::allreduce, 0, rank.call.count, rank.output(), rank.output()};
    run_subcall(rank, same_node(rank), subcall, [](Rank &member) {
        constexpr int64_t short_bytes = 2048; // large_message in allreduce__mpich of smpi_mpich_selector.cpp
        const bool can_halve = member.call.commutative && member.call.count >= fold(member, Keep::odd).size;
        if (member.call.bytes() > short_bytes && can_halve)
            halving_in_place(member, true);
        else
            recursive_doubling_in_place(member);
    });
    between_leaders(rank, node_leaders(rank), recursive_doubling_in_place);
    const Subcall bcast{Collective::bcast, 0, rank.call.count, {}, rank.output()};
    run_subcall(rank, same_node(rank), bcast, "simgrid", "binomial_tree");
}

/** MPICH's MPIR_Allreduce_intra_smp and MPIR_Iallreduce_intra_sched_smp.
 * Rounds and bytes: the sum of those that MPICH chooses for each of the three steps. */
void mpich_by_nodes(Rank &rank, bool scheduled) {
    const int nodes = nodes_used(rank.call);
    if (nodes == 1 || nodes == rank.p || !rank.call.commutative)
        return mpich_choice(rank, scheduled);
    const Group node = same_node(rank);
    if (node.p > 1) {
        const Subcall reduce{Collective::reduce, 0, rank.call.count, rank.input(), rank.output()};
        run_subcall(rank, node, reduce, [&](Rank &member) { reduce::mpich_flat(member, scheduled); });
    } else {
        copy_input_to_output(rank);
    }
    between_leaders(rank, node_leaders(rank),
                    [&](Rank &leader) { mpich_choice_in_place(leader, scheduled); });
    const Subcall bcast{Collective::bcast, 0, rank.call.count, {}, rank.output()};
    if (node.p > 1)
        run_subcall(rank, node, bcast, "mpich", bcast::mpich_choice(rank.call.bytes(), node.p, scheduled));
}

} // namespace offbeat::algorithms::allreduce
