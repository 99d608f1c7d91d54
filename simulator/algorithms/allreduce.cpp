#include "algorithms/allreduce.hpp"

#include <algorithm>
#include <iterator>

namespace offbeat::algorithms {

namespace {

using namespace allreduce;

constexpr auto collective = schedule::Collective::allreduce;
constexpr bool ordered = true;
constexpr bool not_always = false; /**< but where the operation doesn't commute, if it can */
constexpr bool scales = true;

std::vector<Algorithm> openmpi() {
    return {
        {collective, "openmpi", "basic_linear", openmpi_linear, {}, ordered, scales},
        {collective, "openmpi", "nonoverlapping", openmpi_nonoverlapping},
        {collective, "openmpi", "recursive_doubling", recursive_doubling, {}, ordered, scales},
        {collective, "openmpi", "ring", openmpi_ring},
        {collective, "openmpi", "segmented_ring", openmpi_segmented_ring, {{"segment", 0, 0}}},
        {collective, "openmpi", "rabenseifner", openmpi_rabenseifner},
    };
}

/** MPICH 5, with its default values. Its topology-aware trees are missing; buffer_per_child makes no
 * difference to the blocking tree, which receives from one child at a time. */
std::vector<Algorithm> mpich() {
    const Parameter k{"k", 2, 2};
    const Parameter single_phase{"single_phase_recv", 0, 0};
    const Parameter chunk_size{"chunk_size", 0, 0};
    const Parameter buffer_per_child{"buffer_per_child", 0, 0};
    const std::vector<Parameter> of_tree = {{"tree_type", 1, 0}, {"k", 2, 1}, chunk_size, buffer_per_child};
    const std::vector<Parameter> of_tasks = {{"tree_type", 0, 0}, {"k", 2, 1}, chunk_size, buffer_per_child};
    return {
        {collective, "mpich", "nb(sched_naive)", mpich_scheduled_naive},
        {collective, "mpich", "nb(sched_smp)", mpich_scheduled_nodes},
        {collective, "mpich", "nb(sched_recursive_doubling)", recursive_doubling, {}, ordered, scales},
        {collective, "mpich", "nb(sched_reduce_scatter_allgather)", mpich_scheduled_halving},
        {collective,
         "mpich",
         "nb(tsp_recexch_single_buffer)",
         task_exchange_single_buffer,
         {k},
         not_always,
         scales},
        {collective,
         "mpich",
         "nb(tsp_recexch_multiple_buffer)",
         task_exchange_multiple_buffer,
         {k},
         not_always,
         scales},
        {collective, "mpich", "nb(tsp_tree)", task_tree, of_tasks},
        {collective, "mpich", "nb(tsp_ring)", mpich_task_ring},
        {collective,
         "mpich",
         "nb(tsp_recexch_reduce_scatter_recexch_allgatherv)",
         task_exchange_halving,
         {k}},
        {collective, "mpich", "smp", mpich_nodes},
        {collective, "mpich", "recursive_doubling", recursive_doubling, {}, ordered, scales},
        {collective, "mpich", "recursive_multiplying", recursive_multiplying, {k}, not_always, scales},
        {collective, "mpich", "reduce_scatter_allgather", mpich_halving},
        {collective, "mpich", "tree", mpich_tree, of_tree},
        {collective, "mpich", "recexch", recursive_exchange, {k, single_phase}, ordered, scales},
        {collective, "mpich", "ring", mpich_ring},
        {collective, "mpich", "k_reduce_scatter_allgather", exchange_halving, {k, single_phase}},
    };
}

/** Those of SMPI, whose calls of other collectives are its defaults. */
std::vector<Algorithm> simgrid() {
    return {
        {collective, "simgrid", "lr", simgrid_ring},
        {collective, "simgrid", "rab1", halving_then_allgather},
        {collective, "simgrid", "rab2", alltoall_then_allgather},
        {collective, "simgrid", "rab_rdb", halving_remainder_last},
        {collective, "simgrid", "rdb", recursive_doubling, {}, ordered, scales},
        {collective, "simgrid", "smp_binomial", smp_binomial, {}, not_always, scales},
        {collective, "simgrid", "smp_binomial_pipeline", smp_binomial_pipeline},
        {collective, "simgrid", "smp_rdb", smp_doubling, {}, not_always, scales},
        {collective, "simgrid", "smp_rsag", smp_ring},
        {collective, "simgrid", "smp_rsag_lr", smp_ring_remainder_last},
        {collective, "simgrid", "smp_rsag_rab", smp_halving},
        {collective, "simgrid", "redbcast", reduce_then_bcast, {}, not_always, scales},
        {collective, "simgrid", "ompi_ring_segmented", simgrid_segmented_ring},
        {collective, "simgrid", "mvapich2_rs", mvapich_halving},
        {collective, "simgrid", "mvapich2_two_level", mvapich_two_level},
        {collective, "simgrid", "rab", rabenseifner_own},
    };
}

} // namespace

std::vector<Algorithm> allreduce_algorithms() {
    std::vector<Algorithm> list = openmpi();
    std::ranges::copy(mpich(), std::back_inserter(list));
    std::ranges::copy(simgrid(), std::back_inserter(list));
    return list;
}

} // namespace offbeat::algorithms
