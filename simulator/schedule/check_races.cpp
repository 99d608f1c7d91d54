#include "schedule/check_races.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace offbeat::schedule {

namespace {

/** The index of the first word with the bits of a vertex: vertex j has bits for the vertices 0 to j. */
size_t bits_begin(size_t vertex) {
    const size_t word = vertex / 64;
    return 64 * word * (word + 1) / 2 + (vertex % 64) * (word + 1);
}

} // namespace

VertexOrder::VertexOrder(const CallGraph &graph, uint32_t rank, const Execution &execution)
    : graph_(graph), program_(graph.programs[rank]), rank_(rank), execution_(execution),
      is_sequential_(has_one_chain()) {
    if (!is_sequential_)
        compute_ancestors();
}

bool VertexOrder::has_one_chain() const {
    for (Vertex vertex = 1; vertex < program_.vertices.size(); ++vertex) {
        const VertexDependencies &needs = program_.vertices[vertex];
        if (std::ranges::count(program_.vertices_of(needs), vertex - 1) == 0)
            return false;
    }
    return std::ranges::is_sorted(program_.operations, {}, &Operation::vertex);
}

uint64_t *VertexOrder::ancestors(Vertex vertex) {
    return bits_.data() + bits_begin(vertex);
}

void VertexOrder::add_ancestors(Vertex vertex, Vertex earlier) {
    const uint64_t *from = ancestors(earlier);
    uint64_t *into = ancestors(vertex);
    for (size_t i = 0; i <= earlier / 64; ++i)
        into[i] |= from[i];
}

void VertexOrder::compute_ancestors() {
    bits_.assign(bits_begin(program_.vertices.size()), 0);
    for (Vertex vertex = 0; vertex < program_.vertices.size(); ++vertex) {
        const VertexDependencies &needs = program_.vertices[vertex];
        for (const Vertex earlier : program_.vertices_of(needs))
            add_ancestors(vertex, earlier);
        for (const Request request : program_.requests_of(needs))
            add_ancestors(vertex, program_.operations[request].vertex);
        ancestors(vertex)[vertex / 64] |= uint64_t{1} << (vertex % 64);
    }
}

bool VertexOrder::precedes(Vertex a, Vertex b) const {
    if (is_sequential_ || a > b)
        return a <= b;
    return (bits_[bits_begin(b) + a / 64] >> (a % 64) & 1) != 0;
}

bool VertexOrder::starts_before(uint32_t a, uint32_t b) const {
    const Vertex first = program_.operations[a].vertex;
    const Vertex second = program_.operations[b].vertex;
    return first == second ? a < b : precedes(first, second);
}

bool VertexOrder::completes_before(uint32_t a, uint32_t b) const {
    if (!is_message(program_.operations[a]))
        return starts_before(a, b);
    const uint32_t number = graph_.first_operation[rank_] + a;
    const Vertex start = program_.operations[b].vertex;
    for (const Vertex waiter : graph_.waiters_of.of(number))
        if (precedes(waiter, start))
            return true;
    if (program_.operations[a].queue == none)
        return false;
    return precedes(execution_.popped_by.at(number), start);
}

namespace {

/** The same part of another message's buffer; the piece itself if it is not inside of `expected`. */
Span translate(const Span &piece, std::span<const Span> expected, std::span<const Span> actual) {
    int64_t before = 0;
    for (const Span &written : expected) {
        const int64_t inside = piece.offset - written.offset;
        if (piece.buffer != written.buffer || inside < 0 || inside + piece.length > written.length) {
            before += written.length;
            continue;
        }
        int64_t position = before + inside;
        for (const Span &received : actual) {
            if (position + piece.length <= received.length)
                return received.part(position, piece.length);
            position -= received.length;
            if (position < 0)
                return piece;
        }
        return piece;
    }
    return piece;
}

} // namespace

std::vector<Span> actual_pieces(const CallGraph &graph, uint32_t rank, uint32_t operation,
                                const Execution &execution) {
    const Program &program = graph.programs[rank];
    const Operation &written = program.operations[operation];
    const auto pieces = program.pieces_of(written);
    std::vector<Span> result(pieces.begin(), pieces.end());
    const auto popped = execution.popped.find(graph.first_vertex[rank] + written.vertex);
    if (popped == execution.popped.end() || written.kind == Kind::receive)
        return result;
    const Operation &expected = program.operations[popped->second.expected];
    const Operation &actual = program.operations[popped->second.actual];
    if (expected.kind != Kind::receive || actual.kind != Kind::receive || expected.length != actual.length)
        return result;
    for (Span &piece : result)
        piece = translate(piece, program.pieces_of(expected), program.pieces_of(actual));
    return result;
}

namespace {

/** The accesses to each interval of one rank's buffers that later operations can conflict with. */
class AccessHistory {
  public:
    AccessHistory(const Program &program, const VertexOrder &order)
        : program_(program), order_(order), buffers_(program.scratch.size() + first_scratch_buffer) {
    }

    void read(uint32_t operation, const Span &piece) {
        if (piece.length == 0)
            return;
        auto &buffer = buffers_[static_cast<size_t>(piece.buffer)];
        split(buffer, piece.offset + piece.length);
        for (auto at = split(buffer, piece.offset);
             at != buffer.end() && at->first < piece.offset + piece.length; ++at) {
            if (at->second.writer != none)
                require_order(at->second.writer, operation, piece, at->first, true);
            add_reader(at->second, operation);
        }
    }

