/** @file
 * Collectives, the call of one, and the nodes of its ranks. Counts are elements, never bytes.
 *
 * The table of collectives (native/collectives/collectives.def) says what each rank's buffers hold, in blocks
 * of n = Call::count elements, and what the result is.
 *
 * bcast works in place as in MPI: the root's output holds the data from the start, and no rank has an input.
 * An algorithm may use the output as scratch.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace offbeat::schedule {

/** The collectives that are simulated. */
enum class Collective : uint8_t {
#define OFFBEAT_COLLECTIVE(Name, name, ...) name,
#include "collectives.def"
};

/** The length of a buffer in blocks of Call::count elements. */
enum class Blocks : uint8_t { NO_BLOCK, ONE_BLOCK, BLOCK_PER_RANK };

/** The content of the output of a collective. */
enum class Result : uint8_t { NO_RESULT, FROM_ROOT, FROM_EACH_RANK, REDUCE_ALL, REDUCE_UPTO, REDUCE_BEFORE };

enum class Root : uint8_t { NO_ROOT, ROOT_SENDS, ROOT_RECEIVES };

/** A row of the table of collectives. */
struct CollectiveRow {
    std::string_view name; /**< its MPI name in lower case */
    Blocks sent;           /**< the input; for bcast none, see above */
    Blocks received;       /**< the output */
    Result result;
    Root root;
};

[[nodiscard]] const CollectiveRow &row_of(Collective collective);

class NodeMap;

/** One collective call of p ranks. */
struct Call {
    Collective collective{};
    int p = 1;
    int root = 0;
    /** Elements per process, as in the MPI call; for alltoall per destination; for both reduce_scatters per
     * receiver, the same for all; 0 for barrier. */
    int64_t count = 0;
    /** For segment sizes, which libraries state in bytes. */
    int64_t element_bytes = 1;
    /** Node of each rank (p entries, numbered from 0), for algorithms that depend on nodes. Empty: one node.
     */
    std::span<const int> node_of_rank;
    /** Whether the operation commutes: some algorithms fall back to others if it does not. */
    bool commutative = true;
    /** The map of node_of_rank, which must outlive the call. Without it, algorithms that depend on nodes
     * compute it for each rank. */
    const NodeMap *node_map = nullptr;

    [[nodiscard]] int64_t bytes() const {
        return count * element_bytes;
    }
    [[nodiscard]] int node(int rank) const {
        return node_of_rank.empty() ? 0 : node_of_rank[static_cast<size_t>(rank)];
    }
};

/** Elements in a rank's input and output buffers; 0 if it has none. */
int64_t input_length(const Call &call, int rank);
int64_t output_length(const Call &call, int rank);

[[nodiscard]] std::string_view name_of(Collective collective);
[[nodiscard]] std::optional<Collective> collective_of(std::string_view name);

/** The ranks of each node, computed once per call. Nodes are numbered in the order of their lowest ranks. */
class NodeMap {
  public:
    explicit NodeMap(const Call &call);

    /** The ranks of each node, ascending. */
    [[nodiscard]] const std::vector<std::vector<int>> &nodes() const {
        return nodes_;
    }
    /** The ranks that share a node with this one, itself included, ascending. */
    [[nodiscard]] const std::vector<int> &ranks_on_node_of(int rank) const {
        return nodes_[place_[static_cast<size_t>(rank)]];
    }
    /** The lowest rank of each node, ascending. */
    [[nodiscard]] const std::vector<int> &leaders() const {
        return leaders_;
    }
    /** Ranks on each node if all nodes have the same number of them; 0 otherwise. */
    [[nodiscard]] int ranks_on_every_node() const {
        return ranks_on_every_node_;
    }
    /** Whether the ranks of each node follow each other. */
    [[nodiscard]] bool consecutive() const {
        return consecutive_;
    }

  private:
    std::vector<size_t> place_; /**< per rank: its node */
    std::vector<std::vector<int>> nodes_;
    std::vector<int> leaders_;
    int ranks_on_every_node_ = 0;
    bool consecutive_ = true;
};

} // namespace offbeat::schedule
