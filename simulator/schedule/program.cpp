#include "schedule/program.hpp"

#include <stdexcept>

namespace offbeat::schedule {

void Program::clear(int new_rank) {
    rank = new_rank;
    operations.clear();
    pieces.clear();
    vertices.clear();
    awaited_requests.clear();
    awaited_vertices.clear();
    queues = 0;
    scratch.clear();
}

Rank::Rank(const Call &rank_call, int rank, Program &program)
    : call(rank_call), id(rank), p(rank_call.p), program_(program) {
    program_.clear(rank);
    program_.vertices.emplace_back();
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
    Operation operation{.kind = kind, .peer = peer, .tag = tag, .vertex = current_};
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

Request Rank::isend(int to, Pieces data, int tag) {
    return message(Kind::send, to, data, tag);
}

Request Rank::issend(int to, Pieces data, int tag) {
    return message(Kind::synchronous_send, to, data, tag);
}

Request Rank::ibsend(int to, Pieces data, int tag) {
    return message(Kind::buffered_send, to, data, tag);
}

Request Rank::irecv(int from, Pieces into, int tag) {
    return message(Kind::receive, from, into, tag);
}

void Rank::send(int to, Pieces data, int tag) {
    wait(isend(to, data, tag));
}

void Rank::ssend(int to, Pieces data, int tag) {
    wait(issend(to, data, tag));
}

void Rank::recv(int from, Pieces into, int tag) {
    wait(irecv(from, into, tag));
}

void Rank::sendrecv(int to, Pieces data, int from, Pieces into, int tag) {
    const Request receive = irecv(from, into, tag);
    const Request send = isend(to, data, tag);
    wait({send, receive});
}

void Rank::wait(Request request) {
    wait(std::span<const Request>(&request, 1));
}

void Rank::wait(std::initializer_list<Request> requests) {
    wait(std::span<const Request>(requests.begin(), requests.size()));
}

void Rank::wait(std::span<const Request> requests) {
    if (!requests.empty())
        current_ = add_vertex(requests, std::span<const Vertex>(&current_, 1), none);
}

void Rank::wait_all() {
    std::vector<Request> requests;
    for (uint32_t i = first_unwaited_; i < program_.operations.size(); ++i)
        if (!waited_[i])
            requests.push_back(i);
    wait(requests);
    first_unwaited_ = static_cast<uint32_t>(program_.operations.size());
}

void Rank::local(Kind kind, Span into, Span from, Order order) {
    if (into.length != from.length)
        throw std::logic_error("a local operation on pieces of different lengths");
    Operation operation{.kind = kind, .order = order, .vertex = current_};
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

Vertex Rank::current_vertex() const {
    return current_;
}

void Rank::continue_at(Vertex vertex) {
    current_ = vertex;
}

Vertex Rank::vertex_after(std::initializer_list<Request> requests, std::initializer_list<Vertex> vertices) {
    return vertex_after(std::span<const Request>(requests.begin(), requests.size()),
                        std::span<const Vertex>(vertices.begin(), vertices.size()));
}

Vertex Rank::vertex_after(std::span<const Request> requests, std::span<const Vertex> vertices) {
    if (requests.empty() && vertices.empty())
        throw std::logic_error("a vertex that waits for nothing");
    return add_vertex(requests, vertices, none);
}

Vertex Rank::add_vertex(std::span<const Request> requests, std::span<const Vertex> vertices,
                        CompletionQueue queue) {
    VertexDependencies needs{.first_request = static_cast<uint32_t>(program_.awaited_requests.size()),
                             .requests = static_cast<uint32_t>(requests.size()),
                             .first_vertex = static_cast<uint32_t>(program_.awaited_vertices.size()),
                             .vertices = static_cast<uint32_t>(vertices.size()),
                             .queue = queue};
    for (const Request request : requests) {
        if (program_.operations.at(request).queue != none)
            throw std::logic_error("a wait for a request that was given to a completion queue");
        program_.awaited_requests.push_back(request);
        waited_[request] = 1;
    }
    for (const Vertex vertex : vertices) {
        program_.awaited_vertices.push_back(vertex);
        followed_.at(vertex) = 1;
    }
    program_.vertices.push_back(needs);
    followed_.push_back(0);
    return static_cast<Vertex>(program_.vertices.size() - 1);
}

CompletionQueue Rank::completion_queue() {
    return program_.queues++;
}

void Rank::enqueue(CompletionQueue queue, Request request) {
    if (waited_.at(request))
        throw std::logic_error("a request that was already waited for cannot be given to a completion queue");
    program_.operations[request].queue = queue;
    waited_[request] = 1;
}

void Rank::pop(CompletionQueue queue) {
    current_ = add_vertex({}, std::span<const Vertex>(&current_, 1), queue);
}

void Rank::finish() {
    std::vector<Request> requests;
    for (uint32_t i = first_unwaited_; i < program_.operations.size(); ++i)
        if (!waited_[i])
            requests.push_back(i);
    std::vector<Vertex> ends;
    for (uint32_t vertex = 0; vertex < program_.vertices.size(); ++vertex)
        if (!followed_[vertex])
            ends.push_back(vertex);
    add_vertex(requests, ends, none);
}

} // namespace offbeat::schedule