    void write(uint32_t operation, const Span &piece) {
        if (piece.length == 0)
            return;
        auto &buffer = buffers_[static_cast<size_t>(piece.buffer)];
        split(buffer, piece.offset + piece.length);
        const auto first = split(buffer, piece.offset);
        auto at = first;
        for (; at != buffer.end() && at->first < piece.offset + piece.length; ++at) {
            if (at->second.writer != none)
                require_order(at->second.writer, operation, piece, at->first, true);
            for (uint32_t reader = at->second.readers; reader != none; reader = readers_[reader].next)
                if (readers_[reader].operation != operation)
                    require_order(readers_[reader].operation, operation, piece, at->first, false);
        }
        first->second = {operation, none};
        buffer.erase(std::next(first), at);
    }

  private:
    struct Interval {
        uint32_t writer = none;
        uint32_t readers = none; /**< in readers_: since the last write */
    };
    struct Reader {
        uint32_t operation;
        uint32_t next;
    };
    using Buffer = std::map<int64_t, Interval>; /**< by first element, up to the next one's */

    Buffer::iterator split(Buffer &buffer, int64_t at) {
        const auto next = buffer.lower_bound(at);
        if (next != buffer.end() && next->first == at)
            return next;
        return buffer.emplace_hint(next, at, next == buffer.begin() ? Interval{} : std::prev(next)->second);
    }

    /** Readers that complete before this one are dropped: what follows this reader follows them. */
    void add_reader(Interval &interval, uint32_t operation) {
        uint32_t concurrent = interval.readers;
        while (concurrent != none && order_.completes_before(readers_[concurrent].operation, operation))
            concurrent = readers_[concurrent].next;
        readers_.push_back({operation, concurrent});
        interval.readers = static_cast<uint32_t>(readers_.size() - 1);
    }

    void require_order(uint32_t earlier, uint32_t later, const Span &piece, int64_t element,
                       bool written) const {
        if (earlier != later && order_.completes_before(earlier, later))
            return;
        const Operation &first = program_.operations[earlier];
        const Operation &second = program_.operations[later];
        const std::string at = describe_element(piece, element - piece.offset);
        const std::string who = "rank " + std::to_string(program_.rank) + ": ";
        if (earlier == later)
            throw CheckFailure{who + describe(first) + " uses " + at + " twice"};
        if (!order_.starts_before(earlier, later))
            throw CheckFailure{who + describe(first) + " and " + describe(second) + " access " + at +
                               " in an undefined order"};
        throw CheckFailure{who + describe(second) + " accesses " + at + " while " + describe(first) +
                           " still " + (written ? "writes" : "reads") + " it"};
    }

    const Program &program_;
    const VertexOrder &order_;
    std::vector<Buffer> buffers_;
    std::vector<Reader> readers_;
};

void record_accesses(AccessHistory &history, const CallGraph &graph, uint32_t rank, uint32_t i,
                     const Execution &execution) {
    const Program &program = graph.programs[rank];
    const Operation &operation = program.operations[i];
    std::vector<Span> translated_pieces;
    std::span<const Span> pieces = program.pieces_of(operation);
    if (!execution.popped.empty()) {
        translated_pieces = actual_pieces(graph, rank, i, execution);
        pieces = translated_pieces;
    }
    if (is_message(operation)) {
        for (const Span &piece : pieces)
            is_send(operation) ? history.read(i, piece) : history.write(i, piece);
        return;
    }
    const Span &into = pieces[0];
    const Span &from = pieces[1];
    if (into.buffer == from.buffer && into.offset < from.offset + from.length &&
        from.offset < into.offset + into.length)
        throw CheckFailure{"rank " + std::to_string(rank) + ": " + describe(operation) + " from and into " +
                           describe_element(into, std::max<int64_t>(0, from.offset - into.offset))};
    history.read(i, from);
    history.write(i, into);
}

/** Messages with the same peer and tag are matched in the order in which they were written: checks that this
 * is the order of posting. */
void check_message_order(const Program &program, const VertexOrder &order) {
    std::vector<uint32_t> messages;
    for (uint32_t i = 0; i < program.operations.size(); ++i)
        if (is_message(program.operations[i]))
            messages.push_back(i);
    const auto channel = [&](uint32_t i) {
        const Operation &operation = program.operations[i];
        return std::tuple(operation.kind == Kind::receive, operation.peer, operation.tag);
    };
    std::ranges::stable_sort(messages, {}, channel);
    for (size_t i = 1; i < messages.size(); ++i)
        if (channel(messages[i - 1]) == channel(messages[i]) &&
            !order.starts_before(messages[i - 1], messages[i]))
            throw CheckFailure{"rank " + std::to_string(program.rank) + ": " +
                               describe(program.operations[messages[i]]) +
                               " is posted twice in an undefined order"};
}

} // namespace

void check_races(const CallGraph &graph, uint32_t rank, const Execution &execution) {
    const Program &program = graph.programs[rank];
    const VertexOrder order(graph, rank, execution);
    AccessHistory history(program, order);
    if (order.is_sequential()) {
        for (uint32_t i = 0; i < program.operations.size(); ++i)
            record_accesses(history, graph, rank, i, execution);
        return;
    }
    check_message_order(program, order);
    for (Vertex vertex = 0; vertex < program.vertices.size(); ++vertex)
        for (const uint32_t i : graph.operations_of.of(graph.first_vertex[rank] + vertex))
            record_accesses(history, graph, rank, i, execution);
}

} // namespace offbeat::schedule
