/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/layout.h"

#include <math.h>

int offbeat_partitioned_first_partition(int partitions, int messages, int message) {
    if (messages == 1) /* the usual case needs no division */
        return message * partitions;
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

int offbeat_partitioned_messages_of_bytes(int partitions, int64_t partition_bytes, int64_t message_bytes) {
    if (partition_bytes == 0)
        return 1;
    /* The smallest of K messages has n / K partitions, rounded down: it must have enough. */
    int64_t enough = (message_bytes - 1) / partition_bytes + 1;
    return enough > partitions ? 1 : at_most(partitions / enough, most_messages(partitions));
}

/* The iteration in which the second round of trials begins, and the factor to that of each further round. */
enum { SECOND_ROUND = 16, GROWTH = 8 };

static void begin_round(offbeat_partitioned_plan *plan, int64_t iteration) {
    plan->first_trial = iteration;
    plan->next_announcement = iteration + OFFBEAT_PARTITIONED_TRIALS;
    plan->announced = 0;
}

void offbeat_partitioned_plan_init(offbeat_partitioned_plan *plan, int partitions, int messages,
                                   int is_learned) {
    *plan = (offbeat_partitioned_plan){
        .partitions = partitions,
        .messages = at_most(messages, most_messages(partitions)),
        .is_learned = is_learned,
    };
    begin_round(plan, 1);
}

/* The power of two that is nearest to n^(k/3), in the logarithm: 2^e for the largest e with
 * 2^(e - 1/2) <= n^(k/3). */
static int nearest_power(int n, int k) {
    const int64_t square = (int64_t)n * n, bound = k == 1 ? square : square * square;
    int e = 0;
    while ((int64_t)1 << (6 * e + 3) <= bound)
        e++;
    return 1 << e;
}

/* Candidate i of 1, n^(1/3), n^(2/3), n: evenly spaced in the logarithm. They are powers of two because
 * the numbers of partitions and the sizes at which libraries change their protocol usually are: messages then
 * often have the largest size of a protocol. */
static int candidate(int partitions, int index) {
    const int most = most_messages(partitions);
    const int candidates[OFFBEAT_PARTITIONED_CANDIDATES] = {1, nearest_power(most, 1), nearest_power(most, 2),
                                                            most};
    return candidates[index];
}

/* Up and down again: the two trials of a candidate differ only by noise and by what the clocks drifted. */
static int candidate_of_trial(int trial) {
    return trial < OFFBEAT_PARTITIONED_CANDIDATES ? trial : OFFBEAT_PARTITIONED_TRIALS - 1 - trial;
}

int offbeat_partitioned_plan_trial(const offbeat_partitioned_plan *plan, int64_t iteration) {
    const int64_t trial = iteration - plan->first_trial;
    return plan->is_learned && trial >= 0 && trial < OFFBEAT_PARTITIONED_TRIALS ? (int)trial : -1;
}

int offbeat_partitioned_plan_messages(const offbeat_partitioned_plan *plan, int64_t iteration) {
    int trial = offbeat_partitioned_plan_trial(plan, iteration);
    return trial < 0 ? plan->messages : candidate(plan->partitions, candidate_of_trial(trial));
}

int offbeat_partitioned_plan_most(const offbeat_partitioned_plan *plan) {
    return plan->is_learned ? most_messages(plan->partitions) : plan->messages;
}

int offbeat_partitioned_plan_announces(const offbeat_partitioned_plan *plan, int64_t iteration) {
    return plan->is_learned && iteration == plan->next_announcement;
}

int offbeat_partitioned_plan_awaits(const offbeat_partitioned_plan *plan, int64_t iteration) {
    return plan->is_learned && iteration >= plan->first_trial + OFFBEAT_PARTITIONED_TRIALS;
}

void offbeat_partitioned_plan_announce(offbeat_partitioned_plan *plan, int messages, int is_decided) {
    plan->messages = messages;
    if (is_decided) {
        int64_t next = SECOND_ROUND;
        while (next <= plan->next_announcement)
            next *= GROWTH;
        begin_round(plan, next);
        return;
    }
    /* A sender that runs ahead of the receiver's report announces at growing distances: 1, 2, 4, ... */
    plan->next_announcement += (int64_t)1 << at_most(plan->announced, 20);
    plan->announced++;
}

static int second_trial(int candidate) {
    return OFFBEAT_PARTITIONED_TRIALS - 1 - candidate;
}

static double median(const double values[OFFBEAT_PARTITIONED_CANDIDATES]) {
    enum { N = OFFBEAT_PARTITIONED_CANDIDATES };
    double sorted[N];
    for (int i = 0; i < N; i++) {
        int place = i;
        for (; place > 0 && sorted[place - 1] > values[i]; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = values[i];
    }
    return (sorted[N / 2 - 1] + sorted[N / 2]) / 2;
}

/* Whether the sender's thread waits for something else than its own sending: the trials with the most
 * messages did not last longer by the time spent sending. Noise, by which two trials of a candidate differ,
 * must be less than that time. Sets how much longer than usual the shorter trial of each candidate lasted. */
static int is_waiting(const offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS],
                      double later_ns[OFFBEAT_PARTITIONED_CANDIDATES]) {
    enum { N = OFFBEAT_PARTITIONED_CANDIDATES };
    double shorter_ns[N], differ_ns[N];
    for (int i = 0; i < N; i++) {
        const offbeat_partitioned_trial *one = &trials[i], *other = &trials[second_trial(i)];
        const double one_ns = (double)(one->ready_ns - one->started_ns);
        const double other_ns = (double)(other->ready_ns - other->started_ns);
        shorter_ns[i] = one_ns < other_ns ? one_ns : other_ns;
        differ_ns[i] = fabs(one_ns - other_ns);
    }
    const double usual_ns = median(shorter_ns);
    for (int i = 0; i < N; i++)
        later_ns[i] = shorter_ns[i] > usual_ns ? shorter_ns[i] - usual_ns : 0;
    const int64_t one_ns = trials[N - 1].spent_ns, other_ns = trials[second_trial(N - 1)].spent_ns;
    const double spent_ns = (double)(one_ns < other_ns ? one_ns : other_ns);
    return spent_ns > median(differ_ns) && spent_ns > 2 * later_ns[N - 1];
}

/* With the offset and the drift of the clocks. */
static void costs_of_trials(const offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS],
                            const int64_t arrived_ns[OFFBEAT_PARTITIONED_TRIALS],
                            int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS]) {
    double later_ns[OFFBEAT_PARTITIONED_CANDIDATES];
    const int waits = is_waiting(trials, later_ns);
    for (int trial = 0; trial < OFFBEAT_PARTITIONED_TRIALS; trial++) {
        const int64_t late_ns = (int64_t)later_ns[candidate_of_trial(trial)];
        const int64_t spent_ns = trials[trial].spent_ns;
        const int64_t delay_ns = waits && late_ns < spent_ns ? late_ns : spent_ns;
        costs_ns[trial] = arrived_ns[trial] - trials[trial].ready_ns + delay_ns;
    }
}

