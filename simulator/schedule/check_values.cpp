#include "schedule/check_values.hpp"

#include "schedule/check_races.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::schedule {

BufferContents::BufferContents(int64_t length, Values values) : length_(length) {
    if (length > 0)
        intervals_.push_back({0, values.ranks, values.index});
}

size_t BufferContents::at(int64_t offset) const {
    const auto after =
        std::upper_bound(intervals_.begin(), intervals_.end(), offset,
                         [](int64_t target, const Interval &candidate) { return target < candidate.start; });
    return static_cast<size_t>(after - intervals_.begin()) - 1;
}

int64_t BufferContents::end_of(size_t interval) const {
    return interval + 1 < intervals_.size() ? intervals_[interval + 1].start : length_;
}

void BufferContents::read(int64_t offset, int64_t length, std::vector<Values> &values) const {
    if (length == 0)
        return;
    for (size_t i = at(offset); i < intervals_.size() && intervals_[i].start < offset + length; ++i) {
        const int64_t start = std::max(intervals_[i].start, offset);
        const int64_t end = std::min(end_of(i), offset + length);
        values.push_back(
            {intervals_[i].ranks, intervals_[i].index + start - intervals_[i].start, end - start});
    }
}

void BufferContents::append(int64_t start, RankSet ranks, int64_t index) {
    if (!patch_.empty()) {
        const Interval &last = patch_.back();
        if (last.ranks == ranks && (ranks == no_ranks || last.index + start - last.start == index))
            return;
    }
    patch_.push_back({start, ranks, index});
}

void BufferContents::write(int64_t offset, int64_t length, const std::vector<Values> &values) {
    if (length == 0)
        return;
    size_t first = at(offset);
    const size_t last = at(offset + length - 1);
    patch_.clear();
    if (intervals_[first].start < offset)
        append(intervals_[first].start, intervals_[first].ranks, intervals_[first].index);
    else if (first > 0) {
        --first;
        append(intervals_[first].start, intervals_[first].ranks, intervals_[first].index);
    }
    int64_t start = offset;
    for (const Values &piece : values) {
        append(start, piece.ranks, piece.index);
        start += piece.length;
    }
    size_t after = last + 1;
    if (start < end_of(last))
        append(start, intervals_[last].ranks, intervals_[last].index + start - intervals_[last].start);
    else if (after < intervals_.size()) {
        append(start, intervals_[after].ranks, intervals_[after].index);
        ++after;
    }
    const size_t old = after - first;
    const auto place = intervals_.begin() + static_cast<std::ptrdiff_t>(first);
    if (patch_.size() <= old) {
        const auto rest = std::copy(patch_.begin(), patch_.end(), place);
        intervals_.erase(rest, place + static_cast<std::ptrdiff_t>(old));
    } else {
        const auto half = patch_.begin() + static_cast<std::ptrdiff_t>(old);
        const auto rest = std::copy(patch_.begin(), half, place);
        intervals_.insert(rest, half, patch_.end());
    }
}

namespace {

class SymbolicExecution {
  public:
    SymbolicExecution(const CallGraph &graph, const std::vector<uint32_t> &partner,
                      const Execution &execution, const Call &call, bool ordered, RankSets &sets)
        : graph_(graph), partner_(partner), execution_(execution), call_(call), ordered_(ordered),
          sets_(sets) {
        for (const Program &program : graph.programs) {
            memory_.push_back(initial_buffers(program));
            for (const BufferContents &buffer : memory_.back())
                intervals_ += buffer.intervals();
        }
    }

    void run() {
        uint32_t rank = 0;
        for (const uint32_t number : execution_.order) {
            if (number < graph_.first_operation[rank] || number >= graph_.first_operation[rank + 1])
                rank = rank_of(number);
            const uint32_t i = number - graph_.first_operation[rank];
            const Operation &operation = graph_.programs[rank].operations[i];
            if (is_message(operation))
                deliver(rank, i, static_cast<uint32_t>(operation.peer));
            else
                run_local(rank, i);
        }
        for (int output_rank = 0; output_rank < call_.p; ++output_rank)
            check_output(output_rank);
    }

  private:
    using Buffers = std::vector<BufferContents>;

