/** @file Parts of the checker: lets all programs run, without data. */
#pragma once

#include "schedule/check_sets.hpp"
#include "schedule/check_wiring.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace offbeat::schedule {

/** Which of the joints that could fire does. */
enum class Next : uint8_t { oldest, newest, any };

/** What a pop of a completion queue returned. */
struct Popped {
    Request as_written = none; /**< the request that the program takes it for */
    Request came = none;       /**< the request that it was */
};

/** One run to the end, where a send is complete when its receive is posted. */
struct Run {
    /** Local operations, and sends when their message goes over, in an order in which that can happen. */
    std::vector<uint32_t> order;
    /** For each joint of all ranks, the longest chain of messages that it comes after. */
    std::vector<uint32_t> depth;
    /** Pops by the number of their joint among those of all ranks. */
    std::unordered_map<uint32_t, Popped> popped;
    /** Of all ranks' requests in completion queues, the joint of their rank that popped them. */
    std::unordered_map<uint32_t, Joint> popped_at;
    /** For each rank, whose arrivals its exit comes after whatever the network does; only if asked for. */
    std::vector<RankSet> heard_of;
};

/** Runs. `sets`: keep track of arrivals there; nullptr: don't. Throws Wrong on a deadlock. */
Run run(const Wiring &wiring, const std::vector<uint32_t> &partner, Next next, RankSets *sets);

} // namespace offbeat::schedule
