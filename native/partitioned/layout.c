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

static int smaller(int64_t value, int limit) {
    return value < limit ? (int)value : limit;
}

static int most_messages(int partitions) {
    return partitions < 1 ? 1 : smaller(partitions, OFFBEAT_PARTITIONED_MOST_MESSAGES);
}

int offbeat_partitioned_messages_of_bytes(int partitions, int64_t partition_bytes, int64_t message_bytes) {
    if (partition_bytes == 0)
        return 1;
    /* The smallest of K messages has n / K partitions, rounded down: it must have enough. */
    int64_t enough = (message_bytes - 1) / partition_bytes + 1;
    return enough > partitions ? 1 : smaller(partitions / enough, most_messages(partitions));
}

/* The iteration in which the second round of trials begins, and the factor to that of each further round. */
enum { SECOND_ROUND = 16, GROWTH = 8 };

/* The iteration after the trials. */
static int64_t end_of_round(const offbeat_partitioned_plan *plan) {
    return plan->first_trial + (int64_t)plan->trials * plan->per_trial;
}

static void begin_round(offbeat_partitioned_plan *plan, int64_t iteration) {
    plan->first_trial = iteration;
    plan->trials = iteration == 1 ? OFFBEAT_PARTITIONED_FIRST_TRIALS : OFFBEAT_PARTITIONED_TRIALS;
    plan->per_trial = iteration == 1 ? 1 : 2;
    plan->next_announcement = end_of_round(plan);
    plan->announcements = 0;
}

void offbeat_partitioned_plan_init(offbeat_partitioned_plan *plan, int partitions, int messages,
                                   int is_learned) {
    *plan = (offbeat_partitioned_plan){
        .partitions = partitions,
        .messages = smaller(messages, most_messages(partitions)),
        .is_learned = is_learned,
    };
    begin_round(plan, 1);
}

/* Of the numbers factor * 2^e with e >= 0, the nearest to n^(k/5) in the logarithm: that with the largest e
 * for which factor * 2^(e - 1/2) <= n^(k/5), which is factor^10 * 2^(10 e - 5) <= n^(2 k). */
static int nearest_multiple(int n, int k, int factor) {
    double power = 1, bound = 32; /* factor^10 * 2^(10 (e + 1) - 5) */
    int e = 0;
    for (int i = 0; i < 2 * k; i++)
        power *= n;
    for (int i = 0; i < 10; i++)
        bound *= factor;
    while (bound <= power) {
        bound *= 1024;
        e++;
    }
    return factor << e;
}

/* Candidate i is near 1, n^(1/5), ..., n^(4/5), n: evenly spaced in the logarithm. The numbers of partitions,
 * their sizes, and the sizes at which libraries change their protocol usually are powers of two. Messages of
 * such a size may just fit the protocol for shorter messages, or may be too long by the library's header. The
 * smaller candidates are powers of two, the larger ones three times a power of two: their messages are
 * shorter than a power of two, and fit. */
static int candidate(int partitions, int index) {
    const int largest = most_messages(partitions);
    if (index == OFFBEAT_PARTITIONED_CANDIDATES - 1)
        return largest;
    return smaller(nearest_multiple(largest, index, index < OFFBEAT_PARTITIONED_CANDIDATES / 2 ? 1 : 3),
                   largest);
}

/* The candidate of each trial. Up and down again: the two trials of a candidate differ only by noise and by
 * what the clocks drifted. In the first round, the largest candidate is tried first: the first use of its
 * many messages takes longer than usual. An iteration after one with another number of messages can take
 * longer, too. Therefore the two trials of the smallest candidate follow each other, and the other candidates
 * are in ascending order. */
static int candidate_of_trial(const offbeat_partitioned_plan *plan, int trial) {
    static const int all_twice[OFFBEAT_PARTITIONED_TRIALS] = {0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0};
    static const int first[OFFBEAT_PARTITIONED_FIRST_TRIALS] = {5, 0, 0, 1, 2, 3, 4, 5};
    return plan->trials == OFFBEAT_PARTITIONED_TRIALS ? all_twice[trial] : first[trial];
}

/* The index of the trial that an iteration belongs to, measured or not; -1: none. */
static int trial_of(const offbeat_partitioned_plan *plan, int64_t iteration) {
    const int is_of_trial =
        plan->is_learned && iteration >= plan->first_trial && iteration < end_of_round(plan);
    return is_of_trial ? (int)((iteration - plan->first_trial) / plan->per_trial) : -1;
}

