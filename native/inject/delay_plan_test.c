/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks a plan delays, and for how long; invalid values of the variables. */
#define _POSIX_C_SOURCE 200809L
#include "inject/delay_plan.h"

#include "testing/assert.h"

#include <math.h>
#include <string.h>

static offbeat_inject_plan plan;
static char error[512];

static const char *const names[] = {
    "OFFBEAT_INJECT_CALL",  "OFFBEAT_INJECT_NS",    "OFFBEAT_INJECT_DISTRIBUTION",
    "OFFBEAT_INJECT_WHEN",  "OFFBEAT_INJECT_RANKS", "OFFBEAT_INJECT_EVERY",
    "OFFBEAT_INJECT_FIRST", "OFFBEAT_INJECT_LAST",  "OFFBEAT_INJECT_SEED"};

/* Reads the plan of these variables, `NAME=VALUE` without the common prefix, up to NULL. */
static int read_plan(const char *const *settings) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    for (; *settings != NULL; settings++) {
        char name[64];
        const size_t length = strcspn(*settings, "=");
        snprintf(name, sizeof name, "OFFBEAT_INJECT_%.*s", (int)length, *settings);
        setenv(name, *settings + length + 1, 1);
    }
    return offbeat_inject_plan_read(&plan, error, sizeof error);
}

#define READ(...) read_plan((const char *const[]){__VA_ARGS__, NULL})

static offbeat_inject_place rank_of(int rank, int size) {
    return (offbeat_inject_place){.rank = rank, .size = size};
}

static void test_occasions_are_multiples_within_their_range(void) {
    test_assert(READ("NS=1000", "EVERY=4", "FIRST=5", "LAST=13") == 0, "rejected: %s", error);
    for (uint64_t number = 1; number < 20; number++)
        test_assert(offbeat_inject_is_occasion(&plan, number) == (number == 8 || number == 12),
                    "call %d is wrong", (int)number);
    test_assert(READ("EVERY=1") == 0 && !offbeat_inject_is_occasion(&plan, 1),
                "a delay of no time has an occasion");
}

/* Every occasion delays as many ranks as requested, each rank about as often as the others. */
static void test_random_ranks_are_as_many_as_requested_and_equally_often(int size, int count) {
    enum { OCCASIONS = 3000 };
    char ranks[32];
    int times[64] = {0};
    snprintf(ranks, sizeof ranks, "RANKS=random:%d", count);
    test_assert(READ("NS=1000", ranks, "SEED=7") == 0, "rejected: %s", error);
    for (uint64_t number = 1; number <= OCCASIONS; number++) {
        int delayed_count = 0;
        for (int rank = 0; rank < size; rank++) {
            const offbeat_inject_place process = rank_of(rank, size);
            const int is_delayed = offbeat_inject_delay_ns(&plan, &process, number) > 0;
            delayed_count += is_delayed;
            times[rank] += is_delayed;
        }
        test_assert(delayed_count == count, "%d of %d ranks are delayed", delayed_count, size);
    }
    const double share = (double)count / size, deviation = sqrt(OCCASIONS * share * (1 - share));
    for (int rank = 0; rank < size; rank++)
        test_assert(fabs(times[rank] - OCCASIONS * share) <= 5 * deviation, "rank %d is delayed %d times",
                    rank, times[rank]);
}

static void test_another_seed_delays_other_ranks(void) {
    int differences = 0;
    for (uint64_t number = 1; number <= 100; number++) {
        const offbeat_inject_place process = rank_of(3, 8);
        test_assert(READ("NS=1000", "RANKS=random:1", "SEED=1") == 0, "rejected: %s", error);
        const int64_t with_1 = offbeat_inject_delay_ns(&plan, &process, number);
        test_assert(with_1 == offbeat_inject_delay_ns(&plan, &process, number), "a draw was not repeated");
        test_assert(READ("NS=1000", "RANKS=random:1", "SEED=2") == 0, "rejected: %s", error);
        differences += with_1 != offbeat_inject_delay_ns(&plan, &process, number);
    }
    test_assert(differences > 0, "two seeds delay the same ranks");
}

