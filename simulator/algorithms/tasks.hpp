/** @file
 * Task graphs like MPICH's nonblocking tsp_* algorithms: each task waits only for the tasks that it depends
 * on.
 */
#pragma once

#include "schedule/program.hpp"

#include <span>
#include <vector>

namespace offbeat::algorithms {

using namespace schedule;

class Tasks {
  public:
    using Task = size_t;
    using After = std::vector<Task>;

    /** The first tasks start at the rank's current vertex. */
    explicit Tasks(Rank &rank);

    Task isend(int to, const Pieces &data, const After &after = {}, int tag = 0);
    Task irecv(int from, const Pieces &into, const After &after = {}, int tag = 0);
    /** A send to each of several ranks; complete when all sends are. */
    Task imcast(std::span<const int> to, const Pieces &data, const After &after = {}, int tag = 0);
    Task reduce(Span into, Span from, Order order, const After &after = {});
    Task copy(Span into, Span from, const After &after = {});
    /** Complete when all previous tasks are. */
    Task sink();
    /** Later tasks, and what the rank does next, start when all previous tasks are complete. */
    void fence();

  private:
    /** A message is complete when its requests are; a local task, when its vertex fires. */
    struct Completion {
        std::vector<Request> requests;
        Vertex vertex = none;
    };
    Task add(Completion completion);
    void start_after(const After &after);
    [[nodiscard]] Vertex vertex_after(const After &after);

    Rank &rank_;
    Vertex start_;
    std::vector<Completion> tasks_;
    Task first_ = 0; /**< the first task since the last fence */
};

} // namespace offbeat::algorithms
