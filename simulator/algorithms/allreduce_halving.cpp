#include "algorithms/allreduce.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

#include <vector>

namespace offbeat::algorithms::allreduce {

void copy_input_to_output(Rank &rank) {
    copy_some(rank, rank.output(), rank.input());
}

void recursive_doubling_in_place(Rank &rank) {
    const Folding folding = fold(rank, Keep::odd);
    const Span incoming = rank.scratch(rank.call.count);
    fold_into_pairs(rank, folding, rank.output(), incoming);
    exchange_by_doubling(rank, folding, rank.output(), incoming);
    return_to_folded(rank, folding, rank.output());
}

/** Open MPI's ompi_coll_base_allreduce_intra_recursivedoubling, MPICH's
 * MPIR_Allreduce_intra_recursive_doubling and MPIR_Iallreduce_intra_sched_recursive_doubling, SimGrid's
 * allreduce__rdb.
 * Rounds: lg(p). Bytes: m * lg(p). Other p: two rounds more. */
void recursive_doubling(Rank &rank) {
    copy_input_to_output(rank);
    recursive_doubling_in_place(rank);
}

void halving_in_place(Rank &rank, bool remainder_last) {
    const Folding folding = fold(rank, Keep::odd);
    const Blocks blocks = remainder_last ? Blocks::remainder_last(rank.call.count, folding.size)
                                         : Blocks::even(rank.call.count, folding.size);
    const Span incoming = rank.scratch(rank.call.count);
    fold_into_pairs(rank, folding, rank.output(), incoming);
    const auto rounds =
        halve_blocks(folding, Distances::growing, [&](int64_t block) { return blocks.offset(block); });
    reduce_by_halves(rank, rounds, rank.output(), incoming);
    gather_by_halves(rank, rounds, rank.output());
    return_to_folded(rank, folding, rank.output());
}

/** SimGrid's allreduce__rab_rdb: recursive halving, then recursive doubling.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void halving_remainder_last(Rank &rank) {
    copy_input_to_output(rank);
    halving_in_place(rank, true);
}

/** SimGrid's allreduce__mvapich2_rs.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void mvapich_halving(Rank &rank) {
    if (rank.call.count == 0)
        return;
    copy_input_to_output(rank);
    if (rank.call.count < fold(rank, Keep::odd).size)
        recursive_doubling_in_place(rank);
    else
        halving_in_place(rank, true);
}

/** SimGrid's allreduce__rab, after Rabenseifner, Optimization of collective reduction operations (2004).
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. Other p: three rounds and up to 1.5 m more. */
void rabenseifner(Rank &rank) {
    copy_input_to_output(rank);
    const Folding folding = fold(rank, Keep::even);
    const Span incoming = rank.scratch(rank.call.count);
    fold_halves_into_pairs(rank, folding, rank.output(), incoming);
    const auto rounds = halve_elements(folding, rank.call.count);
    reduce_by_halves(rank, rounds, rank.output(), incoming);
    gather_by_halves(rank, rounds, rank.output());
    return_to_folded(rank, folding, rank.output());
}

/** Open MPI's ompi_coll_base_allreduce_intra_redscat_allgather.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void openmpi_rabenseifner(Rank &rank) {
    if (rank.call.commutative)
        rabenseifner(rank);
    else
        openmpi_linear(rank);
}

namespace {

/** Above these sizes MPICH 5 divides the data: maint/tuning/coll/mpir/generic.json for the blocking call, the
 * default of MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE for schedules. */
constexpr int64_t mpich_short_bytes = 8;
constexpr int64_t mpich_scheduled_short_bytes = 2048;

/** MPICH uses recursive halving only for built-in operations, and only if every block gets an element. */
bool can_halve(const Rank &rank) {
    return rank.call.commutative && rank.call.count >= fold(rank, Keep::odd).size;
}

} // namespace

void mpich_choice(Rank &rank, bool scheduled) {
    copy_input_to_output(rank);
    mpich_choice_in_place(rank, scheduled);
}

void mpich_choice_in_place(Rank &rank, bool scheduled) {
    const int64_t short_bytes = scheduled ? mpich_scheduled_short_bytes : mpich_short_bytes;
    if (rank.call.count == 0)
        return;
    if (rank.call.bytes() <= short_bytes || !can_halve(rank))
        recursive_doubling_in_place(rank);
    else
        halving_in_place(rank, scheduled);
}

