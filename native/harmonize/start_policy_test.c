/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the decisions of a start, without MPI: the slack, resynchronisation, oversubscription, and the
 * settings from the environment.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "harmonize/start_policy.h"
#include "testing/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000, SECOND = 1000000000;

static void add_needs(offbeat_harmonize_slack *slack, int starts, int64_t need_ns) {
    for (int i = 0; i < starts; i++)
        offbeat_harmonize_slack_add(slack, need_ns);
}

static void assert_slack(const offbeat_harmonize_slack *slack, int64_t expected_ns, const char *when) {
    int64_t slack_ns = offbeat_harmonize_slack_ns(slack);
    test_assert(slack_ns == expected_ns, "%s the slack is %lld ns instead of %lld ns.", when,
                (long long)slack_ns, (long long)expected_ns);
}

static void the_slack_follows_the_median_both_ways(void) {
    offbeat_harmonize_slack slack;
    offbeat_harmonize_slack_init(&slack, 2 * MICROSECOND, 50 * MILLISECOND, 50 * MILLISECOND);
    assert_slack(&slack, 50 * MILLISECOND, "Without any start");
    add_needs(&slack, 16, 100 * MICROSECOND);
    assert_slack(&slack, 301 * MICROSECOND, "After 16 starts that needed 100 us");
    add_needs(&slack, 4, MILLISECOND);
    assert_slack(&slack, 301 * MICROSECOND, "After a burst of 4 slow starts");
    add_needs(&slack, 1, MILLISECOND);
    assert_slack(&slack, 3001 * MICROSECOND, "When most of the last 9 starts were slow");
    add_needs(&slack, 5, 40 * MICROSECOND);
    assert_slack(&slack, 121 * MICROSECOND, "Five starts after the burst");
    add_needs(&slack, 16, 0);
    assert_slack(&slack, 2 * MICROSECOND, "When starts need no time");
    add_needs(&slack, 16, SECOND);
    assert_slack(&slack, 50 * MILLISECOND, "When starts need a second");
    add_needs(&slack, 5, INT64_MAX);
    add_needs(&slack, 4, INT64_MIN);
    assert_slack(&slack, 50 * MILLISECOND, "After extreme needs");
}

/* The reference implementation multiplies its slack by 1.5 at each missed start and never decreases it. */
static void the_slack_is_small_again_ten_starts_after_any_burst(void) {
    for (int burst = 0; burst < 1000; burst += 7) {
        offbeat_harmonize_slack slack;
        offbeat_harmonize_slack_init(&slack, 2 * MICROSECOND, 2 * MILLISECOND, 50 * MILLISECOND);
        add_needs(&slack, 20, 3 * MICROSECOND);
        add_needs(&slack, burst, 5 * MILLISECOND);
        add_needs(&slack, 10, 3 * MICROSECOND);
        assert_slack(&slack, 10 * MICROSECOND, "Ten starts after a burst");
    }
}

/* A slack as long as the scheduler's delays of some starts would expose every start to such a delay. */
static void the_slack_does_not_follow_delays_by_the_scheduler(void) {
    offbeat_harmonize_slack slack;
    offbeat_harmonize_slack_init(&slack, 2 * MICROSECOND, 2 * MILLISECOND, 50 * MILLISECOND);
    add_needs(&slack, 1, 4 * MICROSECOND);
    add_needs(&slack, 8, 8 * MILLISECOND);
    assert_slack(&slack, 2 * MILLISECOND, "When one start of nine needed 4 us and the others 8 ms");
    add_needs(&slack, 9, 400 * MICROSECOND);
    add_needs(&slack, 5, 8 * MILLISECOND);
    assert_slack(&slack, 4 * MILLISECOND, "When most starts needed 8 ms and the others 400 us");
    add_needs(&slack, 9, 8 * MILLISECOND);
    assert_slack(&slack, 24001 * MICROSECOND, "When every start needed 8 ms");
}

static void a_resync_helps_when_the_bound_has_grown(void) {
    test_assert(!offbeat_harmonize_resync_helps(0, 0), "One physical clock is synchronised.");
    test_assert(!offbeat_harmonize_resync_helps(0, 500), "A bound of 500 ns causes a resync.");
    test_assert(offbeat_harmonize_resync_helps(0, 501), "A bound of 501 ns is ignored.");
    test_assert(!offbeat_harmonize_resync_helps(1000, 2500),
                "A bound of twice the best plus 500 ns causes a resync.");
    test_assert(offbeat_harmonize_resync_helps(1000, 2501),
                "A bound beyond twice the best plus 500 ns is ignored.");
    test_assert(!offbeat_harmonize_resync_helps(4000, 3000), "A bound that decreased causes a resync.");
    test_assert(!offbeat_harmonize_resync_helps(INT64_MAX / 2, INT64_MAX / 2),
                "An unlimited bound causes endless resyncs.");
}

