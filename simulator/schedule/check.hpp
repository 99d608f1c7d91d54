/** @file
 * Proves that the programs of all ranks compute their collective, by running them on symbolic data.
 *
 * What is proved, for one call:
 * - every piece lies inside its buffer, nobody writes into an input, and both sides of a message agree on its
 *   length;
 * - every send meets a receive and the other way round, and which one meets which does not depend on timing;
 * - every rank comes to its exit, even where a send is complete only when its receive is posted (so also
 *   where it is not), and has no message in flight then;
 * - nothing is written while a posted send reads it, and nothing read or written while a posted receive
 *   writes it, nor by two branches of a task graph at once. What comes first within a rank is what its joints
 *   say: an order that only exists by way of other ranks does not count;
 * - nothing is sent, copied or reduced before something was written there (a local copy mends padding: copies
 *   are free);
 * - at the end each output holds what the collective promises: every contribution exactly once, and in rank
 *   order where that is asked for. An exit of a barrier depends on every arrival.
 *
 * Completion queues: which request a pop returns depends on timing, so programs with queues are run in three
 * orders. The k-th pop is written as if it had returned the k-th request that the queue was told of (in the
 * order of operations): sends and local operations of the pop's own joint that name a piece of that request's
 * buffer mean the buffer of the request that came.
 */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** '' if the programs (one a rank, by rank) do what the call asks, else one sentence that names the rank, the
 * peer, the element and what is wrong. Raises std::runtime_error with a sentence for what would take more
 * than some 2 GiB. `ordered`: contributions must be combined in rank order; a call whose
 * operation does not commute asks for that anyway. */
[[nodiscard]] std::string check(std::span<const Program> programs, const Call &call, bool ordered);

/** A message as it is drawn: `depth` is the length of the longest chain of messages that ends with it. */
struct DrawnMessage {
    int source = 0;
    int target = 0;
    int64_t elements = 0;
    int tag = 0;
    int depth = 0;
};

/** All messages by depth, source and target. Raises std::invalid_argument with the sentence of check() where
 * sends and receives don't match or don't end. */
[[nodiscard]] std::vector<DrawnMessage> messages(std::span<const Program> programs, const Call &call);

} // namespace offbeat::schedule
