/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/layout.h"

int offbeat_partitioned_first_partition(int partitions, int messages, int message) {
    return (int)((int64_t)message * partitions / messages);
}

int offbeat_partitioned_message_of(int partitions, int messages, int partition) {
    return (int)((((int64_t)partition + 1) * messages - 1) / partitions);
}

static int at_most(int64_t value, int limit) {
    return value < limit ? (int)value : limit;
}

static int most_messages(int partitions) {
    return partitions < 1 ? 1 : at_most(partitions, OFFBEAT_PARTITIONED_MOST_MESSAGES);
}

int offbeat_partitioned_messages_of_bytes(int partitions, int64_t total_bytes, int64_t message_bytes) {
    int64_t messages = total_bytes / message_bytes;
    return messages < 1 ? 1 : at_most(messages, most_messages(partitions));
}

void offbeat_partitioned_plan_init(offbeat_partitioned_plan *plan, int partitions, int messages,
                                   int is_learned) {
    *plan = (offbeat_partitioned_plan){
        .partitions = partitions,
        .messages = at_most(messages, most_messages(partitions)),
        .is_learned = is_learned,
        .is_decided = !is_learned,
        .next_announcement = OFFBEAT_PARTITIONED_TRIALS + 1,
    };
}

/* Candidate i of 1, n^(1/3), n^(2/3), n: evenly spaced in the logarithm, rounded down. */
static int candidate(int partitions, int index) {
    int most = most_messages(partitions), root = 1;
    while ((int64_t)(root + 1) * (root + 1) * (root + 1) <= most)
        root++;
    const int candidates[OFFBEAT_PARTITIONED_CANDIDATES] = {1, root, at_most((int64_t)root * root, most),
                                                            most};
    return candidates[index];
}

/* Up and down again, so that a difference between the clocks that grows steadily adds the same to each. */
static int candidate_of_trial(int trial) {
    return trial < OFFBEAT_PARTITIONED_CANDIDATES ? trial : OFFBEAT_PARTITIONED_TRIALS - 1 - trial;
}

int offbeat_partitioned_plan_trial(const offbeat_partitioned_plan *plan, int64_t iteration) {
    int is_trial = plan->is_learned && iteration >= 1 && iteration <= OFFBEAT_PARTITIONED_TRIALS;
    return is_trial ? (int)iteration - 1 : -1;
}

int offbeat_partitioned_plan_messages(const offbeat_partitioned_plan *plan, int64_t iteration) {
    int trial = offbeat_partitioned_plan_trial(plan, iteration);
    return trial < 0 ? plan->messages : candidate(plan->partitions, candidate_of_trial(trial));
}

int offbeat_partitioned_plan_most(const offbeat_partitioned_plan *plan) {
    return plan->is_learned ? most_messages(plan->partitions) : plan->messages;
}

int offbeat_partitioned_plan_announces(const offbeat_partitioned_plan *plan, int64_t iteration) {
    return !plan->is_decided && iteration == plan->next_announcement;
}

void offbeat_partitioned_plan_announce(offbeat_partitioned_plan *plan, int messages, int is_decided) {
    plan->messages = messages;
    plan->is_decided = is_decided;
    /* A sender that runs ahead of the receiver's report announces at growing distances: 1, 2, 4, ... */
    plan->next_announcement += (int64_t)1 << at_most(plan->announced, 20);
    plan->announced++;
}

/* The cost of a candidate: the smaller one of its two trials, as the larger one holds more of the system's
 * noise. */
static int64_t least_of_two(const int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS], int index) {
    int64_t up_ns = costs_ns[index], down_ns = costs_ns[OFFBEAT_PARTITIONED_TRIALS - 1 - index];
    return up_ns < down_ns ? up_ns : down_ns;
}

int offbeat_partitioned_plan_choose(const offbeat_partitioned_plan *plan,
                                    const int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS]) {
    int64_t least_ns = least_of_two(costs_ns, 0), largest_ns = least_ns;
    for (int i = 1; i < OFFBEAT_PARTITIONED_CANDIDATES; i++) {
        int64_t cost_ns = least_of_two(costs_ns, i);
        least_ns = cost_ns < least_ns ? cost_ns : least_ns;
        largest_ns = cost_ns > largest_ns ? cost_ns : largest_ns;
    }
    int64_t tie_ns = (largest_ns - least_ns) / 32;
    int chosen = 0;
    while (least_of_two(costs_ns, chosen) > least_ns + tie_ns)
        chosen++;
    return candidate(plan->partitions, chosen);
}
