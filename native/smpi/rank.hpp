/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * What every simulated process does: takes part in the calls that rank 0 reads from the worklist.
 */
#pragma once

#include "calls.hpp"
#include "check.hpp"

#include <simgrid/s4u/Barrier.hpp>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** Memory that only counts when it is touched: without copies nobody does. */
class Buffer {
  public:
    /** Makes it at least this large; std::bad_alloc. */
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

/** What the simulated processes share; SimGrid runs one of them at a time, so that nothing need be locked. */
struct Session {
    explicit Session(int processes);

    int p;
    simgrid::s4u::BarrierPtr barrier; /**< simulation-side: costs no simulated time */
    Call call;
    Check *check = nullptr; /**< a call whose result is looked at; else all ranks share one buffer */
    bool with_data = true;  /**< whether data moves, which takes real time and no simulated one */
    bool over = false;      /**< nothing left to do */
    double start_s = 0;
    std::vector<double> delays_s;
    std::vector<double> arrivals_s; /**< since the start, as are exits */
    std::vector<double> exits_s;
    int error = 0; /**< of any rank, MPI's code */
    std::set<std::string> warmed;
    Buffer input; /**< one for all ranks, as is the output: nobody looks at the data */
    Buffer output;
};

/** The program of a simulated process. */
void run_rank(Session &session, int rank);

} // namespace offbeat::smpi
