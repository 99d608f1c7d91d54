#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"
#include "algorithms/run_trees.hpp"
#include "algorithms/tasks.hpp"

namespace offbeat::algorithms::gather {

using schedule::Rank;

namespace {

/** The root's own block is there from the start. */
SubtreeBlocks collected(Rank &rank, const RunTree &runs) {
    const schedule::Span all = rank.output();
    if (runs.tree.is_root())
        copy_some(rank, block(all, rank.id, rank.call.count), rank.input());
    return {rank, runs, all, rank.input()};
}

} // namespace

void binomial(Rank &rank, const Parameters & /*parameters*/) {
    const RunTree runs = in_order_binomial_runs(rank);
    const SubtreeBlocks blocks = collected(rank, runs);
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        rank.recv(runs.tree.children[i], blocks.of_child(i));
    if (!runs.tree.is_root())
        rank.send(runs.tree.parent, blocks.to_parent());
}

void mpich_nb_tree(Rank &rank, const Parameters &parameters) {
    const RunTree runs = mpich_knomial_runs(rank, parameters["k"]);
    const SubtreeBlocks blocks = collected(rank, runs);
    Tasks tasks(rank);
    Tasks::After arrived;
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        arrived.push_back(tasks.irecv(runs.tree.children[i], blocks.of_child(i)));
    if (!runs.tree.is_root())
        tasks.isend(runs.tree.parent, blocks.to_parent(), arrived);
}

} // namespace offbeat::algorithms::gather
