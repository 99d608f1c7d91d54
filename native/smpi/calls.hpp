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

/** One collective call, the same on every rank. */
struct Call {
    std::string collective;
    MPI_Datatype datatype = MPI_BYTE;
    MPI_Op op = MPI_SUM;
    int count = 0;
    int root = 0;
    std::vector<int> counts; /**< of reduce_scatter: one per rank */
};

/** The call of a command; throws CommandError if it is invalid. @param op empty: `sum` for floating-point
 * types, else `bor` */
Call parse_call(const Command &command, const std::string &op, int p);

/** Size in bytes of the larger of a rank's two buffers. */
size_t buffer_bytes(const Call &call, int p);

/** Calls the collective on MPI_COMM_WORLD; returns the MPI error code. */
int run_call(const Call &call, void *input, void *output);

/** The names of SMPI's algorithms for a collective; empty if it cannot be selected. */
std::vector<std::string> algorithms(const std::string &collective);

/** Selects an algorithm for a collective, and SMPI's own selection, "default", for all others; throws
 * CommandError for an unknown algorithm. */
void select_algorithm(const std::string &collective, const std::string &algorithm);

} // namespace offbeat::smpi