static void test_one_rank_of_each_domain_is_delayed(void) {
    int differences = 0;
    test_assert(READ("NS=1000", "RANKS=each-domain") == 0, "rejected: %s", error);
    for (uint64_t number = 1; number <= 100; number++) {
        int delayed_ranks[2] = {0}, chosen_rank[2] = {0};
        for (int rank = 0; rank < 7; rank++) { /* domains of 3 and 4 ranks */
            const int domain = rank < 3 ? 0 : 1;
            const offbeat_inject_place process = {.rank = rank,
                                                  .size = 7,
                                                  .domain = domain * 3,
                                                  .rank_in_domain = rank - domain * 3,
                                                  .domain_size = 3 + domain};
            if (offbeat_inject_delay_ns(&plan, &process, number) > 0) {
                delayed_ranks[domain]++;
                chosen_rank[domain] = process.rank_in_domain;
            }
        }
        test_assert(delayed_ranks[0] == 1 && delayed_ranks[1] == 1, "%d and %d ranks are delayed",
                    delayed_ranks[0], delayed_ranks[1]);
        differences += chosen_rank[0] != chosen_rank[1];
    }
    test_assert(differences > 0, "both domains draw the same rank");
}

static void test_exponential_times_have_the_mean_and_differ_between_ranks(void) {
    enum { OCCASIONS = 20000 };
    double sum_ns = 0;
    int is_longer = 0;
    test_assert(READ("NS=1000000", "DISTRIBUTION=exponential") == 0, "rejected: %s", error);
    const offbeat_inject_place first = rank_of(0, 2), second = rank_of(1, 2);
    for (uint64_t number = 1; number <= OCCASIONS; number++) {
        const double time_ns = (double)offbeat_inject_delay_ns(&plan, &first, number);
        test_assert(time_ns > 0, "a delay has no time");
        sum_ns += time_ns;
        is_longer += time_ns > (double)offbeat_inject_delay_ns(&plan, &second, number);
    }
    test_assert(fabs(sum_ns / OCCASIONS - 1e6) < 5e6 / sqrt(OCCASIONS), "the mean is %g ns",
                sum_ns / OCCASIONS);
    test_assert(abs(is_longer - OCCASIONS / 2) < 5 * sqrt(OCCASIONS) / 2, "%d of %d are longer", is_longer,
                OCCASIONS);
}

static void test_lists_delay_their_ranks_alone(void) {
    test_assert(READ("NS=1000", "RANKS=1-2,5") == 0, "rejected: %s", error);
    for (int rank = 0; rank < 8; rank++) {
        const offbeat_inject_place process = rank_of(rank, 8);
        test_assert((offbeat_inject_delay_ns(&plan, &process, 9) == 1000) ==
                        (rank == 1 || rank == 2 || rank == 5),
                    "rank %d is wrong", rank);
    }
}

static void test_values_that_cannot_be_right_are_refused(void) {
    static const char *const invalid[] = {"NS=-1",
                                          "NS=1e3",
                                          "NS=99999999999999999999",
                                          "EVERY=0",
                                          "FIRST=0",
                                          "LAST=-1",
                                          "SEED=x",
                                          "RANKS=random:0",
                                          "RANKS=-1",
                                          "RANKS=random",
                                          "RANKS=,",
                                          "RANKS=5-3",
                                          "WHEN=then",
                                          "DISTRIBUTION=gamma"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        test_assert(READ(invalid[i]) != 0 && strstr(error, "it should be") != NULL, "%s is accepted",
                    invalid[i]);
}

static void test_ranks_that_do_not_exist_are_refused(void) {
    static const struct {
        const char *ranks;
        int is_valid;
    } cases[] = {{"RANKS=0-3", 1}, {"RANKS=2-", 1},       {"RANKS=4", 0},        {"RANKS=0-4", 0},
                 {"RANKS=7-", 0},  {"RANKS=random:4", 1}, {"RANKS=random:5", 0}, {"RANKS=each-domain", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_assert(READ(cases[i].ranks) == 0, "rejected: %s", error);
        test_assert((offbeat_inject_plan_check(&plan, 4, error, sizeof error) == 0) == cases[i].is_valid,
                    "%s of 4 ranks is wrong", cases[i].ranks);
    }
}

int main(void) {
    test_occasions_are_multiples_within_their_range();
    test_random_ranks_are_as_many_as_requested_and_equally_often(1, 1);
    test_random_ranks_are_as_many_as_requested_and_equally_often(8, 1);
    test_random_ranks_are_as_many_as_requested_and_equally_often(13, 5);
    test_random_ranks_are_as_many_as_requested_and_equally_often(4, 4);
    test_another_seed_delays_other_ranks();
    test_one_rank_of_each_domain_is_delayed();
    test_exponential_times_have_the_mean_and_differ_between_ranks();
    test_lists_delay_their_ranks_alone();
    test_values_that_cannot_be_right_are_refused();
    test_ranks_that_do_not_exist_are_refused();
    return 0;
}
