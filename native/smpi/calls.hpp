/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * Which collective is called how, and by which of SMPI's algorithms.
 */
#pragma once

#include "worklist.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** One collective call as every rank makes it. */
struct Call {
    std::string collective;
    MPI_Datatype datatype = MPI_BYTE;
    MPI_Op op = MPI_SUM;
    int count = 0;
    int root = 0;
    std::vector<int> counts; /**< of reduce_scatter: one a rank */
};

/** The call that a command names, checked; Fault with a sentence otherwise. */
Call call_of(const Command &command, int p);

/** Bytes that the larger of a rank's two buffers needs. */
size_t buffer_bytes(const Call &call, int p);

/** Calls the collective on MPI_COMM_WORLD; returns MPI's error code. */
int make(const Call &call, void *input, void *output);

/** The names of SMPI's algorithms for a collective; empty where it has no choice. */
std::vector<std::string> algorithms(const std::string &collective);

/** Makes SMPI use an algorithm from now on, and its own choice, "default", for all other collectives; Fault
 * for an algorithm that it does not have. */
void choose(const std::string &collective, const std::string &algorithm);

} // namespace offbeat::smpi
