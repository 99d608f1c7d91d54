#include "schedule/check_races.hpp"

#include "schedule/check_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace offbeat::schedule {

namespace {

/** The same stretch of another message's buffer; the piece itself where it is not inside of the first. */
Span translated(const Span &piece, std::span<const Span> as_written, std::span<const Span> came) {
    int64_t before = 0;
    for (const Span &written : as_written) {
        const int64_t inside = piece.offset - written.offset;
        if (piece.buffer != written.buffer || inside < 0 || inside + piece.length > written.length) {
            before += written.length;
            continue;
        }
        int64_t position = before + inside;
        for (const Span &arrived : came) {
            if (position + piece.length <= arrived.length)
                return arrived.part(position, piece.length);
            position -= arrived.length;
            if (position < 0)
                return piece;
        }
        return piece;
    }
    return piece;
}

} // namespace

std::vector<Span> pieces_in_run(const Wiring &wiring, uint32_t rank, uint32_t operation, const Run &run) {
    const Program &program = wiring.programs[rank];
    const Operation &written = program.operations[operation];
    const auto pieces = pieces_of(program, written);
    std::vector<Span> result(pieces.begin(), pieces.end());
    const auto popped = run.popped.find(wiring.first_joint[rank] + written.joint);
    if (popped == run.popped.end() || written.kind == Kind::receive)
        return result;
    const Operation &expected = program.operations[popped->second.as_written];
    const Operation &came = program.operations[popped->second.came];
    if (expected.kind != Kind::receive || came.kind != Kind::receive || expected.length != came.length)
        return result;
    for (Span &piece : result)
        piece = translated(piece, pieces_of(program, expected), pieces_of(program, came));
    return result;
}

namespace {

/** What touched each stretch of one rank's buffers, as far as later operations can collide with it. */
class Touches {
  public:
    Touches(const Program &program, const JointOrder &order)
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
                demand(at->second.writer, operation, piece, at->first, true);
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
                demand(at->second.writer, operation, piece, at->first, true);
            for (uint32_t reader = at->second.readers; reader != none; reader = readers_[reader].next)
                if (readers_[reader].operation != operation)
                    demand(readers_[reader].operation, operation, piece, at->first, false);
        }
        first->second = {operation, none};
        buffer.erase(std::next(first), at);
    }

  private:
    struct Stretch {
        uint32_t writer = none;
        uint32_t readers = none; /**< in readers_: those since then */
    };
    struct Reader {
        uint32_t operation;
        uint32_t next;
    };
    using Buffer = std::map<int64_t, Stretch>; /**< by first element, up to the next one's */

    Buffer::iterator split(Buffer &buffer, int64_t at) {
        const auto next = buffer.lower_bound(at);
        if (next != buffer.end() && next->first == at)
            return next;
        return buffer.emplace_hint(next, at, next == buffer.begin() ? Stretch{} : std::prev(next)->second);
    }

    /** Readers that are over before this one need no memory: who comes after it comes after them. */
    void add_reader(Stretch &stretch, uint32_t operation) {
        uint32_t keep = stretch.readers;
        while (keep != none && order_.over_before(readers_[keep].operation, operation))
            keep = readers_[keep].next;
        readers_.push_back({operation, keep});
        stretch.readers = static_cast<uint32_t>(readers_.size() - 1);
    }

    void demand(uint32_t earlier, uint32_t later, const Span &piece, int64_t element, bool written) const {
        if (earlier != later && order_.over_before(earlier, later))
            return;
        const Operation &first = program_.operations[earlier];
        const Operation &second = program_.operations[later];
        const std::string at = place(piece, element - piece.offset);
        const std::string who = "rank " + std::to_string(program_.rank) + ": ";
        if (earlier == later)
            throw Wrong{who + describe(first) + " names " + at + " twice"};
        if (!order_.started_before(earlier, later))
            throw Wrong{who + describe(first) + " and " + describe(second) + " touch " + at +
                        " in an order that is left open"};
        throw Wrong{who + describe(second) + " touches " + at + " while " + describe(first) + " still " +
                    (written ? "writes" : "reads") + " it"};
    }

    const Program &program_;
    const JointOrder &order_;
    std::vector<Buffer> buffers_;
    std::vector<Reader> readers_;
};

void touch(Touches &touches, const Wiring &wiring, uint32_t rank, uint32_t i, const Run &run) {
    const Program &program = wiring.programs[rank];
    const Operation &operation = program.operations[i];
    std::vector<Span> translated_pieces;
    std::span<const Span> pieces = pieces_of(program, operation);
    if (!run.popped.empty()) {
        translated_pieces = pieces_in_run(wiring, rank, i, run);
        pieces = translated_pieces;
    }
    if (is_message(operation)) {
        for (const Span &piece : pieces)
            is_send(operation) ? touches.read(i, piece) : touches.write(i, piece);
        return;
    }
    const Span &into = pieces[0];
    const Span &from = pieces[1];
    if (into.buffer == from.buffer && into.offset < from.offset + from.length &&
        from.offset < into.offset + into.length)
        throw Wrong{"rank " + std::to_string(rank) + ": " + describe(operation) + " from and into " +
                    place(into, std::max<int64_t>(0, from.offset - into.offset))};
    touches.read(i, from);
    touches.write(i, into);
}

/** Messages to the same peer with the same tag meet in the order in which they were written: is that the
 * order of posting? */
void check_message_order(const Program &program, const JointOrder &order) {
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
            !order.started_before(messages[i - 1], messages[i]))
            throw Wrong{"rank " + std::to_string(program.rank) + ": " +
                        describe(program.operations[messages[i]]) +
                        " is posted twice in an order that is left open"};
}

} // namespace

void check_races(const Wiring &wiring, uint32_t rank, const Run &run) {
    const Program &program = wiring.programs[rank];
    const JointOrder order(wiring, rank, run);
    Touches touches(program, order);
    if (order.chain()) {
        for (uint32_t i = 0; i < program.operations.size(); ++i)
            touch(touches, wiring, rank, i, run);
        return;
    }
    check_message_order(program, order);
    for (Joint joint = 0; joint < program.joints.size(); ++joint)
        for (const uint32_t i : wiring.operations_of.of(wiring.first_joint[rank] + joint))
            touch(touches, wiring, rank, i, run);
}

} // namespace offbeat::schedule
