#include "schedule/check_values.hpp"

#include "schedule/check_races.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::schedule {

Contents::Contents(int64_t length, Values values) : length_(length) {
    if (length > 0)
        runs_.push_back({0, values.ranks, values.index});
}

size_t Contents::at(int64_t offset) const {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), offset,
                         [](int64_t wanted, const Run &candidate) { return wanted < candidate.start; });
    return static_cast<size_t>(after - runs_.begin()) - 1;
}

int64_t Contents::end_of(size_t run) const {
    return run + 1 < runs_.size() ? runs_[run + 1].start : length_;
}

void Contents::read(int64_t offset, int64_t length, std::vector<Values> &values) const {
    if (length == 0)
        return;
    for (size_t i = at(offset); i < runs_.size() && runs_[i].start < offset + length; ++i) {
        const int64_t start = std::max(runs_[i].start, offset);
        const int64_t end = std::min(end_of(i), offset + length);
        values.push_back({runs_[i].ranks, runs_[i].index + start - runs_[i].start, end - start});
    }
}

void Contents::append(int64_t start, RankSet ranks, int64_t index) {
    if (!patch_.empty()) {
        const Run &last = patch_.back();
        if (last.ranks == ranks && (ranks == no_ranks || last.index + start - last.start == index))
            return;
    }
    patch_.push_back({start, ranks, index});
}

void Contents::write(int64_t offset, int64_t length, const std::vector<Values> &values) {
    if (length == 0)
        return;
    size_t first = at(offset);
    const size_t last = at(offset + length - 1);
    patch_.clear();
    if (runs_[first].start < offset)
        append(runs_[first].start, runs_[first].ranks, runs_[first].index);
    else if (first > 0) {
        --first;
        append(runs_[first].start, runs_[first].ranks, runs_[first].index);
    }
    int64_t start = offset;
    for (const Values &piece : values) {
        append(start, piece.ranks, piece.index);
        start += piece.length;
    }
    size_t behind = last + 1;
    if (start < end_of(last))
        append(start, runs_[last].ranks, runs_[last].index + start - runs_[last].start);
    else if (behind < runs_.size()) {
        append(start, runs_[behind].ranks, runs_[behind].index);
        ++behind;
    }
    const size_t old = behind - first;
    const auto place = runs_.begin() + static_cast<std::ptrdiff_t>(first);
    if (patch_.size() <= old) {
        const auto rest = std::copy(patch_.begin(), patch_.end(), place);
        runs_.erase(rest, place + static_cast<std::ptrdiff_t>(old));
    } else {
        const auto half = patch_.begin() + static_cast<std::ptrdiff_t>(old);
        const auto rest = std::copy(patch_.begin(), half, place);
        runs_.insert(rest, half, patch_.end());
    }
}

namespace {

class Machine {
  public:
    Machine(const Wiring &wiring, const std::vector<uint32_t> &partner, const Run &run, const Call &call,
            bool ordered, RankSets &sets)
        : wiring_(wiring), partner_(partner), run_(run), call_(call), ordered_(ordered), sets_(sets) {
        for (const Program &program : wiring.programs) {
            memory_.push_back(fresh(program));
            for (const Contents &buffer : memory_.back())
                runs_ += buffer.runs();
        }
    }

    void go() {
        uint32_t rank = 0;
        for (const uint32_t number : run_.order) {
            if (number < wiring_.first_operation[rank] || number >= wiring_.first_operation[rank + 1])
                rank = rank_of(number);
            const uint32_t i = number - wiring_.first_operation[rank];
            const Operation &operation = wiring_.programs[rank].operations[i];
            if (is_message(operation))
                deliver(rank, i, static_cast<uint32_t>(operation.peer));
            else
                work(rank, i);
        }
        for (int rank_now = 0; rank_now < call_.p; ++rank_now)
            compare(rank_now);
    }

  private:
    using Buffers = std::vector<Contents>;

