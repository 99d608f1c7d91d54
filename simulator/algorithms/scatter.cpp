#include "algorithms/gather_scatter.hpp"

namespace offbeat::algorithms {

using schedule::Collective;

std::vector<Algorithm> scatter_algorithms() {
    constexpr Collective sc = Collective::scatter;
    return {
        {sc, "openmpi", "basic_linear", scatter::linear, {}, false, true},
        {sc, "openmpi", "binomial", scatter::binomial_from_largest, {}, false, true},
        {sc, "openmpi", "linear_nb", scatter::openmpi_linear_nb, {{"requests", 0}}, false, true},
        {sc, "mpich", "binomial", scatter::binomial_from_largest, {}, false, true},
        {sc, "mpich", "nb(sched_binomial)", scatter::binomial_from_largest, {}, false, true},
        {sc, "mpich", "nb(tsp_tree)", scatter::mpich_nb_tree, {{"k", 2, 2}}, false, true},
        {sc, "simgrid", "ompi_basic_linear", scatter::linear, {}, false, true},
        {sc, "simgrid", "ompi_binomial", scatter::binomial_from_smallest, {}, false, true},
        {sc, "simgrid", "ompi_linear_nb", scatter::linear_at_once, {}, false, true},
        {sc, "simgrid", "mvapich2_two_level_direct", scatter::mvapich_two_level_direct},
        {sc, "simgrid", "mvapich2_two_level_binomial", scatter::mvapich_two_level_binomial},
    };
}

} // namespace offbeat::algorithms
