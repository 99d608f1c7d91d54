#include "algorithms/reduce.hpp"

#include <algorithm>
#include <iterator>

namespace offbeat::algorithms {

namespace {

constexpr auto collective = schedule::Collective::reduce;
constexpr bool ordered = true;
constexpr bool not_always = false; /**< but where the operation doesn't commute, if it can */
constexpr bool scales = true;

/** Open MPI's parameters with its defaults: one segment, no limit to open sends. */
constexpr Parameter segment{"segment", 0, 0};
constexpr Parameter requests{"requests", 0, 0};

std::vector<Algorithm> openmpi() {
    return {
        {collective, "openmpi", "linear", reduce::linear, {}, ordered, scales},
        {collective, "openmpi", "chain", reduce::chain, {segment, {"fanout", 4, 1}, requests}},
        {collective, "openmpi", "pipeline", reduce::pipeline, {segment, requests}},
        {collective, "openmpi", "binary", reduce::binary, {segment, requests}},
        {collective, "openmpi", "binomial", reduce::binomial_segmented, {segment, requests}},
        {collective, "openmpi", "in_order_binary", reduce::in_order_binary, {segment, requests}, ordered},
        {collective, "openmpi", "rabenseifner", reduce::openmpi_rabenseifner, {}, ordered},
    };
}

std::vector<Algorithm> mpich() {
    const Parameter chunk_size{"chunk_size", 0, 0};
    const Parameter buffer_per_child{"buffer_per_child", 0, 0};
    const std::vector<Parameter> of_tree = {{"tree_type", 0, 0}, {"k", 2, 1}, chunk_size, buffer_per_child};
    return {
        {collective, "mpich", "binomial", reduce::binomial, {}, not_always, scales},
        {collective, "mpich", "smp", reduce::mpich_nodes},
        {collective, "mpich", "reduce_scatter_gather", reduce::mpich_scatter_gather},
        {collective, "mpich", "nb(sched_smp)", reduce::mpich_scheduled_nodes},
        {collective, "mpich", "nb(sched_binomial)", reduce::binomial, {}, not_always, scales},
        {collective, "mpich", "nb(sched_reduce_scatter_gather)", reduce::mpich_scheduled_scatter_gather},
        {collective, "mpich", "nb(tsp_tree)", reduce::task_tree, of_tree},
        {collective, "mpich", "nb(tsp_ring)", reduce::task_chain, {chunk_size, buffer_per_child}},
    };
}

/** arrival_pattern_aware is missing: it probes for messages in a loop with sleeps of 100 µs. */
std::vector<Algorithm> simgrid() {
    return {
        {collective, "simgrid", "binomial", reduce::binomial, {}, not_always, scales},
        {collective, "simgrid", "flat_tree", reduce::linear, {}, ordered, scales},
        {collective, "simgrid", "NTSL", reduce::ring, {{"segment", 8192, 1}}},
        {collective, "simgrid", "scatter_gather", reduce::simgrid_scatter_gather},
        {collective, "simgrid", "ompi_chain", reduce::simgrid_chain},
        {collective, "simgrid", "ompi_pipeline", reduce::simgrid_pipeline},
        {collective, "simgrid", "ompi_basic_linear", reduce::linear, {}, ordered, scales},
        {collective, "simgrid", "ompi_in_order_binary", reduce::simgrid_in_order_binary, {}, ordered, scales},
        {collective, "simgrid", "ompi_binary", reduce::simgrid_binary},
        {collective, "simgrid", "ompi_binomial", reduce::simgrid_binomial},
        {collective, "simgrid", "mvapich2_knomial", reduce::knomial, {{"radix", 4, 2}}, not_always, scales},
        {collective, "simgrid", "mvapich2_two_level", reduce::simgrid_two_level},
        {collective, "simgrid", "rab", reduce::rabenseifner_own, {}, ordered},
    };
}

} // namespace

std::vector<Algorithm> reduce_algorithms() {
    std::vector<Algorithm> list = openmpi();
    std::ranges::copy(mpich(), std::back_inserter(list));
    std::ranges::copy(simgrid(), std::back_inserter(list));
    return list;
}

} // namespace offbeat::algorithms
