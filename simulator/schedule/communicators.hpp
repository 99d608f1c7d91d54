/** @file Communicators of equal size that call a collective at the same time, such as the rows of a grid. */
#pragma once

#include "schedule/program.hpp"

namespace offbeat::schedule {

/**
 * How processes are divided into communicators.
 *
 * Member j of communicator c has the rank (c / stride) * stride * p + c % stride + j * stride, as in
 * offbeat.model.study.communicators and native/collectives/layout.h.
 */
struct CommunicatorLayout {
    int p = 1; /**< processes of each communicator */
    int communicators = 1;
    int stride = 1; /**< distance between the ranks of consecutive members; divides communicators */

    [[nodiscard]] int processes() const {
        return p * communicators;
    }
    /** The number of the communicator of a process. */
    [[nodiscard]] int communicator(int rank) const {
        return rank / (stride * p) * stride + rank % stride;
    }
    /** The rank of a process in its communicator. */
    [[nodiscard]] int member(int rank) const {
        return rank % (stride * p) / stride;
    }
    /** The rank of a member among all processes. */
    [[nodiscard]] int rank(int communicator, int member) const {
        return communicator / stride * stride * p + communicator % stride + member * stride;
    }
};

/** Makes a program of a member of a communicator one of all processes: its own rank and those of its peers.
 */
inline void renumber(Program &program, const CommunicatorLayout &layout, int communicator) {
    program.rank = layout.rank(communicator, program.rank);
    for (Operation &operation : program.operations)
        if (is_message(operation))
            operation.peer = layout.rank(communicator, operation.peer);
}

} // namespace offbeat::schedule
