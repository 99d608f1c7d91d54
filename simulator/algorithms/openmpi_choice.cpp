#include "algorithms/openmpi_choice.hpp"

#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace offbeat::algorithms {

namespace {

/** For messages below a number of bytes. */
struct Rule {
    int64_t below;
    std::string name;
};

/** For numbers of ranks below `below`, ascending. */
struct Band {
    int64_t below;
    std::vector<Rule> rules;
};

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/** "512", "4K" or "1M" */
int64_t number_of(const std::string &word) {
    return std::stoll(word) * (word.ends_with('K') ? 1024 : word.ends_with('M') ? 1024 * 1024 : 1);
}

/** Reads the rules of a collective: for each band the ranks that it is below ("any:" is the last band), then
 * the algorithms, each with the bytes that it is below; the last algorithm is for all longer messages. */
std::vector<Band> parse(const char *text) {
    std::vector<Band> bands;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (word.ends_with(':'))
            bands.push_back({word == "any:" ? unlimited : number_of(word), {}});
        else if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
            bands.back().rules.back().below = number_of(word.substr(0, word.find(',')));
        else
            bands.back().rules.push_back({unlimited, word});
    }
    return bands;
}

// The tables are those of ompi_coll_tuned_..._intra_dec_fixed in Open MPI 5's coll_tuned_decision_fixed.c.

const std::vector<Band> reduce_rules = parse(R"(
4:    rabenseifner 8, binary 16, pipeline 32, linear 256K, pipeline 512K, chain 1M, pipeline
8:    binary 4K, chain 64K, binomial 256K, linear 512K, binomial 1M, linear
16:   binary 8K, binomial
32:   binary 4K, binomial
256:  binomial
512:  binomial 8K, in_order_binary 16K, binomial
2048: binomial
4096: binomial 512, in_order_binary 1K, binomial 8K, in_order_binary 16K, binomial
any:  binomial 16, in_order_binary 32, binomial 1K, in_order_binary 2K, binomial 8K, in_order_binary 16K,
      binomial
)");

/** For operations that don't commute. */
const std::vector<Band> ordered_reduce_rules = parse(R"(
4:    in_order_binary 8, linear
8:    linear
16:   in_order_binary 1K, linear 8K, in_order_binary 16K, linear 256K, in_order_binary
128:  in_order_binary
256:  in_order_binary 512, linear 1K, in_order_binary
any:  in_order_binary
)");

const std::vector<Band> bcast_rules = parse(R"(
4:    pipeline 32, binary_tree 256, pipeline 512, knomial 1K, basic_linear 32K, binary_tree 128K,
      chain 256K, basic_linear 512K, binomial 1M, binary_tree
8:    binary_tree 64, binomial 128, binary_tree 2K, binomial 8K, basic_linear 1M, chain
16:   knomial 8, binary_tree 64, knomial 4K, binary_tree 16K, binomial 32K, basic_linear
32:   knomial 4K, binomial 1M, scatter_allgather
64:   binomial 2K, knomial
128:  knomial
256:  binomial 2, binary_tree 16K, basic_linear 32K, binary_tree 64K, knomial
1024: knomial 16K, split_binary_tree 32K, knomial
2048: knomial 512K, scatter_allgather
4096: knomial 256K, scatter_allgather
any:  knomial 8K, binary_tree 16K, knomial 256K, scatter_allgather
)");

/** By the bytes of one sender. */
const std::vector<Band> gather_rules = parse(R"(
4:    linear_sync 2, basic_linear 4, binomial 32K, basic_linear 64K, binomial 128K, linear_sync
8:    binomial 1K, basic_linear 8K, binomial 32K, basic_linear 256K, linear_sync
256:  binomial
512:  binomial 2K, basic_linear 8K, binomial
any:  binomial
)");

/** By the bytes of one receiver. */
const std::vector<Band> scatter_rules = parse(R"(
4:    linear_nb 2, basic_linear 128K, linear_nb 256K, basic_linear
8:    binomial 2K, basic_linear 4K, binomial 8K, basic_linear 32K, linear_nb 1M, basic_linear
16:   binomial 16K, linear_nb 1M, basic_linear
32:   binomial 16K, basic_linear 32K, linear_nb
64:   binomial 512, linear_nb 8K, binomial 16K, linear_nb
any:  binomial 512, linear_nb
)");

/** By the bytes for one receiver. */
const std::vector<Band> alltoall_rules = parse(R"(
2:    linear
3:    pairwise 2, two_proc 4, pairwise 16, two_proc 64, pairwise 256, two_proc 4K, pairwise 32K,
      linear_sync 256K, two_proc 1M, pairwise
8:    linear_sync 8K, linear 16K, linear_sync 64K, linear 512K, pairwise 1M, linear
16:   linear_sync 256K, linear
32:   linear_sync 4, modified_bruck 512, linear_sync 8K, linear 32K, linear_sync 256K, linear 512K,
      linear_sync
64:   modified_bruck 512, linear 512K, linear_sync
128:  modified_bruck 1K, linear 2K, linear_sync 4K, linear 256K, pairwise
256:  modified_bruck 1K, linear_sync 2K, linear 256K, pairwise
512:  modified_bruck 1K, linear_sync 8K, linear 32K, pairwise
1024: modified_bruck 512, linear_sync 8K, linear 16K, linear_sync 128K, linear 256K, pairwise
2048: modified_bruck 512, linear_sync 1K, linear 2K, linear_sync 16K, linear 256K, linear_sync
4096: modified_bruck 1K, linear_sync 4K, linear 8K, linear_sync 128K, linear
any:  modified_bruck 2K, linear_sync 8K, linear 16K, linear_sync 32K, linear 64K, linear_sync
)");

const std::vector<Band> &rules_of(const Call &call) {
    switch (call.collective) {
    case Collective::reduce:
        return call.commutative ? reduce_rules : ordered_reduce_rules;
    case Collective::bcast:
        return bcast_rules;
    case Collective::gather:
        return gather_rules;
    case Collective::scatter:
        return scatter_rules;
    case Collective::alltoall:
        return alltoall_rules;
    default:
        throw std::logic_error("no decision rules for " + std::string(name_of(call.collective)));
    }
}

} // namespace

std::string_view openmpi_choice(const Call &call) {
    for (const Band &band : rules_of(call))
        if (call.p < band.below)
            for (const Rule &rule : band.rules)
                if (call.bytes() < rule.below)
                    return rule.name;
    throw std::logic_error("decision rules without a last one");
}

void run_openmpi_choice(Rank &rank, const Group &group, const Subcall &subcall) {
    Call call = rank.call;
    call.collective = subcall.collective;
    call.p = group.p;
    call.count = subcall.count;
    const std::string_view name = openmpi_choice(call);
    if (name == "chain")
        run_subcall(rank, group, subcall, "openmpi", name, {{"fanout", 1}});
    else
        run_subcall(rank, group, subcall, "openmpi", name);
}

} // namespace offbeat::algorithms
