/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests without MPI: every partition is in one message, the plan of a learned number of messages, tags.
 */
#include "partitioned/layout.h"
#include "partitioned/tags.h"
#include "testing/assert.h"

static void every_partition_is_in_exactly_one_message(void) {
    for (int n = 1; n <= 67; n++)
        for (int k = 1; k <= n; k++) {
            test_assert(offbeat_partitioned_first_partition(n, k, 0) == 0, "%d/%d does not begin at 0.", n,
                        k);
            test_assert(offbeat_partitioned_first_partition(n, k, k) == n, "%d/%d does not end at %d.", n, k,
                        n);
            for (int i = 0; i < n; i++) {
                int m = offbeat_partitioned_message_of(n, k, i);
                test_assert(offbeat_partitioned_first_partition(n, k, m) <= i &&
                                i < offbeat_partitioned_first_partition(n, k, m + 1),
                            "Of %d partitions in %d messages, partition %d is not in message %d.", n, k, i,
                            m);
            }
        }
    const int largest = 2147483647;
    test_assert(offbeat_partitioned_message_of(largest, 1024, largest - 1) == 1023,
                "The last partition is misplaced.");
}

/* No message is smaller than allowed, and one more message would be. */
static void messages_have_at_least(int partitions, int partition_bytes, int least_bytes) {
    const int choice = offbeat_partitioned_messages_of_bytes(partitions, partition_bytes, least_bytes);
    for (int k = choice; k <= choice + 1 && k <= partitions; k++) {
        int smallest = partitions;
        for (int m = 0; m < k; m++) {
            int length = offbeat_partitioned_first_partition(partitions, k, m + 1) -
                         offbeat_partitioned_first_partition(partitions, k, m);
            smallest = length < smallest ? length : smallest;
        }
        int are_large = smallest * partition_bytes >= least_bytes;
        test_assert(are_large == (k == choice) || choice == 1,
                    "%d partitions of %d bytes, %d messages: the smallest has %d partitions.", partitions,
                    partition_bytes, k, smallest);
    }
}

static void messages_have_the_size_that_is_asked_for(void) {
    test_assert(offbeat_partitioned_messages_of_bytes(32, 32, 4096) == 1, "1 KiB is not one message.");
    test_assert(offbeat_partitioned_messages_of_bytes(32, 2048, 4096) == 16, "64 KiB are not 16 messages.");
    test_assert(offbeat_partitioned_messages_of_bytes(4, 16384, 4096) == 4,
                "There are more than partitions.");
    for (int n = 1; n <= 40; n++)
        for (int bytes = 1; bytes <= 50; bytes++)
            messages_have_at_least(n, bytes, 60);
    test_assert(offbeat_partitioned_messages_of_bytes(1 << 20, 1 << 20, 1) ==
                    OFFBEAT_PARTITIONED_MOST_MESSAGES,
                "There are more messages than allowed.");
    test_assert(offbeat_partitioned_messages_of_bytes(0, 0, 4096) == 1, "No partition is not one message.");
}

static int64_t no_time(int messages) {
    return 0 * messages;
}

/* The sender's thread, by the number of messages: data arrives `cost_ns` after the last partition was ready,
 * for which the thread had sent messages for `spent_ns`, and was late by `late_ns`, and by noise. After an
 * iteration with another number of messages, the cost is larger by `change_ns`. */
typedef struct sender {
    int64_t (*cost_ns)(int messages), (*spent_ns)(int messages), (*late_ns)(int messages);
    int64_t noise_ns, change_ns;
} sender;

/* Between 0 and the noise. */
static int64_t noise_of(const sender *thread) {
    static uint32_t random = 1;
    random = random * 1664525 + 1013904223;
    return (int64_t)(random >> 8) * thread->noise_ns >> 24;
}

/* Of a round of trials: the one that the system disturbs, -1: none. */
typedef struct circumstances {
    int round; /* 0: the first */
    int64_t offset_ns;
    int drift_ppm, disturbed_iteration;
} circumstances;

/* Goes through iterations of 1 s until the announcement of a round. The receiver's clock has an offset and a
 * drift. */
