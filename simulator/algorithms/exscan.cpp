#include "algorithms/scan.hpp"

namespace offbeat::algorithms {

namespace {

constexpr auto collective = schedule::Collective::exscan;
constexpr bool ordered = true;
constexpr bool scales = true;

} // namespace

std::vector<Algorithm> exscan_algorithms() {
    return {
        {collective, "openmpi", "linear", scan::exclusive_linear, {}, ordered, scales},
        {collective, "openmpi", "recursive_doubling", scan::exclusive_doubling, {}, ordered, scales},
        {collective, "mpich", "recursive_doubling", scan::exclusive_doubling, {}, ordered, scales},
        {collective, "mpich", "nb(sched_recursive_doubling)", scan::exclusive_doubling, {}, ordered, scales},
        // SimGrid has only one, without a name.
        {collective, "simgrid", "linear", scan::exclusive_all_behind, {}, false, scales},
    };
}

} // namespace offbeat::algorithms