/** MPICH's MPIR_Allreduce_intra_reduce_scatter_allgather and
 * MPIR_Iallreduce_intra_sched_reduce_scatter_allgather.
 * Rounds: 2 * lg(p). Bytes: 2 * m * (p - 1) / p. */
void mpich_halving(Rank &rank, bool scheduled) {
    if (!can_halve(rank))
        return mpich_choice(rank, scheduled);
    copy_input_to_output(rank);
    halving_in_place(rank, scheduled);
}

namespace {

/** The tree from rank 0. Operations that do not commute need the tree whose subtrees are runs of ranks. */
Tree tree_of(const Rank &rank, const Parameters &parameters) {
    const int64_t type = rank.call.commutative ? parameters["tree_type"] : mpich_knomial_1;
    return mpich_tree_of_type({rank.p, rank.id, 0}, type, parameters["k"]);
}

/** The part of another buffer at the place of a chunk of the output. */
Span same_place(const Span &buffer, const Span &chunk) {
    return buffer.part(chunk.offset, chunk.length);
}

Order order_of(const Rank &rank) {
    return rank.call.commutative ? Order::from_first : Order::into_first;
}

} // namespace

/** MPICH's MPIR_Allreduce_intra_tree. On the default tree, knomial_1, with one chunk; a rank receives from
 * one child after the other:
 * Rounds: (k - 1) * log(p, k) * (log(p, k) + 1) / 2 + log(p, k). Bytes: m * (k - 1) * log(p, k). */
void mpich_tree(Rank &rank, const Parameters &parameters) {
    copy_input_to_output(rank);
    const Tree tree = tree_of(rank, parameters);
    const Span received = rank.scratch(rank.call.count);
    const Span sent = rank.scratch(rank.call.count);
    for (const Span &chunk : mpich_chunks(rank.call, rank.output(), parameters["chunk_size"])) {
        for (const int child : tree.children) {
            rank.recv(child, same_place(received, chunk));
            reduce_some(rank, chunk, same_place(received, chunk), order_of(rank));
        }
        if (!tree.is_root()) {
            // MPICH sends from the buffer that receives the result, and relies on the result coming later.
            rank.copy(same_place(sent, chunk), chunk);
            rank.isend(tree.parent, same_place(sent, chunk));
            rank.recv(tree.parent, chunk);
        }
        for (const int child : tree.children)
            rank.isend(child, chunk);
    }
    rank.wait_all();
}

/** MPICH's MPIR_TSP_Iallreduce_sched_intra_tree. On the default tree, kary, with one chunk and one buffer
 * for all children:
 * Rounds: up to (k + 1) * log(p, k). Bytes: up to m * (k + 1). */
void task_tree(Rank &rank, const Parameters &parameters) {
    const Tree tree = tree_of(rank, parameters);
    const bool buffer_per_child = parameters["buffer_per_child"] != 0;
    std::vector<Span> buffers;
    for (size_t i = 0; i < tree.children.size(); ++i)
        buffers.push_back(buffer_per_child || i == 0 ? rank.scratch(rank.call.count) : buffers[0]);
    Tasks tasks(rank);
    const Tasks::Task copied = tasks.copy(rank.output(), rank.input());
    int tag = 0;
    for (const Span &chunk : mpich_chunks(rank.call, rank.output(), parameters["chunk_size"])) {
        ++tag;
        Tasks::Task last = copied;
        for (size_t i = 0; i < tree.children.size(); ++i) {
            const Span buffer = same_place(buffers[i], chunk);
            const auto received =
                tasks.irecv(tree.children[i], buffer, {buffer_per_child ? copied : last}, tag);
            last = tasks.reduce(chunk, buffer, order_of(rank), {last, received});
        }
        if (!tree.is_root())
            tasks.isend(tree.parent, chunk, {last}, tag);
        Tasks::Task complete = tasks.sink();
        if (!tree.is_root())
            complete = tasks.irecv(tree.parent, chunk, {complete}, tag);
        if (!tree.is_leaf())
            tasks.imcast(tree.children, chunk, {complete}, tag);
    }
}

} // namespace offbeat::algorithms::allreduce