static int learn_from(const sender *thread, int partitions, circumstances conditions) {
    offbeat_partitioned_plan plan;
    offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS];
    int64_t arrived_ns[OFFBEAT_PARTITIONED_TRIALS];
    offbeat_partitioned_plan_init(&plan, partitions, 1, 1);
    for (int64_t i = 0, last_count = 1;; i++) {
        int trial = offbeat_partitioned_plan_trial(&plan, i);
        int messages = offbeat_partitioned_plan_messages(&plan, i);
        test_assert(messages >= 1 && messages <= offbeat_partitioned_plan_most(&plan),
                    "Iteration %d has %d messages.", (int)i, messages);
        if (offbeat_partitioned_plan_announces(&plan, i) && conditions.round-- > 0)
            offbeat_partitioned_plan_announce(&plan, 1, 1);
        else if (offbeat_partitioned_plan_announces(&plan, i))
            return offbeat_partitioned_plan_choose(&plan, trials, arrived_ns);
        const int64_t change_ns = messages == last_count ? 0 : thread->change_ns;
        last_count = messages;
        if (trial < 0)
            continue;
        trials[trial].started_ns = i * 1000000000;
        trials[trial].ready_ns = i * 1000000000 + 300000000 + thread->late_ns(messages) + noise_of(thread);
        trials[trial].spent_ns = thread->spent_ns(messages);
        arrived_ns[trial] = trials[trial].ready_ns + thread->cost_ns(messages) + change_ns +
                            conditions.offset_ns + i * conditions.drift_ppm * 1000;
        if (trial == conditions.disturbed_iteration)
            arrived_ns[trial] += 5000000;
    }
}

static int learn(int partitions, circumstances conditions, int64_t (*cost_ns)(int messages)) {
    const sender thread = {.cost_ns = cost_ns, .spent_ns = no_time, .late_ns = no_time};
    return learn_from(&thread, partitions, conditions);
}

static int64_t by_latency(int messages) {
    return 1000 * messages;
}

static int64_t by_delay(int messages) {
    return 100000 / messages + 1000 * messages;
}

static int64_t by_last_partition(int messages) {
    return 100000000 / messages;
}

/* As measured with Open MPI 4.1 for 32 KiB: fast for messages of at most 2.7 KiB, slow for messages between
 * these and one. */
static int64_t by_protocol(int messages) {
    return messages == 1 ? 1040 : messages < 12 ? 500 * messages : messages < 32 ? 740 : 1120;
}

static void the_fastest_is_learned(circumstances conditions) {
    test_assert(learn(32, conditions, by_latency) == 1, "Round %d, %d ppm, trial %d disturbed: latency.",
                conditions.round, conditions.drift_ppm, conditions.disturbed_iteration);
    test_assert(learn(32, conditions, by_last_partition) == 32,
                "Round %d, %d ppm, trial %d disturbed: early bird.", conditions.round, conditions.drift_ppm,
                conditions.disturbed_iteration);
    test_assert(learn(1, conditions, by_delay) == 1, "One partition has more than one message.");
}

/* In the first round, in which four candidates are tried once, either a drift or a disturbance. */
static void the_fastest_number_of_messages_is_learned(void) {
    const int64_t day_ns = 86400000000000;
    for (int64_t offset_ns = -day_ns; offset_ns <= day_ns; offset_ns += day_ns) {
        for (int drift_ppm = -100; drift_ppm <= 100; drift_ppm += 50)
            for (int disturbed_iteration = -1; disturbed_iteration < OFFBEAT_PARTITIONED_TRIALS;
                 disturbed_iteration++)
                the_fastest_is_learned((circumstances){1, offset_ns, drift_ppm, disturbed_iteration});
        for (int drift_ppm = -100; drift_ppm <= 100; drift_ppm += 50)
            the_fastest_is_learned((circumstances){0, offset_ns, drift_ppm, -1});
        for (int disturbed_iteration = -1; disturbed_iteration < OFFBEAT_PARTITIONED_FIRST_TRIALS;
             disturbed_iteration++)
            the_fastest_is_learned((circumstances){0, offset_ns, 0, disturbed_iteration});
    }
    for (int round = 0; round < 2; round++) {
        const circumstances drift = {.round = round, .drift_ppm = 100, .disturbed_iteration = -1};
        test_assert(learn(32, drift, by_delay) == 12, "Round %d: a compromise was not learned.", round);
        test_assert(learn(32, drift, by_protocol) == 12, "Round %d: a protocol was not learned.", round);
    }
}

