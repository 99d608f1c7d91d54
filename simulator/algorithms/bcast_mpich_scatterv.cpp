#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/run_trees.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Span;

namespace {

Blocks blocks_of_ranks(const Rank &rank) {
    return Blocks::rounded_up(rank.call.count, rank.p);
}

/** Every rank gets its block, and those of its subtree. MPICH takes numbers counted from the root for ranks
 * here: with another root than 0 it sends from outside the buffer, and fails. */
void scatterv(Rank &rank, Tasks &tasks, int64_t k) {
    if (rank.call.root != 0)
        throw std::invalid_argument(
            "MPICH's bcasts by scatterv fail unless the root is rank 0, and here it is " +
            std::to_string(rank.call.root));
    const RunTree runs = mpich_knomial_runs(rank, k);
    const Blocks blocks = blocks_of_ranks(rank);
    Tasks::After arrived;
    if (!runs.tree.is_root())
        arrived.push_back(
            tasks.irecv(runs.tree.parent, blocks.run(rank.output(), rank.id, rank.id + runs.size)));
    for (size_t i = 0; i < runs.tree.children.size(); ++i) {
        const int child = runs.tree.children[i];
        tasks.isend(child, blocks.run(rank.output(), child, child + runs.child_size[i]), arrived);
    }
}

/** MPICH's allgatherv by recursive exchange, the nearest ranks first; everybody's block is in place. */
void exchange(Rank &rank, Tasks &tasks, int64_t k) {
    const RecursiveExchange plan(rank.p, rank.id,
                                 static_cast<int>(std::min<int64_t>(k, std::max(rank.p, 2))));
    const Blocks blocks = blocks_of_ranks(rank);
    const Span all = rank.output();
    const auto held = [&](int by, int phase) {
        const RankRange range = plan.ranks_near(plan.number(by), phase);
        return blocks.run(all, range.from, range.end);
    };
    if (!plan.takes_part()) {
        tasks.isend(plan.sends_to, blocks.block(all, rank.id));
        tasks.fence();
        tasks.irecv(plan.sends_to, all);
        return;
    }
    for (const int other : plan.receives_from)
        tasks.irecv(other, blocks.block(all, other));
    tasks.fence();
    Tasks::After receives;
    for (int phase = 0; phase < plan.phases; ++phase) {
        const auto &partners = plan.partners[static_cast<size_t>(phase)];
        for (const int partner : partners)
            tasks.isend(partner, held(rank.id, phase), receives);
        for (const int partner : partners)
            receives.push_back(tasks.irecv(partner, held(partner, phase)));
    }
    for (const int other : plan.receives_from)
        tasks.isend(other, all, receives);
}

/** MPICH's allgatherv along a ring, by way of two buffers that are sent from and received into by turns: a
 * step starts when both messages of the last one are through, and what it overwrites is copied out. */
void ring(Rank &rank, Tasks &tasks) {
    const Blocks blocks = blocks_of_ranks(rank);
    const auto block_at = [&](int places) { return blocks.block(rank.output(), around(rank, places)); };
    const std::array<Span, 2> buffers{rank.scratch(blocks.length(0)), rank.scratch(blocks.length(0))};
    const auto part = [&](int step, int places) {
        return buffers[static_cast<size_t>(step % 2)].part(0, block_at(places).length);
    };
    Tasks::After ready{tasks.copy(part(0, 0), block_at(0))};
    Tasks::After free_to_receive;
    Tasks::After copied;
    for (int step = 0; step + 1 < rank.p; ++step) {
        const auto sent = tasks.isend(around(rank, 1), part(step, -step), ready, step);
        const auto received = tasks.irecv(around(rank, -1), part(step + 1, -step - 1), free_to_receive, step);
        ready = {received, sent};
        free_to_receive = copied;
        free_to_receive.insert(free_to_receive.end(), ready.begin(), ready.end());
        copied = {tasks.copy(block_at(-step - 1), part(step + 1, -step - 1), {received})};
    }
}

} // namespace

void mpich_nb_scatterv_recexch(Rank &rank, const Parameters &parameters) {
    Tasks tasks(rank);
    scatterv(rank, tasks, parameters["scatterv_k"]);
    tasks.fence();
    exchange(rank, tasks, parameters["allgatherv_k"]);
}

void mpich_nb_scatterv_ring(Rank &rank, const Parameters &parameters) {
    Tasks tasks(rank);
    scatterv(rank, tasks, parameters["scatterv_k"]);
    tasks.fence();
    ring(rank, tasks);
}

} // namespace offbeat::algorithms::bcast
