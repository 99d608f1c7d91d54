/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * Collective calls and the selection of SMPI's algorithms.
 */
#pragma once

#include "worklist.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** The length of a buffer in blocks of Call::count elements. */
enum class Blocks { NO_BLOCK, ONE_BLOCK, BLOCK_PER_RANK };

/** The content of the receive buffer. */
enum class Result { NOTHING, FROM_ROOT, FROM_EACH, REDUCE_ALL, REDUCE_UPTO, REDUCE_BEFORE };

enum class Root { NO_ROOT, ROOT_SENDS, ROOT_RECEIVES };

enum class Counts { EVEN_COUNTS, UNEVEN_COUNTS };

struct Call;

/** A row of the table of collectives (native/collectives/collectives.def). */
struct Collective {
    const char *name;
    Blocks sent;
    Blocks received;
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

} // namespace offbeat::smpi
