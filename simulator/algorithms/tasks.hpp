/** @file
 * Task graphs, as MPICH's nonblocking tsp_* algorithms are: each task starts when the tasks that it names are
 * complete, and those are all that it waits for.
 */
#pragma once

#include "schedule/program.hpp"

#include <span>
#include <vector>

namespace offbeat::algorithms {

class Tasks {
  public:
    using Task = size_t;
    using After = std::vector<Task>;

    /** The first tasks start at the rank's current joint. */
    explicit Tasks(schedule::Rank &rank);

    Task isend(int to, const schedule::Pieces &what, const After &after = {}, int tag = 0);
    Task irecv(int from, const schedule::Pieces &into, const After &after = {}, int tag = 0);
    /** The same to each of several ranks; complete when all are sent. */
    Task imcast(std::span<const int> to, const schedule::Pieces &what, const After &after = {}, int tag = 0);
    Task reduce(schedule::Span into, schedule::Span from, schedule::Order order, const After &after = {});
    Task copy(schedule::Span into, schedule::Span from, const After &after = {});
    /** Complete when every task so far is. */
    Task sink();
    /** Tasks from here on start when every task so far is complete. The rank goes on there as well. */
    void fence();

  private:
    /** Tasks are complete with requests or, local ones, with a joint. */
    struct Completion {
        std::vector<schedule::Request> requests;
        schedule::Joint joint = schedule::none;
    };
    Task add(Completion completion);
    void start_after(const After &after);
    [[nodiscard]] schedule::Joint joint_after(const After &after);

    schedule::Rank &rank_;
    schedule::Joint start_;
    std::vector<Completion> tasks_;
    Task first_ = 0; /**< since the last fence */
};

} // namespace offbeat::algorithms
