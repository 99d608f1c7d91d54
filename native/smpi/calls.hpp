/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * Collective calls, the check of their results on known numbers, and the selection of SMPI's algorithms.
 */
#pragma once

#include "worklist.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** The length of a buffer in blocks of Call::count elements. */
enum class Blocks { NO_BLOCK, ONE_BLOCK, BLOCK_PER_RANK };

/** The content of the receive buffer. */
enum class Result { NO_RESULT, FROM_ROOT, FROM_EACH_RANK, REDUCE_ALL, REDUCE_UPTO, REDUCE_BEFORE };

enum class Root { NO_ROOT, ROOT_SENDS, ROOT_RECEIVES };

enum class Counts { EVEN_COUNTS, UNEVEN_COUNTS };

struct Call;

/** A row of the table of collectives (native/collectives/collectives.def). */
struct Collective {
    const char *name;
    Blocks sent_blocks;
    Blocks received_blocks;
    Result result;
    Root root;
    Counts counts;
    int (*run)(const Call &call, void *input,
               void *output); /**< the call on MPI_COMM_WORLD; returns the MPI error code */
};

/** One collective call, the same on every rank. */
struct Call {
    const Collective *collective = nullptr;
    MPI_Datatype datatype = MPI_BYTE;
    MPI_Op op = MPI_SUM;
    int count = 0;
    int root = 0;
    std::vector<int> counts; /**< `count` for each rank, for collectives that take such counts */
};

/** The call of a command; throws CommandError if it is invalid. @param op empty: `sum` for floating-point
 * types, else `bor` */
Call parse_call(const Command &command, const std::string &op, int p);

/** Size in bytes of the larger of a rank's two buffers. */
size_t buffer_bytes(const Call &call, int p);

/** The names of SMPI's algorithms for a collective; empty if it cannot be selected. */
std::vector<std::string> algorithms(const std::string &collective);

/** Selects an algorithm for a collective, and SMPI's own selection, "default", for all others; throws
 * CommandError for an unknown algorithm. */
void select_algorithm(const std::string &collective, const std::string &algorithm);

/** The buffers of all ranks for one call on MPI_INT with MPI_SUM. */
class Check {
  public:
    Check(const Call &call, int p);

    [[nodiscard]] void *input(int rank);
    [[nodiscard]] void *output(int rank);
    /** After the call: the number of wrong elements in all outputs. */
    [[nodiscard]] int64_t count_wrong() const;

  private:
    /** The element of a rank's input at an index. */
    [[nodiscard]] static uint32_t value(int rank, size_t index);
    /** The sum of the elements of the first `ranks` ranks at an index. */
    [[nodiscard]] static uint32_t sum(int ranks, size_t index);
    /** Number of elements of a rank's result. */
    [[nodiscard]] size_t result_length(int rank) const;
    [[nodiscard]] uint32_t expected_element(int rank, size_t index) const;

    Call call_;
    int p_;
    size_t length_; /**< elements of each buffer */
    std::vector<uint32_t> inputs_;
    std::vector<uint32_t> outputs_;
};

} // namespace offbeat::smpi
