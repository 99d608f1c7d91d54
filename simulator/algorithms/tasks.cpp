#include "algorithms/tasks.hpp"

#include <numeric>
#include <utility>

namespace offbeat::algorithms {

using namespace schedule;

Tasks::Tasks(Rank &rank) : rank_(rank), start_(rank.here()) {
}

Tasks::Task Tasks::add(Completion completion) {
    tasks_.push_back(std::move(completion));
    return tasks_.size() - 1;
}

Joint Tasks::joint_after(const After &after) {
    std::vector<Request> requests;
    std::vector<Joint> joints;
    for (const Task task : after) {
        if (task < first_) // before a fence: complete anyway
            continue;
        const Completion &completion = tasks_.at(task);
        requests.insert(requests.end(), completion.requests.begin(), completion.requests.end());
        if (completion.joint != none)
            joints.push_back(completion.joint);
    }
    if (requests.empty() && joints.size() <= 1)
        return joints.empty() ? start_ : joints[0];
    return rank_.when(requests, joints);
}

void Tasks::start_after(const After &after) {
    rank_.at(joint_after(after));
}

Tasks::Task Tasks::isend(int to, const Pieces &what, const After &after, int tag) {
    start_after(after);
    return add({{rank_.isend(to, what, tag)}});
}

Tasks::Task Tasks::irecv(int from, const Pieces &into, const After &after, int tag) {
    start_after(after);
    return add({{rank_.irecv(from, into, tag)}});
}

Tasks::Task Tasks::imcast(std::span<const int> to, const Pieces &what, const After &after, int tag) {
    start_after(after);
    Completion completion;
    for (const int peer : to)
        completion.requests.push_back(rank_.isend(peer, what, tag));
    return add(std::move(completion));
}

Tasks::Task Tasks::reduce(Span into, Span from, Order order, const After &after) {
    start_after(after);
    rank_.reduce(into, from, order);
    return add({{}, rank_.here()});
}

Tasks::Task Tasks::copy(Span into, Span from, const After &after) {
    start_after(after);
    rank_.copy(into, from);
    return add({{}, rank_.here()});
}

Tasks::Task Tasks::sink() {
    After everything(tasks_.size() - first_);
    std::iota(everything.begin(), everything.end(), first_);
    return add({{}, joint_after(everything)});
}

void Tasks::fence() {
    start_ = tasks_[sink()].joint;
    first_ = tasks_.size();
    rank_.at(start_);
}

} // namespace offbeat::algorithms