static void syncs_take_at_most_a_twentieth_of_the_time(void) {
    for (int64_t length_ns = 1000; length_ns < SECOND; length_ns *= 3) {
        test_assert(!offbeat_harmonize_resync_is_affordable(19 * length_ns - 1, length_ns),
                    "Syncs take more than 5%% of time.");
        test_assert(offbeat_harmonize_resync_is_affordable(19 * length_ns, length_ns),
                    "Syncs cannot take 5%% of the time.");
    }
    test_assert(offbeat_harmonize_resync_is_affordable(0, 0), "A sync that takes no time is not affordable.");
}

/* The mask of each process is in word 0 or 100, alternately. */
static int are_oversubscribed(const uint64_t *masks, int count) {
    offbeat_harmonize_cores *processes = calloc((size_t)count, sizeof *processes);
    test_assert(processes != NULL, "No memory for the cores of %d processes.", count);
    for (int i = 0; i < count; i++)
        processes[i].words[i % 2 * 100] = masks[i];
    int result = offbeat_harmonize_cores_are_oversubscribed(processes, count);
    free(processes);
    return result;
}

static void processes_with_too_few_cores_are_oversubscribed(void) {
    offbeat_harmonize_cores processes[5];
    memset(processes, 0, sizeof processes);
    for (int i = 0; i < 5; i++)
        processes[i].words[1] = 0xf;
    test_assert(!offbeat_harmonize_cores_are_oversubscribed(processes, 4),
                "Four processes on four cores count as oversubscribed.");
    test_assert(offbeat_harmonize_cores_are_oversubscribed(processes, 5),
                "Five processes on four cores do not count as oversubscribed.");
    processes[0].words[0] = 0xff;
    test_assert(!offbeat_harmonize_cores_are_oversubscribed(processes, 5),
                "A process that can run on other cores counts as confined.");
    processes[1].words[1] = processes[2].words[1] = 1;
    test_assert(offbeat_harmonize_cores_are_oversubscribed(processes, 5),
                "Two processes bound to one core do not count as oversubscribed.");
    test_assert(!are_oversubscribed((uint64_t[]){1, 1, 2, 2}, 4),
                "Processes bound to a core each count as oversubscribed.");
    test_assert(!are_oversubscribed((uint64_t[]){0, 0, 0, 0}, 4),
                "Processes with unknown affinity count as oversubscribed.");
}

static int read_settings_with(const char *name, const char *value, offbeat_harmonize_settings *settings) {
    char why[256] = "";
    unsetenv("OFFBEAT_YIELD");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    setenv(name, value, 1);
    int rc = offbeat_harmonize_settings_read(settings, why, sizeof why);
    test_assert(rc == 0 || (strstr(why, name) && strstr(why, value) && strstr(why, "must be")),
                "The message about %s=%s does not explain the error: '%s'", name, value, why);
    return rc;
}

static void the_environment_is_applied_or_refused(void) {
    static const char *const bad[] = {"soon", "-1", "1.5", "1e3", "99999999999999999999", "1000 "};
    offbeat_harmonize_settings settings;
    test_assert(read_settings_with("OFFBEAT_YIELD", "", &settings) == 0 &&
                    settings.yield == OFFBEAT_YIELD_IF_OVERSUBSCRIBED && settings.tolerance_ns == 1000,
                "Without settings the tolerance is not 1 us, or yield is not the default.");
    test_assert(read_settings_with("OFFBEAT_YIELD", "1", &settings) == 0 && settings.yield == 1,
                "OFFBEAT_YIELD=1 is ignored.");
    test_assert(read_settings_with("OFFBEAT_YIELD", "0", &settings) == 0 && settings.yield == 0,
                "OFFBEAT_YIELD=0 is ignored.");
    test_assert(read_settings_with("OFFBEAT_YIELD", "2", &settings) != 0, "OFFBEAT_YIELD=2 is accepted.");
    test_assert(read_settings_with("OFFBEAT_HARMONIZE_TOLERANCE_NS", "250", &settings) == 0 &&
                    settings.tolerance_ns == 250,
                "A tolerance of 250 ns is ignored.");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        test_assert(read_settings_with("OFFBEAT_HARMONIZE_TOLERANCE_NS", bad[i], &settings) != 0,
                    "A tolerance of '%s' is accepted.", bad[i]);
}

int main(void) {
    the_slack_follows_the_median_both_ways();
    the_slack_is_small_again_ten_starts_after_any_burst();
    the_slack_does_not_follow_delays_by_the_scheduler();
    a_resync_helps_when_the_bound_has_grown();
    syncs_take_at_most_a_twentieth_of_the_time();
    processes_with_too_few_cores_are_oversubscribed();
    the_environment_is_applied_or_refused();
    return 0;
}
