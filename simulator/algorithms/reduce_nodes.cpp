#include "algorithms/composed.hpp"
#include "algorithms/reduce.hpp"

namespace offbeat::algorithms::reduce {

using namespace schedule;

namespace {

const Parameters no_parameters{{}};

/** So long messages are worth dividing: MPICH counts from one byte later than SimGrid. */
constexpr int64_t mpich_short_bytes = 2048;

int largest_power_of_two(int p) {
    int power = 1;
    while (power * 2 <= p)
        power *= 2;
    return power;
}

/** The choice that SimGrid makes in a communicator of one node, or of leaders. */
void simgrid_flat(Rank &rank) {
    if (rank.call.count < largest_power_of_two(rank.p) || rank.call.bytes() < mpich_short_bytes ||
        !rank.call.commutative)
        binomial(rank, no_parameters);
    else
        simgrid_scatter_gather(rank, no_parameters);
}

Part part_of(const Rank &rank, int root, Span input, Span output) {
    return {Collective::reduce, root, rank.call.count, input, output};
}

/** All on one node: small messages to rank 0, which sends the result on. */
void simgrid_one_node(Rank &rank) {
    constexpr int64_t shared_memory_bytes = 2048;
    if (rank.call.bytes() > shared_memory_bytes || !rank.call.commutative) {
        knomial(rank, 4);
        return;
    }
    const Span sum = rank.id != 0 ? Span{} : accumulator(rank);
    run(rank, everyone(rank), part_of(rank, 0, rank.input(), sum),
        [](Rank &inner) { linear(inner, no_parameters); });
    if (rank.call.root == 0)
        return;
    if (rank.id == 0)
        rank.send(rank.call.root, sum, 1);
    else if (rank.id == rank.call.root)
        rank.recv(0, rank.output(), 1);
}

} // namespace

void simgrid_two_level(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Group node = same_node(rank);
    if (node.p == rank.p) {
        simgrid_one_node(rank);
        return;
    }
    const Group leaders = node_leaders(rank);
    const int root = rank.call.root;
    const int leader_of_root = leader_of(rank.call, root);
    Span of_node = rank.input();
    if (node.p > 1) {
        of_node = node.me == 0 ? rank.scratch(rank.call.count) : Span{};
        run(rank, node, part_of(rank, 0, rank.input(), of_node), simgrid_flat);
    }
    Span sum;
    if (leaders.has_me()) {
        if (rank.id == leader_of_root)
            sum = accumulator(rank);
        run(rank, leaders, part_of(rank, leaders.number(leader_of_root), of_node, sum), simgrid_flat);
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
        if (!nothing_to_combine(rank))
            flat(rank);
        return;
    }
    if (nothing_to_combine(rank))
        return;
    const Group node = same_node(rank);
    const int root = rank.call.root;
    const bool with_root = rank.call.node(rank.id) == rank.call.node(root);
    Span so_far = rank.input();
    if (!with_root && node.p > 1) {
        so_far = node.me == 0 ? rank.scratch(rank.call.count) : Span{};
        run(rank, node, part_of(rank, 0, rank.input(), so_far), flat);
    }
    if (node.me == 0) {
        const Group leaders = node_leaders(rank);
        const int top = leaders.number(leader_of(rank.call, root));
        Span sum;
        if (with_root)
            sum = rank.id == root && node.p == 1 ? rank.output() : rank.scratch(rank.call.count);
        run(rank, leaders, part_of(rank, top, so_far, sum), flat);
        so_far = with_root ? sum : so_far;
    }
    if (with_root && node.p > 1)
        run(rank, node, part_of(rank, node.number(root), so_far, rank.output()), flat);
}

} // namespace

void mpich_nodes(Rank &rank, const Parameters & /*none*/) {
    mpich_by_nodes(rank, false);
}

void mpich_scheduled_nodes(Rank &rank, const Parameters & /*none*/) {
    mpich_by_nodes(rank, true);
}

} // namespace offbeat::algorithms::reduce
