#include "algorithms/subcall.hpp"

#include "schedule/collective.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms {

int Group::number(int rank_of_call) const {
    if (ranks.empty())
        return rank_of_call;
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank_of_call);
    return at != ranks.end() && *at == rank_of_call ? static_cast<int>(at - ranks.begin()) : -1;
}

Group everyone(const Rank &rank) {
    return {.p = rank.p, .my_number = rank.id};
}

namespace {

/** A group of all ranks keeps their numbers. */
Group group_of(const Rank &rank, const std::vector<int> &ranks) {
    if (ranks.size() == static_cast<size_t>(rank.p))
        return everyone(rank);
    Group group{.p = static_cast<int>(ranks.size()), .my_number = -1, .ranks = ranks};
    group.my_number = group.number(rank.id);
    return group;
}

/** Calls a function with the call's map of nodes, or with a new map if the call has none. */
template <class Function> auto with_node_map(const Call &call, Function function) {
    if (call.node_map != nullptr)
        return function(*call.node_map);
    return function(NodeMap(call));
}

} // namespace

Group same_node(const Rank &rank) {
    return with_node_map(rank.call,
                         [&](const NodeMap &map) { return group_of(rank, map.ranks_on_node_of(rank.id)); });
}

Group node_leaders(const Rank &rank) {
    return with_node_map(rank.call, [&](const NodeMap &map) { return group_of(rank, map.leaders()); });
}

std::vector<std::vector<int>> ranks_of_nodes(const Call &call) {
    return with_node_map(call, [](const NodeMap &map) { return map.nodes(); });
}

int leader_of(const Call &call, int rank) {
    return with_node_map(call, [&](const NodeMap &map) { return map.ranks_on_node_of(rank)[0]; });
}

int ranks_on_every_node(const Call &call) {
    return with_node_map(call, [](const NodeMap &map) { return map.ranks_on_every_node(); });
}

int nodes_used(const Call &call) {
    return with_node_map(call, [](const NodeMap &map) { return static_cast<int>(map.nodes().size()); });
}

bool nodes_are_consecutive(const Call &call) {
    return with_node_map(call, [](const NodeMap &map) { return map.consecutive(); });
}

namespace {

/** Copies the program of a subcall into the program of the call: translates ranks, buffers, requests,
 * vertices and queues.
 */
class ProgramInliner {
  public:
    ProgramInliner(Rank &rank, const Group &group, const Subcall &subcall, const Program &program)
        : rank_(rank), group_(group), program_(program), buffers_{subcall.input, subcall.output},
          first_vertex_(rank.current_vertex()) {
        for (const int64_t length : program.scratch)
            buffers_.push_back(rank.scratch(length));
        for (uint32_t i = 0; i < program.queues; ++i)
            queues_.push_back(rank.completion_queue());
    }

    /** Operations come before the vertices that wait for them and after the vertices that start them. */
    void copy_all() {
        for (const Operation &operation : program_.operations) {
            copy_vertices_up_to(operation.vertex);
            rank_.continue_at(vertices_[operation.vertex]);
            requests_.push_back(copy(operation));
        }
        copy_vertices_up_to(static_cast<Vertex>(program_.vertices.size() - 1));
        rank_.continue_at(vertices_.back());
    }

  private:
    void copy_vertices_up_to(Vertex last) {
        while (vertices_.size() <= last)
            vertices_.push_back(vertices_.empty() ? first_vertex_
                                                  : copy(program_.vertices[vertices_.size()]));
    }

    Vertex copy(const VertexDependencies &needs) {
        if (needs.queue != none) {
            rank_.continue_at(vertices_[program_.awaited_vertices[needs.first_vertex]]);
            rank_.pop(queues_[needs.queue]);
            return rank_.current_vertex();
        }
        std::vector<Request> requests;
        for (const Request request : program_.requests_of(needs))
            requests.push_back(requests_[request]);
        std::vector<Vertex> vertices;
        for (const Vertex vertex : program_.vertices_of(needs))
            vertices.push_back(vertices_[vertex]);
        return rank_.vertex_after(requests, vertices);
    }

    Request copy(const Operation &operation) {
        std::vector<Span> pieces;
        for (const Span &piece : program_.pieces_of(operation))
            pieces.push_back(buffers_[static_cast<size_t>(piece.buffer)].part(piece.offset, piece.length));
        switch (operation.kind) {
        case Kind::reduce:
            rank_.reduce(pieces[0], pieces[1], operation.order);
            return none;
        case Kind::copy:
            rank_.copy(pieces[0], pieces[1]);
            return none;
        default:
            return copy_message(operation, pieces);
        }
    }

    Request copy_message(const Operation &operation, const std::vector<Span> &pieces) {
        const int peer = group_.rank(operation.peer);
        Request request = none;
        if (operation.kind == Kind::receive)
            request = rank_.irecv(peer, pieces, operation.tag);
        else if (operation.kind == Kind::send)
            request = rank_.isend(peer, pieces, operation.tag);
        else
            request = rank_.issend(peer, pieces, operation.tag);
        if (operation.queue != none)
            rank_.enqueue(queues_[operation.queue], request);
        return request;
    }

    Rank &rank_;
    const Group &group_;
    const Program &program_;
    std::vector<Span> buffers_;
    std::vector<CompletionQueue> queues_;
    std::vector<Request> requests_;
    std::vector<Vertex> vertices_;
    Vertex first_vertex_;
};

std::vector<int> nodes_of(const Rank &rank, const Group &group) {
    std::vector<int> nodes;
    for (const int member : group.ranks)
        nodes.push_back(rank.call.node(member));
    return nodes;
}

} // namespace

void run_subcall(Rank &rank, const Group &group, const Subcall &subcall,
                 const std::function<void(Rank &)> &write) {
    const std::vector<int> nodes = nodes_of(rank, group);
    Call call = rank.call;
    call.collective = subcall.collective;
    call.p = group.p;
    call.root = subcall.root;
    call.count = subcall.count;
    if (!group.ranks.empty()) {
        call.node_of_rank = nodes;
        call.node_map = nullptr;
    }
    if (subcall.input.length < input_length(call, group.my_number) ||
        subcall.output.length < output_length(call, group.my_number))
        throw std::logic_error("the buffer of a subcall is too short");
    Program program;
    Rank inner(call, group.my_number, program);
    if (needs_messages(inner))
        write(inner);
    inner.finish();
    ProgramInliner(rank, group, subcall, program).copy_all();
}

void run_subcall(Rank &rank, const Group &group, const Subcall &subcall, std::string_view family,
                 std::string_view name, std::initializer_list<ParameterValue> values) {
    const Algorithm *algorithm = find(subcall.collective, family, name);
    if (algorithm == nullptr)
        throw std::logic_error("no algorithm " + std::string(name) + " of family " + std::string(family));
    Parameters parameters(algorithm->parameters);
    for (const auto &[key, value] : values)
        parameters.set(key, value);
    run_subcall(rank, group, subcall, [&](Rank &inner) { algorithm->write(inner, parameters); });
}

} // namespace offbeat::algorithms