/* The drift of the clocks in ns per s: the median over the candidates of the slope between their two trials,
 * so that a single disturbed trial does not decide. Noise is no drift: clocks drift by at most 100 ppm, and
 * the slopes differ less from a drift than half of it. */
static int64_t drift_ppb(const offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS],
                         const int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS]) {
    enum { N = OFFBEAT_PARTITIONED_CANDIDATES, MOST_PPB = 100000 };
    double slopes[N], deviations[N];
    for (int i = 0; i < N; i++) {
        const int64_t apart_ns = trials[second_trial(i)].ready_ns - trials[i].ready_ns;
        const double change_ns = (double)(costs_ns[second_trial(i)] - costs_ns[i]);
        slopes[i] = apart_ns > 0 ? 1e9 * change_ns / (double)apart_ns : 0;
    }
    const double slope = median(slopes);
    for (int i = 0; i < N; i++)
        deviations[i] = fabs(slopes[i] - slope);
    if (fabs(slope) <= 2 * median(deviations))
        return 0;
    return (int64_t)(slope < -MOST_PPB ? -MOST_PPB : slope > MOST_PPB ? MOST_PPB : slope);
}

/* The costs of the candidates without drift: the smaller one of two trials, as the larger one holds more of
 * the system's noise. */
static void least_costs(const offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS],
                        const int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS],
                        int64_t least_ns[OFFBEAT_PARTITIONED_CANDIDATES]) {
    const double drift = (double)drift_ppb(trials, costs_ns) / 1e9;
    for (int trial = 0; trial < OFFBEAT_PARTITIONED_TRIALS; trial++) {
        const int i = candidate_of_trial(trial);
        int64_t cost_ns =
            costs_ns[trial] - (int64_t)(drift * (double)(trials[trial].ready_ns - trials[0].ready_ns));
        if (trial == i || cost_ns < least_ns[i])
            least_ns[i] = cost_ns;
    }
}

int offbeat_partitioned_plan_choose(const offbeat_partitioned_plan *plan,
                                    const offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS],
                                    const int64_t arrived_ns[OFFBEAT_PARTITIONED_TRIALS]) {
    int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS], of_ns[OFFBEAT_PARTITIONED_CANDIDATES];
    costs_of_trials(trials, arrived_ns, costs_ns);
    least_costs(trials, costs_ns, of_ns);
    int64_t least_ns = of_ns[0], largest_ns = of_ns[0];
    for (int i = 1; i < OFFBEAT_PARTITIONED_CANDIDATES; i++) {
        least_ns = of_ns[i] < least_ns ? of_ns[i] : least_ns;
        largest_ns = of_ns[i] > largest_ns ? of_ns[i] : largest_ns;
    }
    int64_t tie_ns = (largest_ns - least_ns) / 128;
    int chosen = 0;
    while (of_ns[chosen] > least_ns + tie_ns)
        chosen++;
    return candidate(plan->partitions, chosen);
}
