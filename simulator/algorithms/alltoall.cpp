#include "algorithms/alltoall.hpp"

namespace offbeat::algorithms {

using schedule::Collective;

/** MPICH's pairwise_sendrecv_replace and nb(sched_inplace) are missing: it refuses them unless the call says
 * MPI_IN_PLACE. */
std::vector<Algorithm> alltoall_algorithms() {
    constexpr Collective a2a = Collective::alltoall;
    return {
        {a2a, "openmpi", "linear", alltoall::linear, {}, false, true},
        {a2a, "openmpi", "pairwise", alltoall::pairwise_openmpi, {}, false, true},
        {a2a, "openmpi", "modified_bruck", alltoall::bruck_openmpi, {}, false, true},
        {a2a, "openmpi", "linear_sync", alltoall::linear_sync, {{"requests", 0, 0}}, false, true},
        {a2a, "openmpi", "two_proc", alltoall::two_proc, {}, false, true},

        {a2a, "mpich", "brucks", alltoall::bruck_simgrid, {}, false, true},
        {a2a, "mpich", "k_brucks", alltoall::bruck_radix, {{"k", 2, 2}}, false, true},
        {a2a, "mpich", "pairwise", alltoall::pair_or_ring, {}, false, true},
        {a2a, "mpich", "scattered", alltoall::scattered, {{"throttle", 32, 0}}, false, true},
        {a2a, "mpich", "nb(sched_brucks)", alltoall::bruck_simgrid, {}, false, true},
        {a2a, "mpich", "nb(sched_pairwise)", alltoall::pair_or_ring, {}, false, true},
        {a2a,
         "mpich",
         "nb(sched_permuted_sendrecv)",
         alltoall::scattered,
         {{"throttle", 32, 0}},
         false,
         true},
        {a2a, "mpich", "nb(tsp_ring)", alltoall::whole_inputs_around_ring, {}, false, true},
        {a2a,
         "mpich",
         "nb(tsp_brucks)",
         alltoall::bruck_tasks,
         {{"k", 2, 2}, {"buffer_per_nbr", 0, 0}},
         false,
         true},
        {a2a,
         "mpich",
         "nb(tsp_scattered)",
         alltoall::scattered_tasks,
         {{"batch_size", 4, 1}, {"outstanding_tasks", 64, 1}},
         false,
         true},

        {a2a, "simgrid", "basic_linear", alltoall::linear, {}, false, true},
        {a2a, "simgrid", "pair", alltoall::pair, {}, false, true},
        {a2a, "simgrid", "ring", alltoall::ring, {}, false, true},
        {a2a, "simgrid", "bruck", alltoall::bruck_simgrid, {}, false, true},
        {a2a, "simgrid", "2dmesh", alltoall::mesh_2d, {}, false, true},
        {a2a, "simgrid", "3dmesh", alltoall::mesh_3d, {}, false, true},
        {a2a, "simgrid", "rdb", alltoall::recursive_doubling, {}, false, true},
        {a2a, "simgrid", "mvapich2_scatter_dest", alltoall::scattered_by_four, {}, false, true},
        {a2a, "simgrid", "pair_light_barrier", alltoall::pair_light_barrier, {}, false, false},
        {a2a, "simgrid", "pair_mpi_barrier", alltoall::pair_every_barrier, {}, false, true},
        {a2a, "simgrid", "pair_one_barrier", alltoall::pair_one_barrier, {}, false, true},
        {a2a, "simgrid", "ring_light_barrier", alltoall::ring_light_barrier, {}, false, false},
        {a2a, "simgrid", "ring_mpi_barrier", alltoall::ring_every_barrier, {}, false, true},
        {a2a, "simgrid", "ring_one_barrier", alltoall::ring_one_barrier, {}, false, true},
    };
}

} // namespace offbeat::algorithms
