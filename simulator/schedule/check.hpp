/** @file
 * Proves that the programs of all ranks compute their collective, by executing them on symbolic data.
 *
 * What is proved, for one call:
 * - every piece lies inside its buffer, no operation writes into an input, and both ends of a message have
 * the same length;
 * - every send matches a receive and every receive a send, and the matching does not depend on timing;
 * - every rank reaches its exit without a message in flight, even if a send completes only when its receive
 * is posted (and so also if it completes earlier);
 * - no buffer is written while a posted send reads it, or read or written while a posted receive writes it,
 * and no two unordered branches of a task graph access it. Only the dependencies within a rank count as
 * order: an order that results from messages of other ranks does not;
 * - no operation sends, copies or reduces elements that were never written (padding is a local copy: copies
 * are free);
 * - in the end each output holds the result of the collective: every contribution exactly once, and in rank
 * order if that is required. The exit of a barrier depends on every arrival.
 *
 * Completion queues: which request a pop returns depends on timing, so programs with queues are executed in
 * three orders. A program is written as if the k-th pop returned the k-th request of the queue (in the order
 * of operations). If the pop returns another request, pieces of the expected request's buffer, in sends and
 * local operations of the pop's vertex, mean the buffer of the request that it returned.
 */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** '' if the programs (one per rank, by rank) compute the call, otherwise one sentence with the rank, the
 * peer, the element and the failure. Raises std::runtime_error with a sentence if the check would need more
 * than about 2 GiB.
 * @param ordered  contributions must be combined in rank order, even if the operation commutes */
[[nodiscard]] std::string check(std::span<const Program> programs, const Call &call, bool ordered);

/** A message of a drawing. */
struct DrawnMessage {
    int source = 0;
    int target = 0;
    int64_t elements = 0;
    int tag = 0;
    int depth = 0; /**< length of the longest chain of messages that ends with this one */
};

/** All messages by depth, source and target. Raises std::invalid_argument with the sentence of check() if
 * sends and receives do not match or do not complete. */
[[nodiscard]] std::vector<DrawnMessage> messages(std::span<const Program> programs, const Call &call);

} // namespace offbeat::schedule
