#include "algorithms/allreduce.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/reduce.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allreduce {

using namespace schedule;

namespace {

/** As SimGrid sees nodes: runs of so many ranks. */
struct Runs {
    int length; /**< ranks in a node */
    int nodes;
    Group node;    /**< of this rank */
    Group leaders; /**< the first ranks of all nodes; me is -1 where this rank is none */
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
        runs.leaders.me = rank.id / length;
    return runs;
}

/** To the first rank of a group, in place, a partner after the other from the nearest on. */
void reduce_up(Rank &rank, const Group &group, Span data) {
    const Span incoming = rank.scratch(data.length);
    for (int distance = 1; distance < group.p; distance *= 2) {
        if (group.me & distance) {
            rank.send(group.rank(group.me - distance), data);
            return;
        }
        if (group.me + distance >= group.p)
            continue;
        rank.recv(group.rank(group.me + distance), incoming);
        reduce_some(rank, data, incoming);
    }
}

/** From the first rank of a group, the farthest partner first. */
void bcast_down(Rank &rank, const Group &group, Span data) {
    int distance = 1;
    while (distance < group.p && !(group.me & distance))
        distance *= 2;
    if (distance < group.p)
        rank.recv(group.rank(group.me - distance), data);
    for (distance /= 2; distance > 0; distance /= 2)
        if (group.me + distance < group.p)
            rank.send(group.rank(group.me + distance), data);
}

/** Something in place between the leaders. */
void between_leaders(Rank &rank, const Group &leaders, const std::function<void(Rank &)> &in_place) {
    if (!leaders.has_me())
        return;
    const Part part{Collective::allreduce, 0, rank.call.count, rank.output(), rank.output()};
    run(rank, leaders, part, in_place);
}

void refuse_remainder(const Rank &rank, const Runs &runs, const std::string &name) {
    if (rank.call.count % runs.nodes != 0)
        throw std::invalid_argument(
            name + " leaves elements out unless their number is a multiple of the nodes' (" +
            std::to_string(rank.call.count) + ", " + std::to_string(runs.nodes) + ")");
}

void smp(Rank &rank, const Runs &runs, const std::function<void(Rank &)> &in_place) {
    copy_in(rank);
    reduce_up(rank, runs.node, rank.output());
    between_leaders(rank, runs.leaders, in_place);
    bcast_down(rank, runs.node, rank.output());
}

} // namespace

void smp_binomial(Rank &rank, const Parameters & /*none*/) {
    const Runs runs = runs_of(rank, "smp_binomial");
    smp(rank, runs, [](Rank &leader) {
        reduce_up(leader, everyone(leader), leader.output());
        bcast_down(leader, everyone(leader), leader.output());
    });
}

void smp_binomial_pipeline(Rank &rank, const Parameters & /*none*/) {
    constexpr int64_t chunk_elements = 4096;
    const Runs runs = runs_of(rank, "smp_binomial_pipeline");
    const int64_t chunk = std::min(chunk_elements, rank.call.count);
    if (chunk == 0)
        throw std::invalid_argument("smp_binomial_pipeline divides by zero without elements");
    if (rank.call.count % chunk != 0)
        throw std::invalid_argument("smp_binomial_pipeline leaves out what remains after whole chunks of " +
                                    std::to_string(chunk) + " elements (of " +
                                    std::to_string(rank.call.count) + ")");
    copy_in(rank);
    const int64_t chunks = rank.call.count / chunk;
    const auto in_stage = [&](int64_t index) { return index >= 0 && index < chunks; };
    const auto piece = [&](int64_t index) { return rank.output().part(index * chunk, chunk); };
    const bool leads = runs.leaders.has_me();
    for (int64_t phase = 0; phase < chunks + 3; ++phase) {
        if (in_stage(phase))
            reduce_up(rank, runs.node, piece(phase));
        if (leads && in_stage(phase - 1))
            reduce_up(rank, runs.leaders, piece(phase - 1));
        if (leads && in_stage(phase - 2))
            bcast_down(rank, runs.leaders, piece(phase - 2));
        if (in_stage(phase - 3))
            bcast_down(rank, runs.node, piece(phase - 3));
    }
}

void smp_doubling(Rank &rank, const Parameters & /*none*/) {
    smp(rank, runs_of(rank, "smp_rdb"), double_in_place);
}