/* Measured times of 32 KiB in 32 partitions, as a multiple of that of a plain message, by the number of
 * messages (benchmarks/partitioned_ratios.py, warm buffers). */
enum { NUMBERS = 9 };
static const int numbers[NUMBERS] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
static const struct {
    const char *library;
    double times[NUMBERS];
} measured_times[] = {{"Open MPI 4.1.4", {1.07, 1.45, 1.82, 2.21, 2.99, 3.76, 0.70, 0.77, 1.18}},
                      {"Open MPI 5.0.11", {1.04, 1.43, 1.81, 2.16, 2.94, 3.67, 0.71, 0.82, 1.29}},
                      {"MPICH 4.0.2", {1.05, 1.49, 1.88, 0.34, 0.39, 0.49, 0.57, 0.64, 0.98}},
                      {"MPICH 5.0.2", {0.94, 1.25, 1.52, 1.79, 0.67, 0.78, 1.06, 1.46, 1.48}},
                      {"Intel MPI 2021.18", {1.16, 1.36, 1.52, 1.73, 2.89, 2.11, 2.87, 3.40, 5.81}}};
static int library;

static double measured_time(int messages) {
    int i = 0;
    while (i < NUMBERS && numbers[i] != messages)
        i++;
    test_assert(i < NUMBERS, "%d messages were not measured.", messages);
    return measured_times[library].times[i];
}

static int64_t as_measured(int messages) {
    return (int64_t)(1000 * measured_time(messages));
}

static void the_learned_number_is_nearly_as_fast_as_any_that_was_measured(void) {
    for (library = 0; library < (int)(sizeof measured_times / sizeof *measured_times); library++) {
        double best = measured_time(1);
        for (int i = 1; i < NUMBERS; i++)
            best = measured_time(numbers[i]) < best ? measured_time(numbers[i]) : best;
        const double learned_time =
            measured_time(learn(32, (circumstances){.disturbed_iteration = -1}, as_measured));
        test_assert(learned_time <= 1.05 * best, "%s: %.2f instead of %.2f.", measured_times[library].library,
                    learned_time, best);
    }
}

/* As measured with Intel MPI for 4 MiB. */
static int64_t by_copies(int messages) {
    return messages == 1 ? 108000 : 160000;
}

static int64_t by_warm_copies(int messages) {
    return messages < 16 ? 160000 : 108000;
}

static void iterations_after_another_number_of_messages_do_not_mislead(void) {
    const sender sender_of_one = {by_copies, no_time, no_time, .change_ns = 52000};
    const sender sender_of_many = {by_warm_copies, no_time, no_time, .change_ns = 62000};
    for (int disturbed_iteration = -1; disturbed_iteration < OFFBEAT_PARTITIONED_TRIALS;
         disturbed_iteration++) {
        const circumstances conditions = {1, 0, 0, disturbed_iteration};
        test_assert(learn_from(&sender_of_one, 16, conditions) == 1, "One message is not learned (%d).",
                    disturbed_iteration);
        test_assert(learn_from(&sender_of_many, 16, conditions) == 16, "Many messages are not learned (%d).",
                    disturbed_iteration);
    }
    const circumstances first = {.round = 0, .disturbed_iteration = -1};
    test_assert(learn_from(&sender_of_one, 16, first) == 1, "One message is not learned in the first round.");
}

/* 5 µs for each message but the last. */
static int64_t sending_time(int messages) {
    return 5000 * (messages - 1);
}

/* As measured with Intel MPI for 4 MiB: each send but the last copies its part of the data. */
static int64_t copying_time(int messages) {
    return 180000 - 180000 / messages;
}

static int64_t of_last_copy(int messages) {
    return messages == 1 ? 107000 : 180000 / messages;
}

static int64_t from_8_us(int messages) {
    return 8000 / messages;
}

