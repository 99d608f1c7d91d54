/** @file
 * Collectives, and what is asked of an algorithm. Counts are elements, never bytes.
 *
 * What each rank's buffers hold (n = Call::count, p = Call::p), in elements:
 *
 * | collective                        | input            | output           |
 * | --------------------------------- | ---------------- | ---------------- |
 * | reduce                            | n                | n at the root    |
 * | allreduce, scan, exscan           | n                | n                |
 * | bcast                             | n at the root    | n (see below)    |
 * | gather                            | n                | p·n at the root  |
 * | scatter                           | p·n at the root  | n                |
 * | allgather                         | n                | p·n              |
 * | alltoall                          | p·n              | p·n              |
 * | reduce_scatter, _block            | p·n              | n                |
 * | barrier                           | none             | none             |
 *
 * bcast works in place as MPI does: the root's output holds the data from the start, and nobody has an input.
 * An algorithm may use the output as scratch, unless a rank has none.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace offbeat::schedule {

enum class Collective : uint8_t {
    allgather,
    allreduce,
    alltoall,
    barrier,
    bcast,
    exscan,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    scatter,
};

/** Every collective by its MPI name in lower case, in the order of the enumeration. */
inline constexpr std::array<std::string_view, 12> collective_names = {
    "allgather", "allreduce", "alltoall", "barrier",        "bcast",
    "exscan",    "gather",    "reduce",   "reduce_scatter", "reduce_scatter_block",
    "scan",      "scatter",
};

class NodeMap;

/** One collective call, as every one of its p ranks makes it. */
struct Call {
    Collective collective{};
    int p = 1;
    int root = 0;
    /** Elements a process, as the MPI call states it; for alltoall per destination; for both reduce_scatters
     * per receiver, the same for all; 0 for barrier. */
    int64_t count = 0;
    /** Bytes of an element; segment sizes, which libraries state in bytes, need it. */
    int64_t element_bytes = 1;
    /** Node of each rank (p entries, numbered from 0), for algorithms that know about nodes. Empty: one node.
     */
    std::span<const int> node_of_rank;
    /** Whether the operation commutes: some algorithms give way to others when it doesn't. */
    bool commutative = true;
    /** Of node_of_rank, where somebody worked it out; must outlive the call. Without it, algorithms that know
     * about nodes work it out rank by rank. */
    const NodeMap *node_map = nullptr;

    [[nodiscard]] int64_t bytes() const {
        return count * element_bytes;
    }
    [[nodiscard]] int node(int rank) const {
        return node_of_rank.empty() ? 0 : node_of_rank[static_cast<size_t>(rank)];
    }
};

/** Elements in a rank's input and output buffers; 0 where it has none. */
int64_t input_length(const Call &call, int rank);
int64_t output_length(const Call &call, int rank);

[[nodiscard]] std::string_view name_of(Collective collective);
[[nodiscard]] std::optional<Collective> collective_of(std::string_view name);

} // namespace offbeat::schedule
