#include "algorithms/allgather.hpp"
#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::bcast {

namespace {

Tree requested_tree(const Rank &rank, const Parameters &parameters) {
    return mpich_tree_of_type(rank, parameters["tree_type"], parameters["k"]);
}

Sends requested_sends(const Parameters &parameters) {
    return parameters["is_non_blocking"] != 0 ? Sends::nonblocking : Sends::blocking;
}

/** A task graph that forwards each chunk independently, with a tag of its own; all receives are posted at the
 * start. */
void forward_chunks_along_tree(Rank &rank, const Tree &tree, int64_t chunk_bytes) {
    Tasks tasks(rank);
    int tag = 0;
    for (const Span &chunk : mpich_chunks(rank.call, rank.output(), chunk_bytes)) {
        Tasks::After received;
        if (!tree.is_root())
            received.push_back(tasks.irecv(tree.parent, chunk, {}, tag));
        if (!tree.is_leaf())
            tasks.imcast(tree.children, chunk, received, tag);
        ++tag;
    }
}

} // namespace

/** MPICH's MPIR_Bcast_intra_binomial.
 * Rounds: lg(p). Bytes: m * lg(p). */
void mpich_binomial(Rank &rank) {
    if (rank.call.count > 0)
        binomial(rank);
}

/** MPICH's MPIR_Ibcast_intra_sched_binomial.
 * Rounds: lg(p). Bytes: m * lg(p). */
void mpich_nb_binomial(Rank &rank) {
    along_tree(rank, knomial_tree(rank, 2), Sends::nonblocking);
}

/** MPICH's MPIR_Bcast_intra_tree. On the default tree, kary:
 * Rounds: log(p, k). Bytes: m * k. */
void mpich_tree(Rank &rank, const Parameters &parameters) {
    if (rank.call.count > 0)
        along_tree(rank, requested_tree(rank, parameters), requested_sends(parameters));
}

/** MPICH's MPIR_Bcast_intra_pipelined_tree. Sends are not waited for, and the receives of three chunks are
 * posted at once. On the default tree, kary:
 * Rounds: max(q - 3, 0) + log(p, k). Bytes: m * k. */
void mpich_pipelined_tree(Rank &rank, const Parameters &parameters) {
    const Tree tree = requested_tree(rank, parameters);
    const std::vector<Span> chunks = mpich_chunks(rank.call, rank.output(), parameters["chunk_size"]);
    const size_t count = chunks.size();
    const Sends sends = requested_sends(parameters);
    constexpr size_t receives_ahead = 3; // in MPICH's bcast_intra_pipelined_tree.c
    const bool is_nonblocking = sends == Sends::nonblocking;
    const bool posts_all = is_nonblocking && (count <= receives_ahead || parameters["recv_pre_posted"] != 0);
    const size_t receives_posted = posts_all ? count : is_nonblocking ? receives_ahead : 0;
    std::vector<Request> receives;
    for (size_t i = 0; !tree.is_root() && i < receives_posted; ++i)
        receives.push_back(rank.irecv(tree.parent, chunks[i]));
    for (size_t i = 0; i < count; ++i) {
        if (!tree.is_root() && i < receives_posted)
            rank.wait(receives[i]);
        else if (!tree.is_root())
            rank.recv(tree.parent, chunks[i]);
        send_to_children(rank, tree, chunks[i], sends);
    }
}

/** MPICH's MPIR_TSP_Ibcast_sched_intra_tree. On the default tree, kary:
 * Rounds: log(p, k). Bytes: m * k. */
void mpich_nb_tree(Rank &rank, const Parameters &parameters) {
    forward_chunks_along_tree(rank, requested_tree(rank, parameters), parameters["chunk_size"]);
}

/** MPICH's MPIR_Ibcast_intra_tsp_ring, which is MPIR_TSP_Ibcast_sched_intra_tree with k = 1.
 * Rounds: p - 1. Bytes: m. */
void mpich_nb_ring(Rank &rank, const Parameters &parameters) {
    forward_chunks_along_tree(rank, chain_tree(rank, 1), parameters["chunk_size"]);
}

namespace {

Blocks blocks_of_ranks(const Rank &rank) {
    return Blocks::rounded_up(rank.call.count, rank.p);
}

/** Every rank gets its block and those of its subtree. MPICH uses numbers relative to the root as ranks here:
 * with a root other than 0 it sends from outside the buffer and fails. */
void scatterv(Rank &rank, Tasks &tasks, int64_t k) {
    if (rank.call.root != 0)
        throw std::invalid_argument("MPICH's bcasts by scatterv fail unless the root is rank 0; here it is " +
                                    std::to_string(rank.call.root));
    const RunTree runs = mpich_knomial_runs(rank, k);
    const Blocks blocks = blocks_of_ranks(rank);
    Tasks::After received;
    if (!runs.tree.is_root())
        received.push_back(
            tasks.irecv(runs.tree.parent, blocks.run(rank.output(), rank.id, rank.id + runs.size)));
    for (size_t i = 0; i < runs.tree.children.size(); ++i) {
        const int child = runs.tree.children[i];
        tasks.isend(child, blocks.run(rank.output(), child, child + runs.child_size[i]), received);
    }
}

} // namespace

/** MPICH's MPIR_TSP_Ibcast_sched_intra_scatterv_allgatherv.
 * Rounds: log(p, scatterv_k) + log(p, allgatherv_k). Bytes: 2 * m * (p - 1) / p. */
void mpich_nb_scatterv_recexch(Rank &rank, const Parameters &parameters) {
    Tasks tasks(rank);
    scatterv(rank, tasks, parameters["scatterv_k"]);
    tasks.fence();
    allgather::exchange_blocks_as_tasks(rank, tasks, parameters["allgatherv_k"],
                                        allgather::Distances::doubling, blocks_of_ranks(rank), true);
}

/** MPICH's MPIR_TSP_Ibcast_sched_intra_scatterv_ring_allgatherv.
 * Rounds: log(p, scatterv_k) + p - 1. Bytes: 2 * m * (p - 1) / p. */
void mpich_nb_scatterv_ring(Rank &rank, const Parameters &parameters) {
    Tasks tasks(rank);
    scatterv(rank, tasks, parameters["scatterv_k"]);
    tasks.fence();
    gather_blocks_along_ring(rank, tasks, blocks_of_ranks(rank), 0);
}

} // namespace offbeat::algorithms::bcast
