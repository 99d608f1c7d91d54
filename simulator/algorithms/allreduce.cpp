#include "algorithms/allreduce.hpp"

#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/openmpi_choice.hpp"
#include "algorithms/reduce.hpp"
#include "algorithms/subcall.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace offbeat::algorithms::allreduce {

namespace {

/** A reduce to rank 0. */
Subcall reduce_to_first(Rank &rank) {
    return {Collective::reduce, 0, rank.call.count, rank.input(), rank.output()};
}

/** A bcast from rank 0. */
Subcall bcast_from_first(Rank &rank) {
    return {Collective::bcast, 0, rank.call.count, {}, rank.output()};
}

} // namespace

/** Open MPI's ompi_coll_base_allreduce_intra_basic_linear: a flat reduce to rank 0, then a flat bcast.
 * Rounds: p. Bytes: m * (p - 1). */
void openmpi_linear(Rank &rank) {
    run_subcall(rank, everyone(rank), reduce_to_first(rank), "openmpi", "linear");
    run_subcall(rank, everyone(rank), bcast_from_first(rank), "openmpi", "basic_linear");
}

/** Open MPI's ompi_coll_base_allreduce_intra_nonoverlapping.
 * Rounds and bytes: the sum of those of the reduce and the bcast that Open MPI chooses. */
void openmpi_nonoverlapping(Rank &rank) {
    run_openmpi_choice(rank, everyone(rank), reduce_to_first(rank));
    run_openmpi_choice(rank, everyone(rank), bcast_from_first(rank));
}

/** SimGrid's allreduce__redbcast: a flat reduce, then a binomial bcast.
 * Rounds: 1 + lg(p). Bytes: m * lg(p). */
void reduce_then_bcast(Rank &rank) {
    reduce_then_bcast_part(rank, rank.input(), rank.output());
}

void reduce_then_bcast_part(Rank &rank, Span input, Span output) {
    const Subcall reduce{Collective::reduce, 0, output.length, input, output};
    run_subcall(rank, everyone(rank), reduce, reduce::linear_nonblocking);
    const Subcall bcast{Collective::bcast, 0, output.length, {}, output};
    run_subcall(rank, everyone(rank), bcast, "simgrid", "binomial_tree");
}

namespace {

/** A copy of the input, repeated up to `length` elements. */
Span padded_input(Rank &rank, int64_t length) {
    const Span padded = rank.scratch(length);
    for (int64_t filled = 0; filled < length; filled += rank.call.count) {
        const int64_t more = std::min(rank.call.count, length - filled);
        rank.copy(padded.part(filled, more), rank.input().part(0, more));
    }
    return padded;
}

/** SMPI's default allgather: every rank sends its block, which is in place, to every other rank. */
void allgather_in_place(Rank &rank, Span all, int64_t length) {
    for (int other = 0; other < rank.p; ++other) {
        if (other == rank.id)
            continue;
        rank.isend(other, block(all, rank.id, length), 1);
        rank.irecv(other, block(all, other, length), 1);
    }
    rank.wait_all();
}

/** SMPI's default alltoall: Open MPI's choice, with SimGrid's most similar algorithms. */
void alltoall(Rank &rank, Span input, Span output, int64_t length) {
    Call call = rank.call;
    call.collective = Collective::alltoall;
    call.count = length;
    const std::string_view choice = openmpi_choice(call);
    const Subcall subcall{Collective::alltoall, 0, length, input, output};
    run_subcall(rank, everyone(rank), subcall, "simgrid",
                choice == "pairwise"         ? "pair"
                : choice == "modified_bruck" ? "bruck"
                                             : "basic_linear");
}

} // namespace

/** SimGrid's allreduce__rab1: a reduce-scatter by recursive halving, then SMPI's flat allgather.
 * Rounds: lg(p) + 1. Bytes: 2 * m * (p - 1) / p. */
void halving_then_allgather(Rank &rank) {
    const int64_t count = rank.call.count;
    const bool divides = count % rank.p == 0;
    const int64_t length = divides ? count / rank.p : (count + rank.p) / rank.p;
    if (divides)
        copy_input_to_output(rank);
    const Span all = divides ? rank.output() : padded_input(rank, length * rank.p);
    const auto rounds = halve_blocks(fold(rank, Keep::odd), Distances::shrinking,
                                     [&](int64_t number) { return number * length; });
    reduce_by_halves(rank, rounds, all, rank.scratch(length * rank.p));
    allgather_in_place(rank, all, length);
    if (!divides)
        rank.copy(rank.output(), all.part(0, count));
}

/** SimGrid's allreduce__rab2: an alltoall, local reductions, SMPI's flat allgather. With a flat alltoall,
 * which SMPI chooses for blocks of some kilobytes:
 * Rounds: 2. Bytes: 2 * m * (p - 1) / p. */
