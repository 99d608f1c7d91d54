#include "algorithms/scan.hpp"

namespace offbeat::algorithms {

namespace {

constexpr auto collective = schedule::Collective::scan;
constexpr bool ordered = true;
constexpr bool scales = true;

} // namespace

std::vector<Algorithm> scan_algorithms() {
    return {
        {collective, "openmpi", "linear", scan::linear, {}, ordered, scales},
        {collective, "openmpi", "recursive_doubling", scan::doubling, {}, ordered, scales},
        {collective, "mpich", "recursive_doubling", scan::doubling, {}, ordered, scales},
        {collective, "mpich", "smp", scan::mpich_nodes, {}, ordered},
        {collective, "mpich", "nb(sched_smp)", scan::mpich_scheduled_nodes, {}, ordered},
        {collective, "mpich", "nb(sched_recursive_doubling)", scan::doubling, {}, ordered, scales},
        {collective, "mpich", "nb(tsp_recursive_doubling)", scan::task_doubling, {}, ordered, scales},
        // SimGrid has only one, without a name.
        {collective, "simgrid", "linear", scan::all_behind, {}, false, scales},
    };
}

} // namespace offbeat::algorithms