    [[nodiscard]] Buffers fresh(const Program &program) const {
        const int rank = program.rank;
        const int64_t out = output_length(call_, rank);
        const bool source = call_.collective == Collective::bcast && rank == call_.root;
        Buffers buffers;
        buffers.reserve(program.scratch.size() + first_scratch_buffer);
        buffers.emplace_back(input_length(call_, rank), Values{sets_.one(rank)});
        buffers.emplace_back(out, source ? Values{sets_.one(rank)} : Values{});
        for (const int64_t length : program.scratch)
            buffers.emplace_back(length);
        return buffers;
    }

    [[nodiscard]] uint32_t rank_of(uint32_t number) const {
        const auto &first = wiring_.first_operation;
        return static_cast<uint32_t>(std::upper_bound(first.begin(), first.end(), number) - first.begin()) -
               1;
    }

    /** The pieces of an operation as they are in this run. The span lives until the next call. */
    std::span<const Span> pieces(uint32_t rank, uint32_t i) {
        if (run_.popped.empty())
            return pieces_of(wiring_.programs[rank], wiring_.programs[rank].operations[i]);
        translated_ = pieces_in_run(wiring_, rank, i, run_);
        return translated_;
    }

    /** Appends what a piece holds to `values`: all of it must have been written before. */
    void read(uint32_t rank, uint32_t i, const Span &piece, std::vector<Values> &values) {
        const size_t before = values.size();
        memory_[rank][static_cast<size_t>(piece.buffer)].read(piece.offset, piece.length, values);
        int64_t offset = 0;
        for (size_t at = before; at < values.size(); offset += values[at++].length)
            if (values[at].ranks == no_ranks)
                throw Wrong{"rank " + std::to_string(rank) + ": " +
                            describe(wiring_.programs[rank].operations[i]) + " reads " +
                            place(piece, offset) + " before anything was written there"};
    }

    void write(uint32_t rank, const Span &piece, const std::vector<Values> &values) {
        Contents &buffer = memory_[rank][static_cast<size_t>(piece.buffer)];
        runs_ -= buffer.runs();
        buffer.write(piece.offset, piece.length, values);
        runs_ += buffer.runs();
        if (runs_ > most_runs)
            throw std::runtime_error("the data falls into more than " + std::to_string(most_runs) +
                                     " stretches, which are too many to check");
    }

    void deliver(uint32_t source, uint32_t i, uint32_t target) {
        carried_.clear();
        for (const Span &piece : pieces(source, i))
            read(source, i, piece, carried_);
        const uint32_t receive =
            partner_[wiring_.first_operation[source] + i] - wiring_.first_operation[target];
        const auto into = pieces_of(wiring_.programs[target], wiring_.programs[target].operations[receive]);
        if (into.size() == 1) {
            write(target, into[0], carried_);
            return;
        }
        size_t at = 0;
        for (const Span &piece : into) {
            part_.clear();
            for (int64_t left = piece.length; left > 0;) {
                Values &first = carried_[at];
                const int64_t length = std::min(left, first.length);
                part_.push_back({first.ranks, first.index, length});
                first.index += length;
                first.length -= length;
                left -= length;
                at += first.length == 0 ? 1 : 0;
            }
            write(target, piece, part_);
        }
    }

    void work(uint32_t rank, uint32_t i) {
        const Operation &operation = wiring_.programs[rank].operations[i];
        const auto both = pieces(rank, i);
        const Span into = both[0];
        const Span from = both[1];
        carried_.clear();
        read(rank, i, from, carried_);
        if (operation.kind == Kind::copy) {
            write(rank, into, carried_);
            return;
        }
        part_.clear();
        read(rank, i, into, part_);
        const bool from_first = operation.order == Order::from_first;
        combine(rank, into, from_first ? carried_ : part_, from_first ? part_ : carried_);
        write(rank, into, combined_);
    }

