#include "algorithms/openmpi_choice.hpp"

#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace offbeat::algorithms {

namespace {

constexpr int64_t any = std::numeric_limits<int64_t>::max();
constexpr int64_t kib = 1024;
constexpr int64_t mib = 1024 * kib;

struct Row {
    int64_t below; /**< bytes */
    std::string_view name;
};

/** Rows for numbers of ranks below `below`, ascending. */
struct Band {
    int64_t below;
    std::vector<Row> rows;
};

std::string_view look_up(std::span<const Band> bands, const Call &call) {
    for (const Band &band : bands)
        if (call.p < band.below)
            for (const Row &row : band.rows)
                if (call.bytes() < row.below)
                    return row.name;
    throw std::logic_error("a decision table without a last row");
}

const std::vector<Band> reduce_bands = {
    {4,
     {{8, "rabenseifner"},
      {16, "binary"},
      {32, "pipeline"},
      {256 * kib, "linear"},
      {512 * kib, "pipeline"},
      {mib, "chain"},
      {any, "pipeline"}}},
    {8,
     {{4 * kib, "binary"},
      {64 * kib, "chain"},
      {256 * kib, "binomial"},
      {512 * kib, "linear"},
      {mib, "binomial"},
      {any, "linear"}}},
    {16, {{8 * kib, "binary"}, {any, "binomial"}}},
    {32, {{4 * kib, "binary"}, {any, "binomial"}}},
    {256, {{any, "binomial"}}},
    {512, {{8 * kib, "binomial"}, {16 * kib, "in_order_binary"}, {any, "binomial"}}},
    {2048, {{any, "binomial"}}},
    {4096,
     {{512, "binomial"},
      {kib, "in_order_binary"},
      {8 * kib, "binomial"},
      {16 * kib, "in_order_binary"},
      {any, "binomial"}}},
    {any,
     {{16, "binomial"},
      {32, "in_order_binary"},
      {kib, "binomial"},
      {2 * kib, "in_order_binary"},
      {8 * kib, "binomial"},
      {16 * kib, "in_order_binary"},
      {any, "binomial"}}},
};

/** For operations that don't commute. */
const std::vector<Band> ordered_reduce_bands = {
    {4, {{8, "in_order_binary"}, {any, "linear"}}},
    {8, {{any, "linear"}}},
    {16,
     {{kib, "in_order_binary"},
      {8 * kib, "linear"},
      {16 * kib, "in_order_binary"},
      {256 * kib, "linear"},
      {any, "in_order_binary"}}},
    {128, {{any, "in_order_binary"}}},
    {256, {{512, "in_order_binary"}, {kib, "linear"}, {any, "in_order_binary"}}},
    {any, {{any, "in_order_binary"}}},
};

const std::vector<Band> bcast_bands = {
    {4,
     {{32, "pipeline"},
      {256, "binary_tree"},
      {512, "pipeline"},
      {kib, "knomial"},
      {32 * kib, "basic_linear"},
      {128 * kib, "binary_tree"},
      {256 * kib, "chain"},
      {512 * kib, "basic_linear"},
      {mib, "binomial"},
      {any, "binary_tree"}}},
    {8,
     {{64, "binary_tree"},
      {128, "binomial"},
      {2 * kib, "binary_tree"},
      {8 * kib, "binomial"},
      {mib, "basic_linear"},
      {any, "chain"}}},
    {16,
     {{8, "knomial"},
      {64, "binary_tree"},
      {4 * kib, "knomial"},
      {16 * kib, "binary_tree"},
      {32 * kib, "binomial"},
      {any, "basic_linear"}}},
    {32, {{4 * kib, "knomial"}, {mib, "binomial"}, {any, "scatter_allgather"}}},
    {64, {{2 * kib, "binomial"}, {any, "knomial"}}},
    {128, {{any, "knomial"}}},
    {256,
     {{2, "binomial"},
      {16 * kib, "binary_tree"},
      {32 * kib, "basic_linear"},
      {64 * kib, "binary_tree"},
      {any, "knomial"}}},
    {1024, {{16 * kib, "knomial"}, {32 * kib, "split_binary_tree"}, {any, "knomial"}}},
    {2048, {{512 * kib, "knomial"}, {any, "scatter_allgather"}}},
    {4096, {{256 * kib, "knomial"}, {any, "scatter_allgather"}}},
    {any,
     {{8 * kib, "knomial"}, {16 * kib, "binary_tree"}, {256 * kib, "knomial"}, {any, "scatter_allgather"}}},
};

/** By the bytes of one sender. */
const std::vector<Band> gather_bands = {
    {4,
     {{2, "linear_sync"},
      {4, "basic_linear"},
      {32 * kib, "binomial"},
      {64 * kib, "basic_linear"},
      {128 * kib, "binomial"},
      {any, "linear_sync"}}},
    {8,
     {{kib, "binomial"},
      {8 * kib, "basic_linear"},
      {32 * kib, "binomial"},
      {256 * kib, "basic_linear"},
      {any, "linear_sync"}}},
    {256, {{any, "binomial"}}},
    {512, {{2 * kib, "binomial"}, {8 * kib, "basic_linear"}, {any, "binomial"}}},
    {any, {{any, "binomial"}}},
};

/** By the bytes of one receiver. */
const std::vector<Band> scatter_bands = {
    {4, {{2, "linear_nb"}, {128 * kib, "basic_linear"}, {256 * kib, "linear_nb"}, {any, "basic_linear"}}},
    {8,
     {{2 * kib, "binomial"},
      {4 * kib, "basic_linear"},
      {8 * kib, "binomial"},
      {32 * kib, "basic_linear"},
      {mib, "linear_nb"},
      {any, "basic_linear"}}},
    {16, {{16 * kib, "binomial"}, {mib, "linear_nb"}, {any, "basic_linear"}}},
    {32, {{16 * kib, "binomial"}, {32 * kib, "basic_linear"}, {any, "linear_nb"}}},
    {64, {{512, "binomial"}, {8 * kib, "linear_nb"}, {16 * kib, "binomial"}, {any, "linear_nb"}}},
    {any, {{512, "binomial"}, {any, "linear_nb"}}},
};

/** By the bytes for one receiver. */
const std::vector<Band> alltoall_bands = {
    {2, {{any, "linear"}}},
    {3,
     {{2, "pairwise"},
      {4, "two_proc"},
      {16, "pairwise"},
      {64, "two_proc"},
      {256, "pairwise"},
      {4 * kib, "two_proc"},
      {32 * kib, "pairwise"},
      {256 * kib, "linear_sync"},
      {mib, "two_proc"},
      {any, "pairwise"}}},
    {8,
     {{8 * kib, "linear_sync"},
      {16 * kib, "linear"},
      {64 * kib, "linear_sync"},
      {512 * kib, "linear"},
      {mib, "pairwise"},
      {any, "linear"}}},
    {16, {{256 * kib, "linear_sync"}, {any, "linear"}}},
    {32,
     {{4, "linear_sync"},
      {512, "modified_bruck"},
      {8 * kib, "linear_sync"},
      {32 * kib, "linear"},
      {256 * kib, "linear_sync"},
      {512 * kib, "linear"},
      {any, "linear_sync"}}},
    {64, {{512, "modified_bruck"}, {512 * kib, "linear"}, {any, "linear_sync"}}},
    {128,
     {{kib, "modified_bruck"},
      {2 * kib, "linear"},
      {4 * kib, "linear_sync"},
      {256 * kib, "linear"},
      {any, "pairwise"}}},
    {256, {{kib, "modified_bruck"}, {2 * kib, "linear_sync"}, {256 * kib, "linear"}, {any, "pairwise"}}},
    {512, {{kib, "modified_bruck"}, {8 * kib, "linear_sync"}, {32 * kib, "linear"}, {any, "pairwise"}}},
    {1024,
     {{512, "modified_bruck"},
      {8 * kib, "linear_sync"},
      {16 * kib, "linear"},
      {128 * kib, "linear_sync"},
      {256 * kib, "linear"},
      {any, "pairwise"}}},
    {2048,
     {{512, "modified_bruck"},
      {kib, "linear_sync"},
      {2 * kib, "linear"},
      {16 * kib, "linear_sync"},
      {256 * kib, "linear"},
      {any, "linear_sync"}}},
    {4096,
     {{kib, "modified_bruck"},
      {4 * kib, "linear_sync"},
      {8 * kib, "linear"},
      {128 * kib, "linear_sync"},
      {any, "linear"}}},
    {any,
     {{2 * kib, "modified_bruck"},
      {8 * kib, "linear_sync"},
      {16 * kib, "linear"},
      {32 * kib, "linear_sync"},
      {64 * kib, "linear"},
      {any, "linear_sync"}}},
};

} // namespace