static void sending_counts_only_where_it_delays_the_last_partition(void) {
    const sender computing_sender = {.cost_ns = from_8_us, .spent_ns = sending_time, .late_ns = sending_time};
    const sender waiting_sender = {.cost_ns = from_8_us, .spent_ns = sending_time, .late_ns = no_time};
    for (int round = 0; round < 2; round++)
        for (int drift_ppm = -100; drift_ppm <= 100; drift_ppm += 100)
            for (int disturbed_iteration = -1; disturbed_iteration < (round ? OFFBEAT_PARTITIONED_TRIALS : 0);
                 disturbed_iteration++) {
                const circumstances conditions = {round, 0, drift_ppm, disturbed_iteration};
                test_assert(learn_from(&computing_sender, 64, conditions) == 1,
                            "Round %d: a computing thread sends often, with %d ppm, trial %d disturbed.",
                            round, drift_ppm, disturbed_iteration);
                test_assert(learn_from(&waiting_sender, 64, conditions) == 64,
                            "Round %d: a waiting thread sends rarely, with %d ppm, trial %d disturbed.",
                            round, drift_ppm, disturbed_iteration);
            }
}

static void copies_delay_a_computing_thread_with_any_number_of_messages(void) {
    const sender computing_sender = {
        .cost_ns = of_last_copy, .spent_ns = copying_time, .late_ns = copying_time};
    const sender waiting_sender = {.cost_ns = of_last_copy, .spent_ns = copying_time, .late_ns = no_time};
    for (int round = 0; round < 2; round++) {
        const circumstances conditions = {.round = round, .disturbed_iteration = -1};
        test_assert(learn_from(&computing_sender, 16, conditions) == 1,
                    "Round %d: a computing thread copies.", round);
        test_assert(learn_from(&waiting_sender, 16, conditions) == 16,
                    "Round %d: a waiting thread does not copy.", round);
    }
}

/* Where a delay cannot be seen, the thread is taken to compute. */
static void noise_is_no_delay(int round) {
    enum { TIMES = 1000 };
    const circumstances conditions = {.round = round, .disturbed_iteration = -1};
    sender computing_sender = {.cost_ns = from_8_us, .spent_ns = sending_time, .late_ns = sending_time};
    sender waiting_sender = {
        .cost_ns = from_8_us, .spent_ns = sending_time, .late_ns = no_time, .noise_ns = 4000};
    int often = 0;
    for (int i = 0; i < TIMES; i++)
        often += learn_from(&waiting_sender, 64, conditions) > 1;
    test_assert(often >= TIMES * 95 / 100,
                "Round %d: with noise, a waiting thread sends often only %d times.", round, often);
    for (computing_sender.noise_ns = 1000; computing_sender.noise_ns <= 100000000;
         computing_sender.noise_ns *= 10) {
        often = 0;
        for (int i = 0; i < TIMES; i++)
            often += learn_from(&computing_sender, 64, conditions) > 16;
        test_assert(often <= TIMES * 15 / 100,
                    "Round %d: with %d us of noise, a computing thread sends often %d times.", round,
                    (int)(computing_sender.noise_ns / 1000), often);
    }
}

static void announcements_have_growing_distances_until_the_decision(void) {
    offbeat_partitioned_plan plan;
    int64_t expected_iterations[] = {9, 10, 12, 16, 24}, next = 0;
    offbeat_partitioned_plan_init(&plan, 8, 2, 1);
    for (int64_t i = 0; i < 30; i++) {
        int announces = offbeat_partitioned_plan_announces(&plan, i);
        test_assert(announces == (next < 5 && i == expected_iterations[next]), "Iteration %d is wrong.",
                    (int)i);
        if (!announces)
            continue;
        next++;
        offbeat_partitioned_plan_announce(&plan, next == 5 ? 8 : 2, next == 5);
    }
    test_assert(offbeat_partitioned_plan_messages(&plan, 30) == 8, "The decision is not used.");
    test_assert(offbeat_partitioned_plan_trial(&plan, 129) == 0,
                "The next trials do not begin in iteration 128.");
    offbeat_partitioned_plan_init(&plan, 8, 2, 0);
    for (int64_t i = 0; i < 30; i++)
        test_assert(!offbeat_partitioned_plan_announces(&plan, i) &&
                        offbeat_partitioned_plan_messages(&plan, i) == 2,
                    "A fixed number changes in iteration %d.", (int)i);
}