    [[nodiscard]] Buffers initial_buffers(const Program &program) const {
        const int rank = program.rank;
        const int64_t out = output_length(call_, rank);
        const CollectiveRow &collective = row_of(call_.collective);
        const bool source = collective.result == Result::FROM_ROOT && collective.sent == Blocks::NO_BLOCK &&
                            rank == call_.root;
        Buffers buffers;
        buffers.reserve(program.scratch.size() + first_scratch_buffer);
        buffers.emplace_back(input_length(call_, rank), Values{sets_.single(rank)});
        buffers.emplace_back(out, source ? Values{sets_.single(rank)} : Values{});
        for (const int64_t length : program.scratch)
            buffers.emplace_back(length);
        return buffers;
    }

    [[nodiscard]] uint32_t rank_of(uint32_t number) const {
        const auto &first = graph_.first_operation;
        return static_cast<uint32_t>(std::upper_bound(first.begin(), first.end(), number) - first.begin()) -
               1;
    }

    /** The pieces of an operation in this execution. The span is valid until the next call. */
    std::span<const Span> pieces(uint32_t rank, uint32_t i) {
        if (execution_.popped.empty())
            return graph_.programs[rank].pieces_of(graph_.programs[rank].operations[i]);
        translated_ = actual_pieces(graph_, rank, i, execution_);
        return translated_;
    }

    /** Appends the content of a piece to `values`; all its elements must have been written before. */
    void read(uint32_t rank, uint32_t i, const Span &piece, std::vector<Values> &values) {
        const size_t before = values.size();
        memory_[rank][static_cast<size_t>(piece.buffer)].read(piece.offset, piece.length, values);
        int64_t offset = 0;
        for (size_t at = before; at < values.size(); offset += values[at++].length)
            if (values[at].ranks == no_ranks)
                throw CheckFailure{"rank " + std::to_string(rank) + ": " +
                                   describe(graph_.programs[rank].operations[i]) + " reads " +
                                   describe_element(piece, offset) + " before anything was written there"};
    }

    void write(uint32_t rank, const Span &piece, const std::vector<Values> &values) {
        BufferContents &buffer = memory_[rank][static_cast<size_t>(piece.buffer)];
        intervals_ -= buffer.intervals();
        buffer.write(piece.offset, piece.length, values);
        intervals_ += buffer.intervals();
        if (intervals_ > max_intervals)
            throw std::runtime_error("the buffers need more than " + std::to_string(max_intervals) +
                                     " intervals, which are too many to check");
    }

    void deliver(uint32_t source, uint32_t i, uint32_t target) {
        data_.clear();
        for (const Span &piece : pieces(source, i))
            read(source, i, piece, data_);
        const uint32_t receive =
            partner_[graph_.first_operation[source] + i] - graph_.first_operation[target];
        const auto into = graph_.programs[target].pieces_of(graph_.programs[target].operations[receive]);
        if (into.size() == 1) {
            write(target, into[0], data_);
            return;
        }
        size_t at = 0;
        for (const Span &piece : into) {
            part_.clear();
            for (int64_t remaining = piece.length; remaining > 0;) {
                Values &first = data_[at];
                const int64_t length = std::min(remaining, first.length);
                part_.push_back({first.ranks, first.index, length});
                first.index += length;
                first.length -= length;
                remaining -= length;
                at += first.length == 0 ? 1 : 0;
            }
            write(target, piece, part_);
        }
    }

    void run_local(uint32_t rank, uint32_t i) {
        const Operation &operation = graph_.programs[rank].operations[i];
        const auto both = pieces(rank, i);
        const Span into = both[0];
        const Span from = both[1];
        data_.clear();
        read(rank, i, from, data_);
        if (operation.kind == Kind::copy) {
            write(rank, into, data_);
            return;
        }
        part_.clear();
        read(rank, i, into, part_);
        const bool from_first = operation.order == Order::from_first;
        combine(rank, into, from_first ? data_ : part_, from_first ? part_ : data_);
        write(rank, into, combined_);
    }

    /** combined_ = lower ∘ higher. */
    void combine(uint32_t rank, const Span &into, std::vector<Values> &lower, std::vector<Values> &higher) {
        combined_.clear();
        size_t a = 0;
        size_t b = 0;
        for (int64_t offset = 0; offset < into.length;) {
            Values &left = lower[a];
            Values &right = higher[b];
            const int64_t length = std::min(left.length, right.length);
            if (left.index != right.index)
                throw CheckFailure{reduces(rank, into, offset) + ": element " + std::to_string(left.index) +
                                   " of " + sets_.describe(left.ranks) + " with element " +
                                   std::to_string(right.index) + " of " + sets_.describe(right.ranks)};
            combined_.push_back({union_of(rank, into, offset, left.ranks, right.ranks), left.index, length});
            for (Values *values : {&left, &right}) {
                values->index += length;
                values->length -= length;
            }
            a += left.length == 0 ? 1 : 0;
            b += right.length == 0 ? 1 : 0;
            offset += length;
        }
    }