int offbeat_partitioned_plan_trial(const offbeat_partitioned_plan *plan, int64_t iteration) {
    const int is_last = (iteration + 1 - plan->first_trial) % plan->per_trial == 0;
    return is_last ? trial_of(plan, iteration) : -1;
}

int offbeat_partitioned_plan_messages(const offbeat_partitioned_plan *plan, int64_t iteration) {
    const int trial = trial_of(plan, iteration);
    return trial < 0 ? plan->messages : candidate(plan->partitions, candidate_of_trial(plan, trial));
}

int offbeat_partitioned_plan_most(const offbeat_partitioned_plan *plan) {
    return plan->is_learned ? most_messages(plan->partitions) : plan->messages;
}

int offbeat_partitioned_plan_announces(const offbeat_partitioned_plan *plan, int64_t iteration) {
    return plan->is_learned && iteration == plan->next_announcement;
}

int offbeat_partitioned_plan_awaits(const offbeat_partitioned_plan *plan, int64_t iteration) {
    return plan->is_learned && iteration >= end_of_round(plan);
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
    plan->next_announcement += (int64_t)1 << smaller(plan->announcements, 20);
    plan->announcements++;
}

/* The later trial of the same candidate; -1: none. */
static int second_trial(const offbeat_partitioned_plan *plan, int trial) {
    int second = plan->trials - 1;
    while (candidate_of_trial(plan, second) != candidate_of_trial(plan, trial))
        second--;
    return second > trial ? second : -1;
}

static double median(const double values[], int count) {
    double sorted_values[OFFBEAT_PARTITIONED_CANDIDATES] = {0};
    for (int i = 0; i < count; i++) {
        int index = i;
        for (; index > 0 && sorted_values[index - 1] > values[i]; index--)
            sorted_values[index] = sorted_values[index - 1];
        sorted_values[index] = values[i];
    }
    return (sorted_values[(count - 1) / 2] + sorted_values[count / 2]) / 2;
}

static int64_t least(int64_t first, int64_t second) {
    return first < second ? first : second;
}

static double duration_ns(const offbeat_partitioned_trial *trial) {
    return (double)(trial->ready_ns - trial->started_ns);
}

/* The sum of the distances from the median. */
static double scatter(const double values[OFFBEAT_PARTITIONED_CANDIDATES]) {
    const double middle = median(values, OFFBEAT_PARTITIONED_CANDIDATES);
    double sum = 0;
    for (int i = 0; i < OFFBEAT_PARTITIONED_CANDIDATES; i++)
        sum += fabs(values[i] - middle);
    return sum;
}

/* The duration of the shortest trial of each candidate, and what that trial spent on sending.
 * @return the median difference in duration between two trials of the same candidate */
static double shortest_trials(const offbeat_partitioned_plan *plan, const offbeat_partitioned_trial trials[],
                              double lasted_ns[OFFBEAT_PARTITIONED_CANDIDATES],
                              double spent_ns[OFFBEAT_PARTITIONED_CANDIDATES]) {
    double differ_ns[OFFBEAT_PARTITIONED_CANDIDATES] = {0};
    int pairs = 0;
    for (int i = 0; i < OFFBEAT_PARTITIONED_CANDIDATES; i++)
        lasted_ns[i] = INFINITY;
    for (int trial = 0; trial < plan->trials; trial++) {
        const int i = candidate_of_trial(plan, trial), second = second_trial(plan, trial);
        const double this_ns = duration_ns(&trials[trial]);
        if (second >= 0)
            differ_ns[pairs++] = fabs(this_ns - duration_ns(&trials[second]));
        if (this_ns >= lasted_ns[i])
            continue;
        lasted_ns[i] = this_ns;
        spent_ns[i] = (double)trials[trial].spent_ns;
    }
    return median(differ_ns, pairs);
}

/* Whether the sender's thread waits for something else than its own sending: the candidates' durations differ
 * less than the durations without sending do. Noise, by which two trials of a candidate differ, must be less
 * than the time spent with the most messages. Sets how much longer than usual each candidate lasted. */
static int is_waiting(const offbeat_partitioned_plan *plan, const offbeat_partitioned_trial trials[],
                      int64_t later_ns[OFFBEAT_PARTITIONED_CANDIDATES]) {
    enum { N = OFFBEAT_PARTITIONED_CANDIDATES };
    double lasted_ns[N], spent_ns[N], without_ns[N];
    const double noise_ns = shortest_trials(plan, trials, lasted_ns, spent_ns);
    const double usual_ns = median(lasted_ns, N);
    for (int i = 0; i < N; i++) {
        without_ns[i] = lasted_ns[i] - spent_ns[i];
        later_ns[i] = lasted_ns[i] > usual_ns ? (int64_t)(lasted_ns[i] - usual_ns) : 0;
    }
    return spent_ns[N - 1] > noise_ns && scatter(lasted_ns) < scatter(without_ns);
}