    /** lower ∘ higher, to combined_. */
    void combine(uint32_t rank, const Span &into, std::vector<Values> &lower, std::vector<Values> &higher) {
        combined_.clear();
        size_t a = 0;
        size_t b = 0;
        for (int64_t offset = 0; offset < into.length;) {
            Values &left = lower[a];
            Values &right = higher[b];
            const int64_t length = std::min(left.length, right.length);
            if (left.index != right.index)
                throw Wrong{reduces(rank, into, offset) + ": element " + std::to_string(left.index) + " of " +
                            sets_.describe(left.ranks) + " with element " + std::to_string(right.index) +
                            " of " + sets_.describe(right.ranks)};
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
            throw Wrong{reduces(rank, into, offset) + ": " + sets_.describe(lower) + " with " +
                        sets_.describe(higher) + ", and so counts rank " + std::to_string(*twice) + " twice"};
        if (!ordered_)
            return sets_.unite(lower, higher);
        const auto joined = sets_.join_in_order(lower, higher);
        if (!joined)
            throw Wrong{reduces(rank, into, offset) + ": " + sets_.describe(lower) + " before " +
                        sets_.describe(higher) + ", which is not rank order"};
        return *joined;
    }

    static std::string reduces(uint32_t rank, const Span &into, int64_t offset) {
        return "rank " + std::to_string(rank) + " combines, in " + place(into, offset);
    }

    [[nodiscard]] std::vector<Values> promised(int rank) const {
        const int64_t n = call_.count;
        switch (call_.collective) {
        case Collective::reduce:
        case Collective::allreduce:
            return {{sets_.all(), 0, n}};
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
            return {{sets_.all(), rank * n, n}};
        case Collective::scan:
            return {{sets_.range(0, rank + 1), 0, n}};
        case Collective::exscan:
            return rank == 0 ? std::vector<Values>{} : std::vector<Values>{{sets_.range(0, rank), 0, n}};
        case Collective::bcast:
            return {{sets_.one(call_.root), 0, n}};
        case Collective::scatter:
            return {{sets_.one(call_.root), rank * n, n}};
        case Collective::barrier:
            return {};
        default:
            break;
        }
        std::vector<Values> blocks;
        for (int source = 0; source < call_.p; ++source)
            blocks.push_back({sets_.one(source), call_.collective == Collective::alltoall ? rank * n : 0, n});
        return blocks;
    }

    void compare(int rank) {
        const int64_t length = output_length(call_, rank);
        if (length == 0)
            return;
        carried_.clear();
        memory_[static_cast<size_t>(rank)][output_buffer].read(0, length, carried_);
        size_t at = 0;
        int64_t offset = 0;
        for (Values expected : promised(rank)) {
            while (expected.length > 0) {
                Values &found = carried_[at];
                if (found.ranks != expected.ranks || found.index != expected.index)
                    throw Wrong{difference(rank, offset, found, expected)};
                const int64_t same = std::min(found.length, expected.length);
                for (Values *values : {&found, &expected}) {
                    values->index += same;
                    values->length -= same;
                }
                at += found.length == 0 ? 1 : 0;
                offset += same;
            }
        }
    }

    [[nodiscard]] std::string difference(int rank, int64_t offset, const Values &found,
                                         const Values &expected) const {
        const auto told = [&](const Values &values) {
            return "element " + std::to_string(values.index) + " of " + sets_.describe(values.ranks);
        };
        return "rank " + std::to_string(rank) + ": element " + std::to_string(offset) + " of its output " +
               (found.ranks == no_ranks ? "was never written" : "is " + told(found)) + "; it should be " +
               told(expected);
    }

    const Wiring &wiring_;
    const std::vector<uint32_t> &partner_;
    const Run &run_;
    const Call &call_;
    const bool ordered_;
    RankSets &sets_;
    std::vector<Buffers> memory_; /**< by rank and buffer */
    size_t runs_ = 0;             /**< of all of them */
    std::vector<Values> carried_;
    std::vector<Values> part_;
    std::vector<Values> combined_;
    std::vector<Span> translated_;
};

} // namespace

void check_values(const Wiring &wiring, const std::vector<uint32_t> &partner, const Run &run,
                  const Call &call, bool ordered, RankSets &sets) {
    Machine(wiring, partner, run, call, ordered, sets).go();
}

} // namespace offbeat::schedule
