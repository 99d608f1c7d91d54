#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"
#include "algorithms/run_trees.hpp"
#include "algorithms/tasks.hpp"

namespace offbeat::algorithms::scatter {

using schedule::Rank;

namespace {

/** The root keeps its own block at the start. */
SubtreeBlocks received(Rank &rank, const RunTree &runs) {
    const schedule::Span all = rank.input();
    if (runs.tree.is_root())
        copy_some(rank, rank.output(), block(all, rank.id, rank.call.count));
    return {rank, runs, all, rank.output()};
}

void binomial(Rank &rank, bool largest_first) {
    const RunTree runs = in_order_binomial_runs(rank);
    const SubtreeBlocks blocks = received(rank, runs);
    if (!runs.tree.is_root())
        rank.recv(runs.tree.parent, blocks.to_parent());
    const size_t children = runs.tree.children.size();
    for (size_t i = 0; i < children; ++i) {
        const size_t child = largest_first ? children - 1 - i : i;
        rank.send(runs.tree.children[child], blocks.of_child(child));
    }
}

} // namespace

void binomial_from_smallest(Rank &rank, const Parameters & /*parameters*/) {
    binomial(rank, false);
}

void binomial_from_largest(Rank &rank, const Parameters & /*parameters*/) {
    binomial(rank, true);
}

void mpich_nb_tree(Rank &rank, const Parameters &parameters) {
    const RunTree runs = mpich_knomial_runs(rank, parameters["k"]);
    const SubtreeBlocks blocks = received(rank, runs);
    Tasks tasks(rank);
    Tasks::After arrived;
    if (!runs.tree.is_root())
        arrived.push_back(tasks.irecv(runs.tree.parent, blocks.to_parent()));
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        tasks.isend(runs.tree.children[i], blocks.of_child(i), arrived);
}

} // namespace offbeat::algorithms::scatter
