#include "algorithms/allgather.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"

#include <stdexcept>

namespace offbeat::algorithms::allgather {

using schedule::Collective;
using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

/** Ranks as runs of equal length. */
struct Runs {
    int length;
    int number;
    int mine;  /**< which one */
    int place; /**< of this rank in it */

    explicit Runs(const Rank &rank) {
        const int uniform = ranks_on_every_node(rank.call);
        length = uniform > 0 ? uniform : 1;
        number = rank.p / length;
        mine = rank.id / length;
        place = rank.id % length;
    }
    /** The run `runs` before (or after) mine, around the circle of runs. */
    [[nodiscard]] int before(int runs) const {
        return ((mine - runs) % number + number) % number;
    }
    [[nodiscard]] int rank_at(int run, int at) const {
        return run * length + at;
    }
    [[nodiscard]] Span blocks_of(const Rank &rank, int run) const {
        return block(rank.output(), run, length * rank.call.count);
    }
};

/** Everybody's own block to everybody in the run, step by step. */
void share_in_run(Rank &rank, const Runs &runs) {
    const int64_t n = rank.call.count;
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    for (int step = 1; step < runs.length; ++step) {
        const int to = runs.rank_at(runs.mine, (runs.place + step) % runs.length);
        const int from = runs.rank_at(runs.mine, (runs.place - step + runs.length) % runs.length);
        rank.sendrecv(to, rank.input(), from, block(rank.output(), from, n));
    }
}

/** The leader passes what it gets on to the next leader, and to the next rank of its run. */
void lead_ring(Rank &rank, const Runs &runs) {
    const int previous = runs.rank_at(runs.before(1), 0);
    const int next = runs.rank_at(runs.before(-1), 0);
    std::vector<Request> receives;
    for (int step = 1; step < runs.number; ++step)
        receives.push_back(rank.irecv(previous, runs.blocks_of(rank, runs.before(step))));
    std::vector<Request> sends = {rank.isend(next, runs.blocks_of(rank, runs.mine))};
    for (int step = 1; step < runs.number; ++step) {
        const Span came = runs.blocks_of(rank, runs.before(step));
        rank.wait(receives[static_cast<size_t>(step - 1)]);
        if (step + 1 < runs.number)
            sends.push_back(rank.isend(next, came));
        if (runs.length > 1)
            rank.send(rank.id + 1, came);
    }
    rank.wait(sends);
}

void pass_down_chain(Rank &rank, const Runs &runs) {
    for (int step = 1; step < runs.number; ++step) {
        const Span came = runs.blocks_of(rank, runs.before(step));
        rank.recv(rank.id - 1, came);
        if (runs.place + 1 < runs.length)
            rank.send(rank.id + 1, came);
    }
}

/** What SimGrid's MPICH chooses. */
void mpich_choice(Rank &rank, const Parameters &parameters) {
    const int64_t bytes = rank.p * rank.call.bytes();
    if (is_power_of_two(rank.p) && bytes < 524288)
        recursive_doubling(rank, parameters);
    else if (bytes <= 81920)
        bruck(rank, parameters);
    else
        to_all_in_steps(rank, parameters);
}

} // namespace

void nodes_simple(Rank &rank, const Parameters & /*none*/) {
    const Runs runs(rank);
    share_in_run(rank, runs);
    const int leader = runs.rank_at(runs.mine, 0);
    if (runs.place > 0)
        return rank.recv(leader, rank.output());
    for (int step = 1; step < runs.number; ++step)
        rank.irecv(runs.rank_at(runs.before(step), 0), runs.blocks_of(rank, runs.before(step)));
    for (int step = 1; step < runs.number; ++step)
        rank.isend(runs.rank_at(runs.before(-step), 0), runs.blocks_of(rank, runs.mine));
    rank.wait_all();
    for (int place = 1; place < runs.length; ++place)
        rank.send(leader + place, rank.output());
}

void nodes_ring(Rank &rank, const Parameters &parameters) {
    const Runs runs(rank);
    if (runs.number <= 1)
        return to_all_at_once(rank, parameters);
    share_in_run(rank, runs);
    if (runs.place == 0)
        lead_ring(rank, runs);
    else
        pass_down_chain(rank, runs);
}

void nodes_loose_ring(Rank &rank, const Parameters & /*none*/) {
    const Runs runs(rank);
    const int64_t n = rank.call.count;
    const auto block_at = [&](int run, int place) {
        return block(rank.output(), runs.rank_at(run, place), n);
    };
    rank.copy(block(rank.output(), rank.id, n), rank.input());
    for (int step = 0; step < runs.number; ++step) {
        const Span came = block_at(runs.before(step), runs.place);
        Request next_one = schedule::none;
        for (int place = 0; place < runs.length; ++place) {
            const int peer = runs.rank_at(runs.mine, place);
            if (place != runs.place) {
                rank.irecv(peer, block_at(runs.before(step), place));
                rank.isend(peer, came);
            } else if (step + 1 < runs.number) {
                next_one = rank.irecv(runs.rank_at(runs.before(1), runs.place),
                                      block_at(runs.before(step + 1), runs.place));
                rank.isend(runs.rank_at(runs.before(-1), runs.place), came);
            }
        }
        if (next_one != schedule::none)
            rank.wait(next_one);
    }
}

void nodes_mvapich(Rank &rank, const Parameters &parameters) {
    const int length = ranks_on_every_node(rank.call);
    if (length == 0 || !nodes_are_consecutive(rank.call))
        throw std::invalid_argument(
            "mvapich2_smp needs nodes with equally many ranks, numbered node by node");
    const int64_t n = rank.call.count;
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const Span of_node = rank.scratch(leaders.has_me() ? length * n : 0);
    run(rank, node, {Collective::gather, 0, n, rank.input(), of_node}, simgrid_gather);
    if (leaders.has_me() && leaders.p > 1)
        run(rank, leaders, {Collective::allgather, 0, length * n, of_node, rank.output()},
            [&](Rank &inner) { mpich_choice(inner, parameters); });
    else if (leaders.has_me())
        rank.copy(rank.output(), of_node);
    run(rank, node, {Collective::bcast, 0, rank.p * n, {}, rank.output()}, "simgrid", "binomial_tree");
}

} // namespace offbeat::algorithms::allgather
