#include "algorithms/tasks.hpp"

#include <numeric>
#include <utility>

namespace offbeat::algorithms {

Tasks::Tasks(Rank &rank) : rank_(rank), start_(rank.current_vertex()) {
}

Tasks::Task Tasks::add(Completion completion) {
    tasks_.push_back(std::move(completion));
    return tasks_.size() - 1;
}

Vertex Tasks::vertex_after(const After &after) {
    std::vector<Request> requests;
    std::vector<Vertex> vertices;
    for (const Task task : after) {
        if (task < first_) // before a fence: complete already
            continue;
        const Completion &completion = tasks_.at(task);
        requests.insert(requests.end(), completion.requests.begin(), completion.requests.end());
        if (completion.vertex != none)
            vertices.push_back(completion.vertex);
    }
    if (requests.empty() && vertices.size() <= 1)
        return vertices.empty() ? start_ : vertices[0];
    return rank_.vertex_after(requests, vertices);
}

void Tasks::start_after(const After &after) {
    rank_.continue_at(vertex_after(after));
}

Tasks::Task Tasks::isend(int to, const Pieces &data, const After &after, int tag) {
    start_after(after);
    return add({{rank_.isend(to, data, tag)}});
}

Tasks::Task Tasks::irecv(int from, const Pieces &into, const After &after, int tag) {
    start_after(after);
    return add({{rank_.irecv(from, into, tag)}});
}

Tasks::Task Tasks::imcast(std::span<const int> to, const Pieces &data, const After &after, int tag) {
    start_after(after);
    Completion completion;
    for (const int peer : to)
        completion.requests.push_back(rank_.isend(peer, data, tag));
    return add(std::move(completion));
}

Tasks::Task Tasks::reduce(Span into, Span from, Order order, const After &after) {
    start_after(after);
    rank_.reduce(into, from, order);
    return add({{}, rank_.current_vertex()});
}

Tasks::Task Tasks::copy(Span into, Span from, const After &after) {
    start_after(after);
    rank_.copy(into, from);
    return add({{}, rank_.current_vertex()});
}

Tasks::Task Tasks::sink() {
    After all_tasks(tasks_.size() - first_);
    std::iota(all_tasks.begin(), all_tasks.end(), first_);
    return add({{}, vertex_after(all_tasks)});
}

void Tasks::fence() {
    start_ = tasks_[sink()].vertex;
    first_ = tasks_.size();
    rank_.continue_at(start_);
}

} // namespace offbeat::algorithms