/* Both sides of a send apply the same announcements, so that they agree about the trials of later rounds. */
static void rounds_of_trials_begin_at_growing_distances(void) {
    static const int64_t first[] = {1, 16, 128, 1024, 8192};
    enum { ROUNDS = sizeof first / sizeof *first };
    offbeat_partitioned_plan plan;
    int round = 0;
    offbeat_partitioned_plan_init(&plan, 8, 2, 1);
    for (int64_t i = 0; i < 9000; i++) {
        const int64_t trial_index = round < ROUNDS ? i - first[round] : -1;
        const int iterations = round == 0 ? 8 : 24, is_trial = trial_index >= 0 && trial_index < iterations;
        const int measured_times = !is_trial              ? -1
                                   : round == 0           ? (int)trial_index
                                   : trial_index % 2 == 1 ? (int)trial_index / 2
                                                          : -1;
        test_assert(offbeat_partitioned_plan_trial(&plan, i) == measured_times,
                    "Iteration %d has another trial.", (int)i);
        test_assert(is_trial || offbeat_partitioned_plan_messages(&plan, i) == 2 + round,
                    "Iteration %d does not use the last decision.", (int)i);
        test_assert(offbeat_partitioned_plan_awaits(&plan, i) == (trial_index == iterations),
                    "Iteration %d awaits a decision, or none.", (int)i);
        if (!offbeat_partitioned_plan_announces(&plan, i))
            continue;
        round++;
        offbeat_partitioned_plan_announce(&plan, 2 + round, 1);
    }
    test_assert(round == ROUNDS, "%d rounds of trials ended.", round);
}

static void tags_of_living_requests_are_never_shared(void) {
    enum { BLOCKS = 50, LARGEST = 499 };
    offbeat_partitioned_tag_space space = {.largest = LARGEST};
    offbeat_partitioned_tag_block blocks[BLOCKS] = {{0}};
    unsigned random = 1, taken_count = 0, owner[LARGEST + 1] = {0};
    for (int round = 0; round < 100000; round++) {
        random = random * 1664525 + 1013904223;
        unsigned i = random >> 16 & 0x7fff;
        offbeat_partitioned_tag_block *block = &blocks[i % BLOCKS];
        for (int tag = block->first; tag < block->first + block->count; tag++)
            owner[tag] = 0;
        offbeat_partitioned_tags_give_back(&space, block);
        if (!offbeat_partitioned_tags_take(&space, 1 + (int)(i / BLOCKS % 40), block))
            continue;
        taken_count++;
        for (int tag = block->first; tag < block->first + block->count; tag++) {
            test_assert(tag <= LARGEST && owner[tag] == 0, "Tag %d is too large or has two owners.", tag);
            owner[tag] = 1;
        }
    }
    test_assert(taken_count > 10000, "Tags were taken only %u times.", taken_count);
}

static void tags_can_be_exhausted_and_are_used_again_last(void) {
    offbeat_partitioned_tag_space space = {.largest = 9};
    offbeat_partitioned_tag_block first = {0}, second = {0}, third = {0}, fourth = {0};
    test_assert(offbeat_partitioned_tags_take(&space, 4, &first) && first.first == 0, "No first block.");
    offbeat_partitioned_tags_give_back(&space, &first);
    test_assert(offbeat_partitioned_tags_take(&space, 4, &second) && second.first == 4,
                "Tags are reused at once.");
    test_assert(offbeat_partitioned_tags_take(&space, 4, &third) && third.first == 0,
                "No tags after the last.");
    test_assert(!offbeat_partitioned_tags_take(&space, 4, &fourth), "Two blocks share tags.");
    test_assert(!offbeat_partitioned_tags_take(&space, 11, &fourth), "A block is larger than all tags.");
    test_assert(offbeat_partitioned_tags_take(&space, 2, &fourth) && fourth.first == 8,
                "Tags 8 and 9 are lost.");
}

