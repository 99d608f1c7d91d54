#include "schedule/program.hpp"

#include <stdexcept>

namespace offbeat::schedule {

void Program::clear(int new_rank) {
    rank = new_rank;
    operations.clear();
    pieces.clear();
    joints.clear();
    awaited_requests.clear();
    awaited_joints.clear();
    queues = 0;
    scratch.clear();
}

Rank::Rank(const Call &asked, int rank, Program &program)
    : call(asked), id(rank), p(asked.p), program_(program) {
    program_.clear(rank);
    program_.joints.emplace_back();
    followed_.push_back(0);
}

Span Rank::input() const {
    return {input_buffer, 0, input_length(call, id)};
}

Span Rank::output() const {
    return {output_buffer, 0, output_length(call, id)};
}

Span Rank::scratch(int64_t length) {
    program_.scratch.push_back(length);
    return {first_scratch_buffer + static_cast<int32_t>(program_.scratch.size()) - 1, 0, length};
}

Request Rank::message(Kind kind, int peer, Pieces pieces, int tag) {
    if (peer < 0 || peer >= p)
        throw std::logic_error("a message to a rank that does not exist");
    Operation operation{.kind = kind, .peer = peer, .tag = tag, .joint = current_};
    operation.first_piece = static_cast<uint32_t>(program_.pieces.size());
    for (const Span &piece : pieces) {
        program_.pieces.push_back(piece);
        operation.length += piece.length;
        ++operation.pieces;
    }
    program_.operations.push_back(operation);
    waited_.push_back(0);
    return static_cast<Request>(program_.operations.size() - 1);
}

Request Rank::isend(int to, Pieces what, int tag) {
    return message(Kind::send, to, what, tag);
}

Request Rank::issend(int to, Pieces what, int tag) {
    return message(Kind::synchronous_send, to, what, tag);
}

Request Rank::irecv(int from, Pieces into, int tag) {
    return message(Kind::receive, from, into, tag);
}

void Rank::send(int to, Pieces what, int tag) {
    wait(isend(to, what, tag));
}

void Rank::ssend(int to, Pieces what, int tag) {
    wait(issend(to, what, tag));
}

void Rank::recv(int from, Pieces into, int tag) {
    wait(irecv(from, into, tag));
}

void Rank::sendrecv(int to, Pieces what, int from, Pieces into, int tag) {
    const Request receive = irecv(from, into, tag);
    const Request sent = isend(to, what, tag);
    wait({sent, receive});
}

void Rank::wait(Request request) {
    wait(std::span<const Request>(&request, 1));
}

void Rank::wait(std::initializer_list<Request> requests) {
    wait(std::span<const Request>(requests.begin(), requests.size()));
}

void Rank::wait(std::span<const Request> requests) {
    if (!requests.empty())
        current_ = add_joint(requests, std::span<const Joint>(&current_, 1), none);
}

void Rank::wait_all() {
    std::vector<Request> open;
    for (uint32_t i = first_unwaited_; i < program_.operations.size(); ++i)
        if (!waited_[i])
            open.push_back(i);
    wait(open);
    first_unwaited_ = static_cast<uint32_t>(program_.operations.size());
}

void Rank::local(Kind kind, Span into, Span from, Order order) {
    if (into.length != from.length)
        throw std::logic_error("a local operation on pieces of different lengths");
    Operation operation{.kind = kind, .order = order, .joint = current_};
    operation.first_piece = static_cast<uint32_t>(program_.pieces.size());
    operation.pieces = 2;
    operation.length = into.length;
    program_.pieces.push_back(into);
    program_.pieces.push_back(from);
    program_.operations.push_back(operation);
    waited_.push_back(1);
}

void Rank::reduce(Span into, Span from, Order order) {
    local(Kind::reduce, into, from, order);
}

void Rank::copy(Span into, Span from) {
    local(Kind::copy, into, from, Order::from_first);
}

Joint Rank::here() const {
    return current_;
}

void Rank::at(Joint joint) {
    current_ = joint;
}

Joint Rank::when(std::initializer_list<Request> requests, std::initializer_list<Joint> joints) {
    return when(std::span<const Request>(requests.begin(), requests.size()),
                std::span<const Joint>(joints.begin(), joints.size()));
}

Joint Rank::when(std::span<const Request> requests, std::span<const Joint> joints) {
    if (requests.empty() && joints.empty())
        throw std::logic_error("a joint that waits for nothing");
    return add_joint(requests, joints, none);
}

Joint Rank::add_joint(std::span<const Request> requests, std::span<const Joint> joints,
                      CompletionQueue queue) {
    JointNeeds needs{.first_request = static_cast<uint32_t>(program_.awaited_requests.size()),
                     .requests = static_cast<uint32_t>(requests.size()),
                     .first_joint = static_cast<uint32_t>(program_.awaited_joints.size()),
                     .joints = static_cast<uint32_t>(joints.size()),
                     .queue = queue};
    for (const Request request : requests) {
        if (program_.operations.at(request).queue != none)
            throw std::logic_error("a wait for a request that was given to a completion queue");
        program_.awaited_requests.push_back(request);
        waited_[request] = 1;
    }
    for (const Joint joint : joints) {
        program_.awaited_joints.push_back(joint);
        followed_.at(joint) = 1;
    }
    program_.joints.push_back(needs);
    followed_.push_back(0);
    return static_cast<Joint>(program_.joints.size() - 1);
}

CompletionQueue Rank::completion_queue() {
    return program_.queues++;
}

void Rank::tell(CompletionQueue queue, Request request) {
    if (waited_.at(request))
        throw std::logic_error("a completion queue is told of a request that somebody waits for");
    program_.operations[request].queue = queue;
    waited_[request] = 1;
}

void Rank::pop(CompletionQueue queue) {
    current_ = add_joint({}, std::span<const Joint>(&current_, 1), queue);
}

void Rank::finish() {
    std::vector<Request> open;
    for (uint32_t i = first_unwaited_; i < program_.operations.size(); ++i)
        if (!waited_[i])
            open.push_back(i);
    std::vector<Joint> ends;
    for (uint32_t joint = 0; joint < program_.joints.size(); ++joint)
        if (!followed_[joint])
            ends.push_back(joint);
    add_joint(open, ends, none);
}

} // namespace offbeat::schedule
