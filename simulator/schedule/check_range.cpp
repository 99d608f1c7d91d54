#include "schedule/check_range.hpp"

#include "schedule/check.hpp"
#include "schedule/check_scaling.hpp"
#include "schedule/node_map.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::schedule {

bool has_root(Collective collective) {
    return collective == Collective::bcast || collective == Collective::gather ||
           collective == Collective::reduce || collective == Collective::scatter;
}

namespace {

size_t bytes_of(const Program &program) {
    return program.operations.size() * sizeof(Operation) + program.pieces.size() * sizeof(Span) +
           program.joints.size() * sizeof(JointNeeds) + program.awaited_requests.size() * sizeof(Request) +
           program.awaited_joints.size() * sizeof(Joint);
}

} // namespace

void write_programs(const Call &call, const WriteProgram &write, std::vector<Program> &programs) {
    Program one;
    programs.resize(static_cast<size_t>(call.p));
    size_t bytes = 0;
    for (int rank = 0; rank < call.p; ++rank) {
        write(call, rank, one);
        bytes += bytes_of(one);
        if (bytes > most_program_bytes)
            throw std::runtime_error("the programs of " + std::to_string(call.p) + " ranks take more than " +
                                     std::to_string(most_program_bytes >> 30) +
                                     " GiB, which is too much to check");
        programs[static_cast<size_t>(rank)] = one; // a copy takes no more memory than it needs
    }
}

namespace {

std::vector<int> roots_of(const CheckedCalls &calls, int p) {
    if (!has_root(calls.collective))
        return {0};
    std::vector<int> roots;
    if (calls.roots.empty())
        for (int root = 0; root < p; ++root)
            roots.push_back(root);
    for (const int given : calls.roots)
        if (const int root = given < 0 ? p + given : given; root >= 0 && root < p)
            roots.push_back(root);
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return roots;
}

std::vector<int> nodes_of(const CheckedCalls &calls, int p) {
    std::vector<int> nodes(static_cast<size_t>(p));
    if (calls.ranks_per_node == 0)
        return nodes;
    const int most = (p + calls.ranks_per_node - 1) / calls.ranks_per_node;
    for (int rank = 0; rank < p; ++rank)
        nodes[static_cast<size_t>(rank)] = calls.by_node ? rank % most : rank / calls.ranks_per_node;
    return nodes;
}

/** Checks calls of one algorithm one after the other; keeps the memory. */
class Series {
  public:
    Series(Promises promises, const WriteProgram &write) : promises_(promises), write_(write) {
    }

    void check_one(const Call &call) {
        Finding finding{call.p, call.root, call.count, call.commutative, ""};
        try {
            write_programs(call, write_, programs_);
            finding.sentence = check(programs_, call, promises_.ordered);
            if (!finding.sentence.empty() && !promises_.ordered && right_if_commutative(call)) {
                ++range_.commutative_only;
                return;
            }
            if (finding.sentence.empty() && promises_.scales && call.count > 1)
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
    [[nodiscard]] bool right_if_commutative(Call call) const {
        if (call.commutative)
            return false;
        call.commutative = true; // asked of the same programs
        return check(programs_, call, false).empty();
    }

    std::string scaling(Call call) {
        const int64_t count = call.count;
        call.count = 1;
        write_programs(call, write_, for_one_);
        return check_scaling(for_one_, programs_, count);
    }

    const Promises promises_;
    const WriteProgram &write_;
    std::vector<Program> programs_;
    std::vector<Program> for_one_;
    CheckedRange range_;
};

} // namespace

CheckedRange check_range(const CheckedCalls &calls, Promises promises, const WriteProgram &write,
                         size_t most_findings) {
    Series series(promises, write);
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
                    if (series.range().findings.size() >= most_findings)
                        return series.range();
                }
    }
    return series.range();
}

} // namespace offbeat::schedule