void alltoall_then_allgather(Rank &rank) {
    const int64_t count = rank.call.count;
    const bool divides = count % rank.p == 0;
    const int64_t length = divides ? count / rank.p : count < rank.p ? rank.p : (count + rank.p) / rank.p;
    const Span received = rank.scratch(length * rank.p);
    alltoall(rank, divides ? rank.input() : padded_input(rank, length * rank.p), received, length);
    const Span all = divides ? rank.output() : rank.scratch(length * rank.p);
    const Span own_block = block(all, rank.id, length);
    copy_some(rank, own_block, block(received, 0, length));
    for (int other = 1; other < rank.p; ++other)
        reduce_some(rank, own_block, block(received, other, length));
    allgather_in_place(rank, all, length);
    if (!divides)
        rank.copy(rank.output(), all.part(0, count));
}

/** MPICH's MPIR_Iallreduce_intra_sched_naive.
 * Rounds and bytes: the sum of those of the reduce and the bcast that MPICH schedules. */
void mpich_scheduled_naive(Rank &rank) {
    run_subcall(rank, everyone(rank), reduce_to_first(rank), "mpich", "nb(sched_smp)");
    run_subcall(rank, everyone(rank), bcast_from_first(rank), "mpich", "nb(sched_smp)");
}

} // namespace offbeat::algorithms::allreduce

namespace offbeat::algorithms {

/** MPICH's topology-aware trees are missing. Its buffer_per_child makes no difference to the blocking tree,
 * which receives from one child at a time. Where SimGrid's algorithms call other collectives, they call
 * SMPI's defaults. */
std::vector<Algorithm> allreduce_algorithms() {
    using namespace allreduce;
    return {
        {"openmpi", "basic_linear", openmpi_linear, ordered | scales},
        {"openmpi", "nonoverlapping", openmpi_nonoverlapping},
        {"openmpi", "recursive_doubling", recursive_doubling, ordered | scales},
        {"openmpi", "ring", openmpi_ring},
        {"openmpi", "segmented_ring", openmpi_segmented_ring, {{"segment", 0}}},
        {"openmpi", "rabenseifner", openmpi_rabenseifner},
        {"mpich", "nb(sched_naive)", mpich_scheduled_naive},
        {"mpich", "nb(sched_smp)", fixed(mpich_by_nodes, true)},
        {"mpich", "nb(sched_recursive_doubling)", recursive_doubling, ordered | scales},
        {"mpich", "nb(sched_reduce_scatter_allgather)", fixed(mpich_halving, true)},
        {"mpich", "nb(tsp_recexch_single_buffer)", fixed(exchange_as_tasks, false), {{"k", 2, 2}}, scales},
        {"mpich", "nb(tsp_recexch_multiple_buffer)", fixed(exchange_as_tasks, true), {{"k", 2, 2}}, scales},
        {"mpich",
         "nb(tsp_tree)",
         task_tree,
         {{"tree_type", 0}, {"k", 2, 1}, {"chunk_size", 0}, {"buffer_per_child", 0}}},
        {"mpich", "nb(tsp_ring)", mpich_task_ring},
        {"mpich", "nb(tsp_recexch_reduce_scatter_recexch_allgatherv)", task_exchange_halving, {{"k", 2, 2}}},
        {"mpich", "smp", fixed(mpich_by_nodes, false)},
        {"mpich", "recursive_doubling", recursive_doubling, ordered | scales},
        {"mpich", "recursive_multiplying", recursive_multiplying, {{"k", 2, 2}}, scales},
        {"mpich", "reduce_scatter_allgather", fixed(mpich_halving, false)},
        {"mpich",
         "tree",
         mpich_tree,
         {{"tree_type", 1}, {"k", 2, 1}, {"chunk_size", 0}, {"buffer_per_child", 0}}},
        {"mpich", "recexch", recursive_exchange, {{"k", 2, 2}, {"single_phase_recv", 0}}, ordered | scales},
        {"mpich", "ring", mpich_ring},
        {"mpich", "k_reduce_scatter_allgather", exchange_halving, {{"k", 2, 2}, {"single_phase_recv", 0}}},
        {"simgrid", "lr", simgrid_ring},
        {"simgrid", "rab1", halving_then_allgather, powers_of_two},
        {"simgrid", "rab2", alltoall_then_allgather},
        {"simgrid", "rab_rdb", halving_remainder_last},
        {"simgrid", "rdb", recursive_doubling, ordered | scales},
        {"simgrid", "smp_binomial", smp_binomial, scales},
        {"simgrid", "smp_binomial_pipeline", smp_binomial_pipeline},
        {"simgrid", "smp_rdb", smp_doubling, scales},
        {"simgrid", "smp_rsag", smp_ring},
        {"simgrid", "smp_rsag_lr", smp_ring_remainder_last},
        {"simgrid", "smp_rsag_rab", smp_halving, powers_of_two},
        {"simgrid", "redbcast", reduce_then_bcast, scales},
        {"simgrid", "ompi_ring_segmented", simgrid_segmented_ring},
        {"simgrid", "mvapich2_rs", mvapich_halving},
        {"simgrid", "mvapich2_two_level", mvapich_two_level},
        {"simgrid", "rab", rabenseifner},
    };
}

} // namespace offbeat::algorithms