    RankSet union_of(uint32_t rank, const Span &into, int64_t offset, RankSet lower, RankSet higher) {
        if (const auto twice = sets_.common(lower, higher))
            throw CheckFailure{reduces(rank, into, offset) + ": " + sets_.describe(lower) + " with " +
                               sets_.describe(higher) + ", and so counts rank " + std::to_string(*twice) +
                               " twice"};
        if (!ordered_)
            return sets_.unite(lower, higher);
        const auto joined = sets_.append_range(lower, higher);
        if (!joined)
            throw CheckFailure{reduces(rank, into, offset) + ": " + sets_.describe(lower) + " before " +
                               sets_.describe(higher) + ", which is not rank order"};
        return *joined;
    }

    static std::string reduces(uint32_t rank, const Span &into, int64_t offset) {
        return "rank " + std::to_string(rank) + " combines, in " + describe_element(into, offset);
    }

    [[nodiscard]] std::vector<Values> expected_output(int rank) const {
        const int64_t n = call_.count;
        const CollectiveRow &collective = row_of(call_.collective);
        const int64_t first = collective.sent == Blocks::BLOCK_PER_RANK ? rank * n : 0;
        switch (collective.result) {
        case Result::NO_RESULT:
            return {};
        case Result::FROM_ROOT:
            return {{sets_.single(call_.root), first, n}};
        case Result::REDUCE_ALL:
            return {{sets_.all(), first, n}};
        case Result::REDUCE_UPTO:
            return {{sets_.range(0, rank + 1), 0, n}};
        case Result::REDUCE_BEFORE:
            return rank == 0 ? std::vector<Values>{} : std::vector<Values>{{sets_.range(0, rank), 0, n}};
        case Result::FROM_EACH_RANK:
            break;
        }
        std::vector<Values> blocks;
        for (int source = 0; source < call_.p; ++source)
            blocks.push_back({sets_.single(source), first, n});
        return blocks;
    }

    void check_output(int rank) {
        const int64_t length = output_length(call_, rank);
        if (length == 0)
            return;
        data_.clear();
        memory_[static_cast<size_t>(rank)][output_buffer].read(0, length, data_);
        size_t at = 0;
        int64_t offset = 0;
        for (Values expected : expected_output(rank)) {
            while (expected.length > 0) {
                Values &actual = data_[at];
                if (actual.ranks != expected.ranks || actual.index != expected.index)
                    throw CheckFailure{difference(rank, offset, actual, expected)};
                const int64_t common_length = std::min(actual.length, expected.length);
                for (Values *values : {&actual, &expected}) {
                    values->index += common_length;
                    values->length -= common_length;
                }
                at += actual.length == 0 ? 1 : 0;
                offset += common_length;
            }
        }
    }

    [[nodiscard]] std::string difference(int rank, int64_t offset, const Values &actual,
                                         const Values &expected) const {
        const auto describe_values = [&](const Values &values) {
            return "element " + std::to_string(values.index) + " of " + sets_.describe(values.ranks);
        };
        return "rank " + std::to_string(rank) + ": element " + std::to_string(offset) + " of its output " +
               (actual.ranks == no_ranks ? "was never written" : "is " + describe_values(actual)) +
               "; it should be " + describe_values(expected);
    }

    const CallGraph &graph_;
    const std::vector<uint32_t> &partner_;
    const Execution &execution_;
    const Call &call_;
    const bool ordered_;
    RankSets &sets_;
    std::vector<Buffers> memory_; /**< by rank and buffer */
    size_t intervals_ = 0;        /**< of all buffers */
    std::vector<Values> data_;
    std::vector<Values> part_;
    std::vector<Values> combined_;
    std::vector<Span> translated_;
};

} // namespace

void check_values(const CallGraph &graph, const std::vector<uint32_t> &partner, const Execution &execution,
                  const Call &call, bool ordered, RankSets &sets) {
    SymbolicExecution(graph, partner, execution, call, ordered, sets).run();
}

} // namespace offbeat::schedule