/* With the offset and the drift of the clocks. */
static void costs_of_trials(const offbeat_partitioned_plan *plan, const offbeat_partitioned_trial trials[],
                            const int64_t arrived_ns[], int64_t costs_ns[]) {
    int64_t later_ns[OFFBEAT_PARTITIONED_CANDIDATES];
    const int waits = is_waiting(plan, trials, later_ns);
    for (int trial = 0; trial < plan->trials; trial++) {
        const int64_t spent_ns = trials[trial].spent_ns;
        const int64_t delay_ns =
            waits ? least(later_ns[candidate_of_trial(plan, trial)], spent_ns) : spent_ns;
        costs_ns[trial] = arrived_ns[trial] - trials[trial].ready_ns + delay_ns;
    }
}

/* The drift of the clocks in ns per s: the median of the slopes between the two trials of each candidate that
 * has two, so that a single disturbed trial does not decide. Noise is no drift: clocks drift by at most 100
 * ppm, and the slopes differ less from a drift than half of it. */
static int64_t drift_ppb(const offbeat_partitioned_plan *plan, const offbeat_partitioned_trial trials[],
                         const int64_t costs_ns[]) {
    enum { N = OFFBEAT_PARTITIONED_CANDIDATES, MOST_PPB = 100000 };
    double slopes[N] = {0}, deviations[N] = {0};
    int pairs = 0;
    for (int trial = 0; trial < plan->trials; trial++) {
        const int second = second_trial(plan, trial);
        if (second < 0)
            continue;
        const int64_t apart_ns = trials[second].ready_ns - trials[trial].ready_ns;
        const double change_ns = (double)(costs_ns[second] - costs_ns[trial]);
        slopes[pairs++] = apart_ns > 0 ? 1e9 * change_ns / (double)apart_ns : 0;
    }
    const double slope = median(slopes, pairs);
    for (int i = 0; i < pairs; i++)
        deviations[i] = fabs(slopes[i] - slope);
    if (fabs(slope) <= 2 * median(deviations, pairs))
        return 0;
    return (int64_t)(slope < -MOST_PPB ? -MOST_PPB : slope > MOST_PPB ? MOST_PPB : slope);
}

/* The costs of the candidates without drift: the smallest one of their trials, as larger ones hold more of
 * the system's noise. */
static void least_costs(const offbeat_partitioned_plan *plan, const offbeat_partitioned_trial trials[],
                        const int64_t costs_ns[], int64_t least_ns[OFFBEAT_PARTITIONED_CANDIDATES]) {
    const double drift = (double)drift_ppb(plan, trials, costs_ns) / 1e9;
    for (int i = 0; i < OFFBEAT_PARTITIONED_CANDIDATES; i++)
        least_ns[i] = INT64_MAX;
    for (int trial = 0; trial < plan->trials; trial++) {
        const int i = candidate_of_trial(plan, trial);
        const double elapsed_ns = (double)(trials[trial].ready_ns - trials[0].ready_ns);
        least_ns[i] = least(least_ns[i], costs_ns[trial] - (int64_t)(drift * elapsed_ns));
    }
}

int offbeat_partitioned_plan_choose(const offbeat_partitioned_plan *plan,
                                    const offbeat_partitioned_trial trials[], const int64_t arrived_ns[]) {
    int64_t costs_ns[OFFBEAT_PARTITIONED_TRIALS], of_ns[OFFBEAT_PARTITIONED_CANDIDATES];
    costs_of_trials(plan, trials, arrived_ns, costs_ns);
    least_costs(plan, trials, costs_ns, of_ns);
    int64_t least_ns = of_ns[0], largest_ns = of_ns[0];
    for (int i = 1; i < OFFBEAT_PARTITIONED_CANDIDATES; i++) {
        least_ns = least(least_ns, of_ns[i]);
        largest_ns = of_ns[i] > largest_ns ? of_ns[i] : largest_ns;
    }
    int64_t tie_ns = (largest_ns - least_ns) / 128;
    int choice = 0;
    while (of_ns[choice] > least_ns + tie_ns)
        choice++;
    return candidate(plan->partitions, choice);
}
