#include "algorithms/allgather.hpp"

namespace offbeat::algorithms {

using schedule::Collective;

std::vector<Algorithm> allgather_algorithms() {
    constexpr Collective ag = Collective::allgather;
    const std::vector<Parameter> radix = {{"k", 2, 2}};
    const std::vector<Parameter> exchange = {{"k", 2, 2}, {"single_phase_recv", 0, 0}};
    return {
        {ag, "openmpi", "linear", allgather::openmpi_gather_bcast},
        {ag, "openmpi", "bruck", allgather::bruck, {}, false, true},
        {ag, "openmpi", "recursive_doubling", allgather::openmpi_recursive_doubling, {}, false, true},
        {ag, "openmpi", "ring", allgather::ring, {}, false, true},
        {ag, "openmpi", "neighbor", allgather::openmpi_neighbor_exchange, {}, false, true},
        {ag, "openmpi", "two_proc", allgather::two_proc, {}, false, true},
        {ag, "openmpi", "sparbit", allgather::sparbit, {}, false, true},

        {ag, "mpich", "brucks", allgather::bruck, {}, false, true},
        {ag, "mpich", "k_brucks", allgather::bruck_radix, radix, false, true},
        {ag, "mpich", "recursive_doubling", allgather::mpich_recursive_doubling, {}, false, true},
        {ag, "mpich", "ring", allgather::ring, {}, false, true},
        {ag, "mpich", "recexch_doubling", allgather::exchange_doubling, exchange, false, true},
        {ag, "mpich", "recexch_halving", allgather::exchange_halving, exchange, false, true},
        {ag, "mpich", "nb(sched_ring)", allgather::ring, {}, false, true},
        {ag, "mpich", "nb(sched_brucks)", allgather::bruck, {}, false, true},
        {ag, "mpich", "nb(sched_recursive_doubling)", allgather::mpich_recursive_doubling, {}, false, true},
        {ag, "mpich", "nb(tsp_ring)", allgather::ring_tasks, {}, false, true},
        {ag, "mpich", "nb(tsp_brucks)", allgather::bruck_tasks, radix, false, true},
        {ag, "mpich", "nb(tsp_recexch_doubling)", allgather::exchange_doubling_tasks, radix, false, true},
        {ag, "mpich", "nb(tsp_recexch_halving)", allgather::exchange_halving_tasks, radix, false, true},

        {ag, "simgrid", "2dmesh", allgather::mesh_2d, {}, false, true},
        {ag, "simgrid", "3dmesh", allgather::mesh_3d, {}, false, true},
        {ag, "simgrid", "bruck", allgather::bruck, {}, false, true},
        {ag, "simgrid", "GB", allgather::simgrid_gather_bcast, {}, false, true},
        {ag, "simgrid", "loosely_lr", allgather::nodes_loose_ring, {}, false, true},
        {ag, "simgrid", "NTSLR", allgather::ring, {}, false, true},
        {ag, "simgrid", "NTSLR_NB", allgather::ring_receives_first, {}, false, true},
        {ag, "simgrid", "pair", allgather::pair, {}, false, true},
        {ag, "simgrid", "rdb", allgather::recursive_doubling, {}, false, true},
        {ag, "simgrid", "rhv", allgather::recursive_halving, {}, false, true},
        {ag, "simgrid", "ring", allgather::to_all_in_steps, {}, false, true},
        {ag, "simgrid", "SMP_NTS", allgather::nodes_ring, {}, false, true},
        {ag, "simgrid", "smp_simple", allgather::nodes_simple, {}, false, true},
        {ag, "simgrid", "spreading_simple", allgather::to_all_at_once, {}, false, true},
        {ag, "simgrid", "ompi_neighborexchange", allgather::simgrid_neighbor_exchange, {}, false, true},
        {ag, "simgrid", "mvapich2_smp", allgather::nodes_mvapich},
    };
}

} // namespace offbeat::algorithms
