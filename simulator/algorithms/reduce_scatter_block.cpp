#include "algorithms/reduce_scatter.hpp"

namespace offbeat::algorithms {

using namespace reduce_scatter;

/** SMPI has algorithms for reduce_scatter only, and calls those. */
std::vector<Algorithm> reduce_scatter_block_algorithms() {
    constexpr auto collective = schedule::Collective::reduce_scatter_block;
    constexpr bool ordered = true;
    constexpr bool not_always = false; // but where the operation doesn't commute, if it can
    constexpr bool scales = true;
    const Parameter k{"k", 2, 2};
    return {
        {collective, "openmpi", "basic_linear", openmpi_reduce_scatter},
        {collective, "openmpi", "recursive_doubling", recursive_doubling, {}, not_always, scales},
        {collective, "openmpi", "recursive_halving", openmpi_recursive_halving, {}, not_always},
        {collective, "openmpi", "butterfly", openmpi_butterfly, {}, ordered, scales},

        {collective, "mpich", "noncommutative", mpich_noncommutative},
        {collective, "mpich", "recursive_doubling", recursive_doubling, {}, not_always, scales},
        {collective, "mpich", "pairwise", mpich_pairwise, {}, not_always, scales},
        {collective, "mpich", "recursive_halving", mpich_recursive_halving, {}, not_always, scales},
        {collective, "mpich", "nb(sched_noncommutative)", mpich_noncommutative},
        {collective, "mpich", "nb(sched_recursive_doubling)", recursive_doubling, {}, not_always, scales},
        {collective, "mpich", "nb(sched_pairwise)", mpich_pairwise, {}, not_always, scales},
        {collective, "mpich", "nb(sched_recursive_halving)", mpich_recursive_halving, {}, not_always, scales},
        {collective, "mpich", "nb(tsp_recexch)", task_exchange, {k}, not_always, scales},

        {collective, "simgrid", "ompi_basic_recursivehalving", recursive_halving, {}, not_always, scales},
        {collective, "simgrid", "ompi_ring", ring, {}, not_always, scales},
        {collective, "simgrid", "ompi_butterfly", butterfly, {}, ordered, scales},
        {collective, "simgrid", "mpich_pair", pairwise, {}, not_always, scales},
        {collective, "simgrid", "mpich_rdb", recursive_doubling, {}, not_always, scales},
        {collective, "simgrid", "mpich_noncomm", simgrid_noncommutative, {}, ordered, scales},
    };
}

} // namespace offbeat::algorithms
