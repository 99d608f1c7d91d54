#include "algorithms/barrier.hpp"
#include "algorithms/exchange.hpp"

namespace offbeat::algorithms {

using schedule::Collective;
using schedule::Rank;

namespace {

void linear(Rank &rank, const Parameters & /*none*/) {
    barrier::linear(rank, barrier_tag);
}

template <bool synchronous> void double_ring(Rank &rank, const Parameters & /*none*/) {
    barrier::double_ring(rank, synchronous);
}

template <bool synchronous> void recursive_doubling(Rank &rank, const Parameters & /*none*/) {
    barrier::recursive_doubling(rank, synchronous);
}

} // namespace

std::vector<Algorithm> barrier_algorithms() {
    constexpr Collective bar = Collective::barrier;
    const std::vector<Parameter> radix = {{"k", 2, 2}};
    return {
        {bar, "openmpi", "linear", barrier::linear_openmpi, {}, false, true},
        {bar, "openmpi", "double_ring", double_ring<true>, {}, false, true},
        {bar, "openmpi", "recursive_doubling", recursive_doubling<true>, {}, false, true},
        {bar, "openmpi", "bruck", barrier::dissemination, {}, false, true},
        {bar, "openmpi", "two_proc", barrier::two_proc, {}, false, true},
        {bar, "openmpi", "tree", barrier::tree, {}, false, true},

        {bar, "mpich", "smp", barrier::by_node, {}, false, true},
        {bar, "mpich", "k_dissemination", barrier::dissemination_radix, radix, false, true},
        {bar,
         "mpich",
         "recexch",
         barrier::recursive_exchange,
         {{"k", 2, 2}, {"single_phase_recv", 0, 0}},
         false,
         true},
        {bar, "mpich", "nb(sched_recursive_doubling)", barrier::dissemination, {}, false, true},
        {bar, "mpich", "nb(tsp_recexch)", barrier::recursive_exchange_tasks, radix, false, true},
        {bar, "mpich", "nb(tsp_k_dissemination)", barrier::dissemination_tasks, radix, false, true},

        {bar, "simgrid", "ompi_basic_linear", linear, {}, false, true},
        {bar, "simgrid", "ompi_doublering", double_ring<false>, {}, false, true},
        {bar, "simgrid", "ompi_recursivedoubling", recursive_doubling<false>, {}, false, true},
        {bar, "simgrid", "ompi_bruck", barrier::dissemination, {}, false, true},
        {bar, "simgrid", "ompi_two_procs", barrier::two_proc, {}, false, true},
        {bar, "simgrid", "ompi_tree", barrier::tree, {}, false, true},
        {bar, "simgrid", "mpich_smp", barrier::by_node, {}, false, true},
        {bar, "simgrid", "mvapich2_pair", recursive_doubling<false>, {}, false, true},
    };
}

} // namespace offbeat::algorithms