std::string_view openmpi_choice(const Call &call) {
    switch (call.collective) {
    case Collective::reduce:
        return look_up(call.commutative ? reduce_bands : ordered_reduce_bands, call);
    case Collective::bcast:
        return look_up(bcast_bands, call);
    case Collective::gather:
        return look_up(gather_bands, call);
    case Collective::scatter:
        return look_up(scatter_bands, call);
    case Collective::alltoall:
        return look_up(alltoall_bands, call);
    default:
        throw std::logic_error("no decision table for " + std::string(name_of(call.collective)));
    }
}

void run_openmpi_choice(Rank &rank, const Group &group, const Subcall &subcall) {
    Call call = rank.call;
    call.collective = subcall.collective;
    call.p = group.p;
    call.count = subcall.count;
    const Algorithm *algorithm = find(subcall.collective, "openmpi", openmpi_choice(call));
    if (algorithm == nullptr)
        throw std::logic_error("no algorithm " + std::string(openmpi_choice(call)) + " of Open MPI");
    Parameters parameters(algorithm->parameters);
    for (const Parameter &parameter : algorithm->parameters) {
        if (parameter.name == "segment" || parameter.name == "requests")
            parameters.set(parameter.name, 0);
        else if (parameter.name == "fanout")
            parameters.set(parameter.name, 1);
    }
    run(rank, group, subcall, [&](Rank &inner) { algorithm->write(inner, parameters); });
}

} // namespace offbeat::algorithms
