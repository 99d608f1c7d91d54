#include "schedule/call_graph.hpp"

#include <algorithm>
#include <tuple>

namespace offbeat::schedule {

Lists::Lists(std::vector<uint32_t> count) : start_(std::move(count)) {
    for (size_t i = 1; i < start_.size(); ++i)
        start_[i] += start_[i - 1];
    end_.assign(start_.begin(), start_.end() - 1);
    values_.resize(start_.back());
}

void Lists::add(uint32_t list, uint32_t value) {
    values_[end_[list]++] = value;
}

std::span<const uint32_t> Lists::of(uint32_t list) const {
    return std::span<const uint32_t>(values_).subspan(start_[list], start_[list + 1] - start_[list]);
}

CallGraph::CallGraph(std::span<const Program> all) : programs(all), first_operation{0}, first_vertex{0} {
    for (const Program &program : all) {
        first_operation.push_back(first_operation.back() + static_cast<uint32_t>(program.operations.size()));
        first_vertex.push_back(first_vertex.back() + static_cast<uint32_t>(program.vertices.size()));
        queues = queues || program.queues > 0;
    }
    std::vector<uint32_t> operations(first_vertex.back() + 1);
    std::vector<uint32_t> waiters(first_operation.back() + 1);
    std::vector<uint32_t> followers(first_vertex.back() + 1);
    for (size_t rank = 0; rank < all.size(); ++rank) {
        for (const Operation &operation : all[rank].operations)
            ++operations[first_vertex[rank] + operation.vertex + 1];
        for (const Request request : all[rank].awaited_requests)
            ++waiters[first_operation[rank] + request + 1];
        for (const Vertex vertex : all[rank].awaited_vertices)
            ++followers[first_vertex[rank] + vertex + 1];
    }
    operations_of = Lists(std::move(operations));
    waiters_of = Lists(std::move(waiters));
    followers_of = Lists(std::move(followers));
    for (size_t rank = 0; rank < all.size(); ++rank) {
        const Program &program = all[rank];
        for (uint32_t i = 0; i < program.operations.size(); ++i)
            operations_of.add(first_vertex[rank] + program.operations[i].vertex, i);
        for (uint32_t vertex = 0; vertex < program.vertices.size(); ++vertex) {
            const VertexDependencies &needs = program.vertices[vertex];
            for (const Request request : program.requests_of(needs))
                waiters_of.add(first_operation[rank] + request, vertex);
            for (const Vertex earlier : program.vertices_of(needs))
                followers_of.add(first_vertex[rank] + earlier, vertex);
        }
    }
}

std::string describe_element(const Span &span, int64_t offset) {
    const std::string element = "element " + std::to_string(span.offset + offset) + " of its ";
    if (span.buffer == input_buffer)
        return element + "input";
    if (span.buffer == output_buffer)
        return element + "output";
    return element + "scratch buffer " + std::to_string(span.buffer - first_scratch_buffer);
}

std::string describe(const Operation &operation) {
    const std::string peer = "rank " + std::to_string(operation.peer);
    const std::string tag = operation.tag == 0 ? "" : " with tag " + std::to_string(operation.tag);
    switch (operation.kind) {
    case Kind::send:
        return "a send to " + peer + tag;
    case Kind::synchronous_send:
        return "a synchronous send to " + peer + tag;
    case Kind::buffered_send:
        return "a buffered send to " + peer + tag;
    case Kind::receive:
        return "a receive from " + peer + tag;
    case Kind::reduce:
        return "a reduction";
    case Kind::copy:
        return "a copy";
    }
    return "";
}

namespace {

int64_t buffer_length(const Program &program, const Call &call, int32_t buffer) {
    if (buffer == input_buffer)
        return input_length(call, program.rank);
    if (buffer == output_buffer)
        return output_length(call, program.rank);
    const auto scratch = static_cast<size_t>(buffer - first_scratch_buffer);
    return buffer >= first_scratch_buffer && scratch < program.scratch.size() ? program.scratch[scratch] : -1;
}

void check_piece(const Program &program, const Call &call, const Operation &operation, const Span &piece) {
    const int64_t length = buffer_length(program, call, piece.buffer);
    const std::string who = "rank " + std::to_string(program.rank) + ": " + describe(operation);
    if (length < 0)
        throw CheckFailure{who + " uses buffer " + std::to_string(piece.buffer) + ", which does not exist"};
    if (piece.length < 0)
        throw CheckFailure{who + " has a piece of " + std::to_string(piece.length) + " elements"};
    if (piece.length > 0 && (piece.offset < 0 || piece.offset + piece.length > length)) {
        const int64_t offset = piece.offset < 0 ? 0 : std::max<int64_t>(0, length - piece.offset);
        throw CheckFailure{who + " accesses " + describe_element(piece, offset) + ", which has " +
                           std::to_string(length) + " elements"};
    }
}

void check_vertex(const Program &program, uint32_t vertex) {
    const VertexDependencies &needs = program.vertices[vertex];
    const std::string who = "rank " + std::to_string(program.rank) + ": vertex " + std::to_string(vertex);
    for (const Vertex earlier : program.vertices_of(needs))
        if (earlier >= vertex)
            throw CheckFailure{who + " waits for itself or a later vertex"};
    for (const Request request : program.requests_of(needs)) {
        if (request >= program.operations.size() || program.operations[request].vertex >= vertex)
            throw CheckFailure{who + " waits for a message that is posted at the same or at a later vertex"};
        if (!is_message(program.operations[request]))
            throw CheckFailure{who + " waits for " + describe(program.operations[request])};
    }
    if (needs.vertices == 0 && needs.requests == 0 && needs.queue == none)
        throw CheckFailure{who + " waits for nothing"};
    if (needs.queue != none && needs.queue >= program.queues)
        throw CheckFailure{who + " waits for a completion queue that does not exist"};
}

/** Each queue has as many requests as pops: with fewer pops, a message would be in flight at the exit. */
void check_queues(const Program &program) {
    std::vector<int64_t> requests(program.queues);
    std::vector<int64_t> popped(program.queues);
    for (const Operation &operation : program.operations)
        if (operation.queue != none)
            ++requests.at(operation.queue);
    for (const VertexDependencies &needs : program.vertices)
        if (needs.queue != none)
            ++popped[needs.queue];
    for (uint32_t queue = 0; queue < program.queues; ++queue)
        if (requests[queue] != popped[queue])
            throw CheckFailure{"rank " + std::to_string(program.rank) + ": completion queue " +
                               std::to_string(queue) + " gets " + std::to_string(requests[queue]) +
                               " requests and is popped " + std::to_string(popped[queue]) + " times"};
}

} // namespace

void check_bounds(const Program &program, const Call &call) {
    for (const Operation &operation : program.operations) {
        if (operation.vertex >= program.vertices.size())
            throw CheckFailure{"rank " + std::to_string(program.rank) + ": " + describe(operation) +
                               " belongs to a vertex that does not exist"};
        for (const Span &piece : program.pieces_of(operation))
            check_piece(program, call, operation, piece);
        if (is_send(operation) || operation.length == 0)
            continue;
        const size_t written = is_message(operation) ? operation.pieces : 1;
        for (const Span &piece : program.pieces_of(operation).first(written))
            if (piece.buffer == input_buffer && piece.length > 0)
                throw CheckFailure{"rank " + std::to_string(program.rank) + ": " + describe(operation) +
                                   " writes into " + describe_element(piece, 0)};
    }
    for (uint32_t vertex = 1; vertex < program.vertices.size(); ++vertex)
        check_vertex(program, vertex);
    if (program.queues > 0)
        check_queues(program);
}

namespace {

/** One end of a message, as seen by its receiver. */
struct End {
    int32_t source;
    int32_t tag;
    uint32_t number; /**< of the operation, among those of all ranks */
    bool operator<(const End &other) const {
        return std::tie(source, tag, number) < std::tie(other.source, other.tag, other.number);
    }
    [[nodiscard]] bool same_channel(const End &other) const {
        return source == other.source && tag == other.tag;
    }
};

/** The sends to each target, ordered by source, then by posting. */
Lists sends_by_target(const CallGraph &graph) {
    std::vector<uint32_t> count(graph.programs.size() + 1);
    for (const Program &program : graph.programs)
        for (const Operation &operation : program.operations)
            if (is_send(operation))
                ++count[static_cast<size_t>(operation.peer) + 1];
    Lists sends(std::move(count));
    for (size_t rank = 0; rank < graph.programs.size(); ++rank) {
        const auto &operations = graph.programs[rank].operations;
        for (uint32_t i = 0; i < operations.size(); ++i)
            if (is_send(operations[i]))
                sends.add(static_cast<uint32_t>(operations[i].peer), graph.first_operation[rank] + i);
    }
    return sends;
}

const Operation &operation_of(const CallGraph &graph, size_t rank, uint32_t number) {
    return graph.programs[rank].operations[number - graph.first_operation[rank]];
}

std::vector<End> ends_of_sends(const CallGraph &graph, std::span<const uint32_t> sends) {
    std::vector<End> ends;
    ends.reserve(sends.size());
    size_t source = 0;
    for (const uint32_t number : sends) {
        while (number >= graph.first_operation[source + 1])
            ++source;
        ends.push_back({static_cast<int32_t>(source), operation_of(graph, source, number).tag, number});
    }
    if (!std::is_sorted(ends.begin(), ends.end()))
        std::sort(ends.begin(), ends.end());
    return ends;
}

std::vector<End> ends_of_receives(const CallGraph &graph, size_t target) {
    std::vector<End> ends;
    const auto &operations = graph.programs[target].operations;
    for (uint32_t i = 0; i < operations.size(); ++i)
        if (operations[i].kind == Kind::receive)
            ends.push_back({operations[i].peer, operations[i].tag, graph.first_operation[target] + i});
    if (!std::is_sorted(ends.begin(), ends.end()))
        std::sort(ends.begin(), ends.end());
    return ends;
}

[[noreturn]] void unmatched(size_t target, const End &end, bool sent) {
    const std::string source = "rank " + std::to_string(end.source);
    const std::string receiver = "rank " + std::to_string(target);
    const std::string tag = "a message with tag " + std::to_string(end.tag);
    if (sent)
        throw CheckFailure{source + " sends " + receiver + " " + tag + " that is never received"};
    throw CheckFailure{receiver + " receives " + tag + " from " + source + " that is never sent"};
}

} // namespace

std::vector<uint32_t> match(const CallGraph &graph) {
    const Lists sends = sends_by_target(graph);
    std::vector<uint32_t> partner(graph.first_operation.back(), none);
    for (uint32_t target = 0; target < graph.programs.size(); ++target) {
        const std::vector<End> sent = ends_of_sends(graph, sends.of(target));
        const std::vector<End> received = ends_of_receives(graph, target);
        const size_t both = std::min(sent.size(), received.size());
        for (size_t i = 0; i < both; ++i) {
            if (!sent[i].same_channel(received[i])) {
                const bool extra_send =
                    std::tie(sent[i].source, sent[i].tag) < std::tie(received[i].source, received[i].tag);
                unmatched(target, extra_send ? sent[i] : received[i], extra_send);
            }
            const Operation &out = operation_of(graph, static_cast<size_t>(sent[i].source), sent[i].number);
            const Operation &in = operation_of(graph, target, received[i].number);
            if (out.length != in.length)
                throw CheckFailure{"rank " + std::to_string(sent[i].source) + " sends " +
                                   std::to_string(out.length) + " elements to rank " +
                                   std::to_string(target) + ", which receives " + std::to_string(in.length) +
                                   " (tag " + std::to_string(out.tag) + ")"};
            partner[sent[i].number] = received[i].number;
            partner[received[i].number] = sent[i].number;
        }
        if (sent.size() > both)
            unmatched(target, sent[both], true);
        if (received.size() > both)
            unmatched(target, received[both], false);
    }
    return partner;
}

} // namespace offbeat::schedule
