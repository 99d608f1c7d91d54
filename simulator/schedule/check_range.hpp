/** @file Many calls of one algorithm, checked one after the other. */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** Writes the program of one rank. Raises std::invalid_argument for calls that the algorithm refuses. */
using WriteProgram = std::function<void(const Call &call, int rank, Program &program)>;

/** Every combination of these. */
struct CheckedCalls {
    Collective collective{};
    std::vector<int> p;
    /** Negative ones count from p; those that p doesn't have are left out; none at all means every root. Only
     * the first counts for collectives without a root. */
    std::vector<int> roots;
    std::vector<int64_t> counts;
    int64_t element_bytes = 1;
    int ranks_per_node = 0; /**< 0: all on one node */
    bool by_node = false;   /**< the next rank is on the next node, instead of filling each node first */
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
    int64_t commutative_only = 0;  /**< right but not in rank order, which only the operation asked for */
    std::vector<Finding> refusals; /**< the first one for each p */
    std::vector<Finding> findings;
};

/** What an algorithm promises, whatever it is called with. */
struct Promises {
    bool ordered = false;
    bool scales = false;
};

[[nodiscard]] bool has_root(Collective collective);

/** Larger ones are not written: checking them takes two to four times as much. */
inline constexpr size_t most_program_bytes = size_t{2} << 30;

/** The programs of all ranks; `programs` is overwritten. Raises std::runtime_error with a sentence where they
 * would take more than most_program_bytes. */
void write_programs(const Call &call, const WriteProgram &write, std::vector<Program> &programs);

/** Checks every call, and that programs scale where that is promised; ends early after `most_findings`
 * findings. */
[[nodiscard]] CheckedRange check_range(const CheckedCalls &calls, Promises promises,
                                       const WriteProgram &write, size_t most_findings = 20);

} // namespace offbeat::schedule
