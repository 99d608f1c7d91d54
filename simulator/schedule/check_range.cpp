#include "schedule/check_range.hpp"

#include "schedule/call_graph.hpp"
#include "schedule/check.hpp"
#include "schedule/collective.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::schedule {

namespace {

bool same_shape(const Operation &a, const Operation &b) {
    return a.kind == b.kind && a.order == b.order && a.peer == b.peer && a.tag == b.tag &&
           a.vertex == b.vertex && a.pieces == b.pieces && a.queue == b.queue;
}

bool same_needs(const VertexDependencies &a, const VertexDependencies &b) {
    return a.requests == b.requests && a.vertices == b.vertices && a.queue == b.queue;
}

/** The difference, as a continuation of the rank's name; '' if there is none. */
std::string difference(const Program &one, const Program &many, int64_t count) {
    if (one.operations.size() != many.operations.size())
        return " has " + std::to_string(one.operations.size()) + " operations for 1 element and " +
               std::to_string(many.operations.size());
    for (size_t i = 0; i < one.operations.size(); ++i) {
        const Operation &small = one.operations[i];
        const Operation &large = many.operations[i];
        if (!same_shape(small, large))
            return "'s operation " + std::to_string(i) + " is " + describe(small) + " for 1 element and " +
                   describe(large);
        if (small.length * count != large.length)
            return ": " + describe(small) + " has " + std::to_string(small.length) +
                   " elements for 1 element and " + std::to_string(large.length);
    }
    for (size_t i = 0; i < one.pieces.size(); ++i) {
        const Span &small = one.pieces[i];
        const Span &large = many.pieces[i];
        if (small.buffer != large.buffer || small.offset * count != large.offset ||
            small.length * count != large.length)
            return "'s piece " + std::to_string(i) + " begins at " + describe_element(small, 0) +
                   " for 1 element and at " + describe_element(large, 0);
    }
    if (!std::ranges::equal(one.vertices, many.vertices, same_needs) ||
        one.awaited_requests != many.awaited_requests || one.awaited_vertices != many.awaited_vertices)
        return " waits differently for 1 element than";
    return "";
}

/** '' if the programs for `count` elements are those for one element with every length and offset times
 * `count`, otherwise a sentence with the rank and the difference. */
std::string check_scaling(std::span<const Program> for_one, std::span<const Program> for_count,
                          int64_t count) {
    for (size_t rank = 0; rank < for_one.size(); ++rank)
        if (const std::string text = difference(for_one[rank], for_count[rank], count); !text.empty())
            return "rank " + std::to_string(rank) + text + " for " + std::to_string(count) +
                   ", and its algorithm promises to scale";
    return "";
}

size_t bytes_of(const Program &program) {
    return program.operations.size() * sizeof(Operation) + program.pieces.size() * sizeof(Span) +
           program.vertices.size() * sizeof(VertexDependencies) +
           program.awaited_requests.size() * sizeof(Request) +
           program.awaited_vertices.size() * sizeof(Vertex);
}

} // namespace

void write_programs(const Call &call, const WriteProgram &write, std::vector<Program> &programs) {
    Program program;
    programs.resize(static_cast<size_t>(call.p));
    size_t bytes = 0;
    for (int rank = 0; rank < call.p; ++rank) {
        write(call, rank, program);
        bytes += bytes_of(program);
        if (bytes > max_program_bytes)
            throw std::runtime_error("the programs of " + std::to_string(call.p) + " ranks take more than " +
                                     std::to_string(max_program_bytes >> 30) +
                                     " GiB, which is too much to check");
        programs[static_cast<size_t>(rank)] = program; // the copy has no spare capacity
    }
}

namespace {

std::vector<int> roots_of(const CheckedCalls &calls, int p) {
    if (row_of(calls.collective).root == Root::NO_ROOT)
        return {0};
    std::vector<int> roots;
    if (calls.roots.empty())
        for (int root = 0; root < p; ++root)
            roots.push_back(root);
    for (const int listed : calls.roots)
        if (const int root = listed < 0 ? p + listed : listed; root >= 0 && root < p)
            roots.push_back(root);
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return roots;
}

std::vector<int> nodes_of(const CheckedCalls &calls, int p) {
    std::vector<int> nodes(static_cast<size_t>(p));
    if (calls.ranks_per_node == 0)
        return nodes;
    const int nodes_used = (p + calls.ranks_per_node - 1) / calls.ranks_per_node;
    for (int rank = 0; rank < p; ++rank)
        nodes[static_cast<size_t>(rank)] = calls.by_node ? rank % nodes_used : rank / calls.ranks_per_node;
    return nodes;
}

/** Checks calls of one algorithm one after the other, reusing memory. */
class RangeChecker {
  public:
    RangeChecker(Guarantees guarantees, const WriteProgram &write) : guarantees_(guarantees), write_(write) {
    }

    void check_one(const Call &call) {
        Finding finding{call.p, call.root, call.count, call.commutative, ""};
        try {
            write_programs(call, write_, programs_);
            finding.sentence = check(programs_, call, guarantees_.ordered);
            if (!finding.sentence.empty() && !guarantees_.ordered && correct_if_commutative(call)) {
                ++range_.commutative_only;
                return;
            }
            if (finding.sentence.empty() && guarantees_.scales && call.count > 1)
                finding.sentence = scaling(call);
        } catch (const std::invalid_argument &refusal) {
            ++range_.refused;
            finding.sentence = refusal.what();
            if (range_.refusals.empty() || range_.refusals.back().p != call.p)
                range_.refusals.push_back(finding);
            return;
        } catch (const std::logic_error &mistake) {
            finding.sentence = std::string("the program cannot be written: ") + mistake.what();
        }
        if (finding.sentence.empty())
            ++range_.proved;
        else
            range_.findings.push_back(finding);
    }

    CheckedRange &range() {
        return range_;
    }

  private:
    [[nodiscard]] bool correct_if_commutative(Call call) const {
        if (call.commutative)
            return false;
        call.commutative = true; // for the same programs
        return check(programs_, call, false).empty();
    }

    std::string scaling(Call call) {
        const int64_t count = call.count;
        call.count = 1;
        write_programs(call, write_, for_one_);
        return check_scaling(for_one_, programs_, count);
    }

    const Guarantees guarantees_;
    const WriteProgram &write_;
    std::vector<Program> programs_;
    std::vector<Program> for_one_;
    CheckedRange range_;
};

} // namespace

CheckedRange check_range(const CheckedCalls &calls, Guarantees guarantees, const WriteProgram &write,
                         size_t max_findings) {
    RangeChecker series(guarantees, write);
    for (const int p : calls.p) {
        const std::vector<int> nodes = nodes_of(calls, p);
        const NodeMap node_map({.p = p, .node_of_rank = nodes});
        for (const int root : roots_of(calls, p))
            for (const int64_t count : calls.counts)
                for (const bool commutative : calls.commutative) {
                    series.check_one({.collective = calls.collective,
                                      .p = p,
                                      .root = root,
                                      .count = count,
                                      .element_bytes = calls.element_bytes,
                                      .node_of_rank = nodes,
                                      .commutative = commutative,
                                      .node_map = &node_map});
                    if (series.range().findings.size() >= max_findings)
                        return series.range();
                }
    }
    return series.range();
}

} // namespace offbeat::schedule
