/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * The program of the simulated processes: rank 0 reads the worklist, and all ranks run its calls.
 */
#pragma once

#include "calls.hpp"

#include <simgrid/s4u/Barrier.hpp>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** Zero-initialised memory, which occupies no physical memory until it is written. */
class Buffer {
  public:
    /** Ensures a minimum size; throws std::bad_alloc. */
    void grow(size_t bytes);
    [[nodiscard]] void *data() {
        return data_.get();
    }

  private:
    struct Free {
        void operator()(void *memory) const {
            std::free(memory);
        }
    };
    std::unique_ptr<void, Free> data_;
    size_t bytes_ = 0;
};

/** The state that the simulated processes share; needs no locks, as SimGrid runs one process at a time. */
struct Session {
    explicit Session(int processes);

    int p;
    simgrid::s4u::BarrierPtr barrier; /**< of SimGrid: takes no simulated time */
    Call call;
    Check *check = nullptr;  /**< checks the result of the call; without it all ranks share one buffer */
    bool copies_data = true; /**< messages carry data, which takes real but no simulated time */
    bool is_finished = false;
    double start_s = 0;
    std::vector<double> delays_s;
    std::vector<double> arrivals_s; /**< since the start, as exits_s */
    std::vector<double> exits_s;
    int error = 0;                    /**< the MPI error code of any rank */
    std::set<std::string> warm_calls; /**< collectives and algorithms that have been called once */
    Buffer input;                     /**< of all ranks, as is the output: the data are not checked */
    Buffer output;
};

/** The program of a simulated process. */
void run_rank(Session &session, int rank);

} // namespace offbeat::smpi
