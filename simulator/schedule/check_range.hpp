/** @file Checks many calls of one algorithm. */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** Writes the program of one rank. Raises std::invalid_argument for calls that the algorithm refuses. */
using WriteProgram = std::function<void(const Call &call, int rank, Program &program)>;

/** All combinations of these values. */
struct CheckedCalls {
    Collective collective{};
    std::vector<int> p;
    /** Negative roots count from p; roots that p does not have are skipped; an empty list means all roots.
     * Ignored for collectives without a root. */
    std::vector<int> roots;
    std::vector<int64_t> counts;
    int64_t element_bytes = 1;
    int ranks_per_node = 0; /**< 0: all on one node */
    bool by_node = false;   /**< round robin over the nodes, instead of filling one node after the other */
    std::vector<bool> commutative;
};

struct Finding {
    int p = 0;
    int root = 0;
    int64_t count = 0;
    bool commutative = true;
    std::string sentence;
};

struct CheckedRange {
    int64_t proved = 0;
    int64_t refused = 0;           /**< by the algorithm itself */
    int64_t commutative_only = 0;  /**< correct but not in rank order, which only the operation required */
    std::vector<Finding> refusals; /**< the first refusal for each p */
    std::vector<Finding> findings;
};

/** What holds for every call of an algorithm: see algorithms::Properties. */
struct Guarantees {
    bool ordered = false;
    bool scales = false;
};

/** Larger programs are not written: checking them takes two to four times as much memory, that is, the 8 GiB
 * of a small machine. */
inline constexpr size_t max_program_bytes = size_t{2} << 30;

/** The programs of all ranks; `programs` is overwritten. Raises std::runtime_error with a sentence if they
 * would take more than max_program_bytes. */
void write_programs(const Call &call, const WriteProgram &write, std::vector<Program> &programs);

/** Checks every call, and, if the algorithm scales, that its programs do; ends after `max_findings` findings
 * (by default a screenful).
 */
[[nodiscard]] CheckedRange check_range(const CheckedCalls &calls, Guarantees guarantees,
                                       const WriteProgram &write, size_t max_findings = 20);

} // namespace offbeat::schedule
