/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file layout.h
 * How the partitions of a send are divided among messages, and how the number of messages changes from one
 * iteration to the next. Without MPI: sender and receiver compute the same from the same numbers.
 *
 * Message m of K carries the partitions [m n / K, (m + 1) n / K) of n.
 */
#ifndef OFFBEAT_PARTITIONED_LAYOUT_H
#define OFFBEAT_PARTITIONED_LAYOUT_H

#include <stdint.h>

enum { OFFBEAT_PARTITIONED_MOST_MESSAGES = 1024 };

/** Candidates for the learned number of messages, and the trials of a round, two of each candidate. A trial
 * takes two iterations with the same number of messages, of which the second is measured: an iteration after
 * one with another number of messages can take longer. The first round is shorter, so that it ends before
 * iteration 10: each of its trials takes one iteration, and only the smallest and the largest candidate are
 * tried twice. */
enum {
    OFFBEAT_PARTITIONED_CANDIDATES = 6,
    OFFBEAT_PARTITIONED_TRIALS = 12,
    OFFBEAT_PARTITIONED_FIRST_TRIALS = 8
};

/** The first partition of a message; for message == messages, the number of partitions. */
int offbeat_partitioned_first_partition(int partitions, int messages, int message);

/** The message that carries a partition. */
int offbeat_partitioned_message_of(int partitions, int messages, int partition);

/** The largest number of messages of at least message_bytes each; 1 when all partitions together have fewer.
 */
int offbeat_partitioned_messages_of_bytes(int partitions, int64_t partition_bytes, int64_t message_bytes);

/** How the number of messages changes over iterations 0, 1, ... Both sides hold an equal plan. */
typedef struct offbeat_partitioned_plan {
    int partitions;
    int messages; /**< per iteration, but for trials */
    int is_learned;
    int64_t first_trial;       /**< the iteration of the first trial in the current or next round */
    int trials;                /**< of that round */
    int per_trial;             /**< iterations of each of these trials; the last one is measured */
    int64_t next_announcement; /**< the iteration that carries the next announcement */
    int64_t announcements;     /**< announcements of this round so far */
} offbeat_partitioned_plan;

void offbeat_partitioned_plan_init(offbeat_partitioned_plan *plan, int partitions, int messages,
                                   int is_learned);

/** The number of messages in an iteration. */
int offbeat_partitioned_plan_messages(const offbeat_partitioned_plan *plan, int64_t iteration);

/** The largest number of messages that an iteration can have. */
int offbeat_partitioned_plan_most(const offbeat_partitioned_plan *plan);

/** The index 0 to plan->trials - 1 of the trial of which an iteration is measured; -1 for other iterations.
 */
int offbeat_partitioned_plan_trial(const offbeat_partitioned_plan *plan, int64_t iteration);

/** Whether an iteration carries an announcement of the number of messages of the following iterations. */
int offbeat_partitioned_plan_announces(const offbeat_partitioned_plan *plan, int64_t iteration);

/** Whether the trials of a round end before an iteration, and their result was not announced yet. */
int offbeat_partitioned_plan_awaits(const offbeat_partitioned_plan *plan, int64_t iteration);

/** Applies the announcement of plan->next_announcement, which affects the iterations after it. A decision
 * ends a round of trials. The next round begins in iteration 16, 128, 1024, ...: the first iterations of a
 * program can differ from later ones, and a program can change. */
void offbeat_partitioned_plan_announce(offbeat_partitioned_plan *plan, int messages, int is_decided);

/** One trial, on the sender's clock. Arrays of trials have plan->trials elements, at most
 * OFFBEAT_PARTITIONED_TRIALS. */
typedef struct offbeat_partitioned_trial {
    int64_t started_ns; /**< the start of the iteration */
    int64_t ready_ns;   /**< the last partition was ready */
    int64_t spent_ns;   /**< the time that its thread had spent sending earlier messages */
} offbeat_partitioned_trial;

/**
 * The number of messages with the smallest cost over the trials of the current round. Of costs that differ by
 * at most 1/128 of their range, the one of the fewest messages.
 *
 * The cost is the time from the last ready partition until all data arrived, and by how much the sending of
 * earlier messages delayed that partition. A thread that computes its partitions one after the other is
 * delayed by all the time that it spends sending. A thread that waits for something else is delayed by at
 * most the extra duration of the trials (relative to the median over the numbers of messages). A thread waits
 * if the durations of its trials differ less, over the numbers of messages, than the durations without the
 * time spent. Where two trials of the same number differ, in the median, by more than the time spent with the
 * most messages, this cannot be seen, and the thread is assumed to compute.
 *
 * An offset between the two clocks changes nothing; neither does a constant drift of up to 100 ppm, which is
 * estimated from the pairs of trials of the same number of messages, where these agree about the drift.
 * @param arrived_ns when all data of each trial had arrived, on the receiver's clock
 */
int offbeat_partitioned_plan_choose(const offbeat_partitioned_plan *plan,
                                    const offbeat_partitioned_trial trials[], const int64_t arrived_ns[]);

#endif