void smp_ring(Rank &rank, const Parameters & /*none*/) {
    const Runs runs = runs_of(rank, "smp_rsag");
    refuse_remainder(rank, runs, "smp_rsag");
    smp(rank, runs,
        [](Rank &leader) { ring_in_place(leader, Blocks::equal(leader.call.count / leader.p, leader.p)); });
}

void smp_ring_remainder_last(Rank &rank, const Parameters & /*none*/) {
    const Runs runs = runs_of(rank, "smp_rsag_lr");
    if (rank.call.count > 0 && rank.call.count < runs.nodes)
        throw std::invalid_argument(
            "smp_rsag_lr adds elements up more than once where there are fewer than nodes");
    smp(rank, runs,
        [](Rank &leader) { ring_in_place(leader, Blocks::remainder_last(leader.call.count, leader.p)); });
}

void smp_halving(Rank &rank, const Parameters & /*none*/) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("smp_rsag_rab runs on a power of two of ranks only");
    const Runs runs = runs_of(rank, "smp_rsag_rab");
    refuse_remainder(rank, runs, "smp_rsag_rab");
    if (runs.nodes > 1 && rank.call.count / runs.nodes % 2 != 0)
        throw std::invalid_argument(
            "smp_rsag_rab leaves an element of every node's out where a node has an odd number (" +
            std::to_string(rank.call.count / runs.nodes) + ")");
    smp(rank, runs, [](Rank &leader) {
        const Folding folding = fold(leader, Keep::even);
        const auto rounds = halve_elements(folding, leader.call.count);
        reduce_by_halves(leader, rounds, leader.output(), leader.scratch(leader.call.count));
        gather_by_halves(leader, rounds, leader.output());
    });
}

void mvapich_two_level(Rank &rank, const Parameters & /*none*/) {
    if (rank.call.count == 0)
        return;
    copy_in(rank);
    const Part part{Collective::allreduce, 0, rank.call.count, rank.output(), rank.output()};
    run(rank, same_node(rank), part, [](Rank &member) {
        constexpr int64_t short_bytes = 2048;
        const bool can_halve = member.call.commutative && member.call.count >= fold(member, Keep::odd).size;
        if (member.call.bytes() > short_bytes && can_halve)
            halve_in_place(member, true);
        else
            double_in_place(member);
    });
    between_leaders(rank, node_leaders(rank), double_in_place);
    const Part bcast{Collective::bcast, 0, rank.call.count, {}, rank.output()};
    run(rank, same_node(rank), bcast, "simgrid", "binomial_tree");
}

namespace {

/** MPICH's choice of a bcast on one node. */
std::string_view mpich_bcast(const Call &call, int p, bool scheduled) {
    constexpr int64_t short_bytes = 12288;
    constexpr int64_t long_bytes = 524288;
    constexpr int few_ranks = 8;
    const auto below = [&](int64_t limit) {
        return scheduled ? call.bytes() < limit : call.bytes() <= limit;
    };
    if (p < few_ranks || below(short_bytes))
        return scheduled ? "nb(sched_binomial)" : "binomial";
    if (is_power_of_two(p) && below(long_bytes))
        return scheduled ? "nb(sched_scatter_recursive_doubling_allgather)"
                         : "scatter_recursive_doubling_allgather";
    return scheduled ? "nb(sched_scatter_ring_allgather)" : "scatter_ring_allgather";
}

void mpich_by_nodes(Rank &rank, bool scheduled) {
    const int nodes = nodes_used(rank.call);
    if (nodes == 1 || nodes == rank.p || !rank.call.commutative) {
        mpich_choice(rank, scheduled);
        return;
    }
    const Group node = same_node(rank);
    if (node.p > 1) {
        const Part reduce{Collective::reduce, 0, rank.call.count, rank.input(), rank.output()};
        run(rank, node, reduce, [&](Rank &member) { reduce::mpich_flat(member, scheduled); });
    } else {
        copy_in(rank);
    }
    between_leaders(rank, node_leaders(rank),
                    [&](Rank &leader) { mpich_choice_in_place(leader, scheduled); });
    const Part bcast{Collective::bcast, 0, rank.call.count, {}, rank.output()};
    if (node.p > 1)
        run(rank, node, bcast, "mpich", mpich_bcast(rank.call, node.p, scheduled));
}

} // namespace

void mpich_nodes(Rank &rank, const Parameters & /*none*/) {
    mpich_by_nodes(rank, false);
}

void mpich_scheduled_nodes(Rank &rank, const Parameters & /*none*/) {
    mpich_by_nodes(rank, true);
}

} // namespace offbeat::algorithms::allreduce