/* Open MPI's largest tag is the largest int. */
static void tags_reach_the_largest_int(void) {
    offbeat_partitioned_tag_space space = {.largest = 2147483647, .next = 2147483640};
    offbeat_partitioned_tag_block last = {0}, first = {0}, third = {0};
    test_assert(offbeat_partitioned_tags_take(&space, 8, &last) && last.first == 2147483640,
                "The largest tag is not used.");
    test_assert(offbeat_partitioned_tags_take(&space, 8, &first) && first.first == 0,
                "No tags after the largest int.");
    space.next = 2147483640;
    space.last_before = &first;
    test_assert(offbeat_partitioned_tags_take(&space, 8, &third) && third.first == 8,
                "Two blocks share the largest tags.");
}

/* A program may have very many requests; a list that is searched for each would take hours here. */
static void many_requests_have_tags_at_once(void) {
    enum { TAGS = 1000000 };
    static offbeat_partitioned_tag_block blocks[TAGS];
    offbeat_partitioned_tag_space space = {.largest = 2 * TAGS};
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < TAGS; i++) {
            offbeat_partitioned_tags_give_back(&space, &blocks[i]);
            test_assert(offbeat_partitioned_tags_take(&space, 2, &blocks[i]), "Request %d got no tags.", i);
        }
}

static void the_numbers_of_the_trials_are_evenly_spaced_between_one_and_all(void) {
    static const int expected_iterations[][OFFBEAT_PARTITIONED_CANDIDATES] = {
        {1, 1, 1, 1, 1, 1},     {1, 1, 1, 2, 2, 2},       {1, 1, 2, 3, 3, 3},       {1, 2, 2, 3, 6, 7},
        {1, 2, 2, 6, 6, 12},    {1, 2, 4, 6, 12, 16},     {1, 2, 4, 6, 12, 32},     {1, 2, 4, 12, 24, 64},
        {1, 2, 8, 12, 48, 100}, {1, 4, 16, 48, 192, 500}, {1, 4, 16, 48, 192, 1024}};
    static const int first[OFFBEAT_PARTITIONED_FIRST_TRIALS] = {5, 0, 0, 1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof expected_iterations / sizeof *expected_iterations; i++) {
        const int partitions = expected_iterations[i][OFFBEAT_PARTITIONED_CANDIDATES - 1];
        offbeat_partitioned_plan plan;
        offbeat_partitioned_plan_init(&plan, partitions, 1, 1);
        for (int trial = 0; trial < OFFBEAT_PARTITIONED_FIRST_TRIALS; trial++)
            test_assert(offbeat_partitioned_plan_messages(&plan, 1 + trial) ==
                            expected_iterations[i][first[trial]],
                        "First trial %d of %d partitions is wrong.", trial, partitions);
        offbeat_partitioned_plan_announce(&plan, 1, 1);
        for (int k = 0; k < 2 * OFFBEAT_PARTITIONED_CANDIDATES; k++) {
            const int ascending_count = offbeat_partitioned_plan_messages(&plan, 16 + k);
            const int descending_count = offbeat_partitioned_plan_messages(&plan, 39 - k);
            test_assert(
                ascending_count == expected_iterations[i][k / 2] && descending_count == ascending_count,
                "Iteration %d of %d partitions has %d messages.", 16 + k, partitions, ascending_count);
        }
    }
}

int main(void) {
    the_numbers_of_the_trials_are_evenly_spaced_between_one_and_all();
    every_partition_is_in_exactly_one_message();
    messages_have_the_size_that_is_asked_for();
    the_fastest_number_of_messages_is_learned();
    the_learned_number_is_nearly_as_fast_as_any_that_was_measured();
    iterations_after_another_number_of_messages_do_not_mislead();
    sending_counts_only_where_it_delays_the_last_partition();
    copies_delay_a_computing_thread_with_any_number_of_messages();
    noise_is_no_delay(0);
    noise_is_no_delay(1);
    announcements_have_growing_distances_until_the_decision();
    rounds_of_trials_begin_at_growing_distances();
    tags_of_living_requests_are_never_shared();
    tags_can_be_exhausted_and_are_used_again_last();
    tags_reach_the_largest_int();
    many_requests_have_tags_at_once();
    return 0;
}
