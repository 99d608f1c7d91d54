#include "algorithms/gather_scatter.hpp"

namespace offbeat::algorithms {

using schedule::Collective;

std::vector<Algorithm> gather_algorithms() {
    constexpr Collective ga = Collective::gather;
    return {
        {ga, "openmpi", "basic_linear", gather::linear, {}, false, true},
        {ga, "openmpi", "binomial", gather::binomial, {}, false, true},
        {ga, "openmpi", "linear_sync", gather::openmpi_linear_sync, {{"segment", 0}}},
        {ga, "mpich", "binomial", gather::binomial, {}, false, true},
        {ga, "mpich", "nb(sched_binomial)", gather::binomial, {}, false, true},
        {ga, "mpich", "nb(tsp_tree)", gather::mpich_nb_tree, {{"k", 2, 2}}, false, true},
        {ga, "simgrid", "ompi_basic_linear", gather::linear, {}, false, true},
        {ga, "simgrid", "ompi_binomial", gather::binomial, {}, false, true},
        {ga, "simgrid", "ompi_linear_sync", gather::simgrid_linear_sync},
        {ga, "simgrid", "mvapich2_two_level", gather::mvapich_two_level},
    };
}

} // namespace offbeat::algorithms
