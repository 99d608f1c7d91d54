/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules behind a start, without any process: how large the slack is, when a sync is due, who shares
 * cores, and what the environment may say.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "clock/promise.h"
#include "harmonize/crowd.h"
#include "harmonize/slack.h"
#include "harmonize/sync_due.h"
#include "harmonize/wishes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000, SECOND = 1000000000;

static void feed(offbeat_slack *slack, int starts, int64_t need_ns) {
    for (int i = 0; i < starts; i++)
        offbeat_slack_learn(slack, need_ns);
}

static void expect_slack(const offbeat_slack *slack, int64_t expected_ns, const char *when) {
    int64_t slack_ns = offbeat_slack_ns(slack);
    promise(slack_ns == expected_ns, "%s the slack is %lld ns instead of %lld ns.", when, (long long)slack_ns,
            (long long)expected_ns);
}

static void the_slack_follows_the_median_both_ways(void) {
    offbeat_slack slack;
    offbeat_slack_init(&slack, 2 * MICROSECOND, 50 * MILLISECOND, 50 * MILLISECOND);
    expect_slack(&slack, 50 * MILLISECOND, "When nothing is known");
    feed(&slack, 16, 100 * MICROSECOND);
    expect_slack(&slack, 301 * MICROSECOND, "After 16 starts that needed 100 us");
    feed(&slack, 4, MILLISECOND);
    expect_slack(&slack, 301 * MICROSECOND, "After a burst of 4 slow starts");
    feed(&slack, 1, MILLISECOND);
    expect_slack(&slack, 3001 * MICROSECOND, "When most of the last 9 starts were slow");
    feed(&slack, 5, 40 * MICROSECOND);
    expect_slack(&slack, 121 * MICROSECOND, "Five starts after the burst");
    feed(&slack, 16, 0);
    expect_slack(&slack, 2 * MICROSECOND, "When nothing is needed");
    feed(&slack, 16, SECOND);
    expect_slack(&slack, 50 * MILLISECOND, "When a second is needed");
    feed(&slack, 5, INT64_MAX);
    feed(&slack, 4, INT64_MIN);
    expect_slack(&slack, 50 * MILLISECOND, "After senseless needs");
}

/* The reference implementation multiplies its slack by 1.5 at each miss and never takes it back. */
static void the_slack_is_small_again_ten_starts_after_any_burst(void) {
    for (int burst = 0; burst < 1000; burst += 7) {
        offbeat_slack slack;
        offbeat_slack_init(&slack, 2 * MICROSECOND, 2 * MILLISECOND, 50 * MILLISECOND);
        feed(&slack, 20, 3 * MICROSECOND);
        feed(&slack, burst, 5 * MILLISECOND);
        feed(&slack, 10, 3 * MICROSECOND);
        expect_slack(&slack, 10 * MICROSECOND, "Ten starts after a burst");
    }
}

/* What a scheduler does to some starts must not make all of them so long that it does it to each. */
static void the_slack_does_not_wait_for_the_scheduler(void) {
    offbeat_slack slack;
    offbeat_slack_init(&slack, 2 * MICROSECOND, 2 * MILLISECOND, 50 * MILLISECOND);
    feed(&slack, 1, 4 * MICROSECOND);
    feed(&slack, 8, 8 * MILLISECOND);
    expect_slack(&slack, 2 * MILLISECOND, "When one start of nine needed 4 us and the others 8 ms");
    feed(&slack, 9, 400 * MICROSECOND);
    feed(&slack, 5, 8 * MILLISECOND);
    expect_slack(&slack, 4 * MILLISECOND, "When most starts needed 8 ms and the others 400 us");
    feed(&slack, 9, 8 * MILLISECOND);
    expect_slack(&slack, 24001 * MICROSECOND, "When every start needed 8 ms");
}

static void a_sync_is_due_when_the_bound_has_grown(void) {
    promise(!offbeat_sync_helps(0, 0), "A shared physical clock is synchronised.");
    promise(!offbeat_sync_helps(0, 500), "A bound of 500 ns is too much for a start.");
    promise(offbeat_sync_helps(0, 501), "A bound that came from nowhere is ignored.");
    promise(!offbeat_sync_helps(1000, 2500), "A bound of twice the best and 500 ns is too much.");
    promise(offbeat_sync_helps(1000, 2501), "A bound beyond twice the best and 500 ns is ignored.");
    promise(!offbeat_sync_helps(4000, 3000), "A bound that shrank makes a sync due.");
    promise(!offbeat_sync_helps(INT64_MAX / 2, INT64_MAX / 2), "An unlimited bound makes syncs without end.");
}

static void syncs_take_a_twentieth_of_the_time_at_most(void) {
    for (int64_t length_ns = 1000; length_ns < SECOND; length_ns *= 3) {
        promise(!offbeat_sync_is_affordable(19 * length_ns - 1, length_ns),
                "Syncs take more than 5%% of time.");
        promise(offbeat_sync_is_affordable(19 * length_ns, length_ns), "Syncs may not take 5%% of the time.");
    }
    promise(offbeat_sync_is_affordable(0, 0), "A sync that takes no time is not affordable.");
}

/* As many processes as words, each on the cores whose bits are set. */
static int crowded(const uint64_t *words, int count) {
    offbeat_cores *processes = calloc((size_t)count, sizeof *processes);
    promise(processes != NULL, "No memory for the cores of %d processes.", count);
    for (int i = 0; i < count; i++)
        processes[i].words[i % 2 * 100] = words[i];
    int answer = offbeat_cores_are_crowded(processes, count);
    free(processes);
    return answer;
}

static void processes_with_too_few_cores_are_a_crowd(void) {
    offbeat_cores same[5];
    memset(same, 0, sizeof same);
    for (int i = 0; i < 5; i++)
        same[i].words[1] = 0xf;
    promise(!offbeat_cores_are_crowded(same, 4), "Four processes on four cores count as a crowd.");
    promise(offbeat_cores_are_crowded(same, 5), "Five processes on four cores don't count as a crowd.");
    same[0].words[0] = 0xff;
    promise(!offbeat_cores_are_crowded(same, 5),
            "A process that may go elsewhere counts where it needn't be.");
    same[1].words[1] = same[2].words[1] = 1;
    promise(offbeat_cores_are_crowded(same, 5), "Two processes bound to one core don't count as a crowd.");
    promise(!crowded((uint64_t[]){1, 1, 2, 2}, 4), "Processes bound to a core each count as a crowd.");
    promise(!crowded((uint64_t[]){0, 0, 0, 0}, 4), "Processes of which nothing is known count as a crowd.");
}

static int read_with(const char *name, const char *value, offbeat_wishes *wishes) {
    char why[256] = "";
    unsetenv("OFFBEAT_YIELD");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    setenv(name, value, 1);
    int rc = offbeat_wishes_read(wishes, why, sizeof why);
    promise(rc == 0 || (strstr(why, name) && strstr(why, value) && strstr(why, "must be")),
            "%s=%s is refused without saying so: '%s'", name, value, why);
    return rc;
}

static void the_environment_is_obeyed_or_refused(void) {
    static const char *const bad[] = {"soon", "-1", "1.5", "1e3", "99999999999999999999", "1000 "};
    offbeat_wishes wishes;
    promise(read_with("OFFBEAT_YIELD", "", &wishes) == 0 && wishes.yield == OFFBEAT_YIELD_WHERE_CROWDED &&
                wishes.tolerance_ns == 1000,
            "Without wishes the tolerance is not 1 us, or yielding is decided already.");
    promise(read_with("OFFBEAT_YIELD", "1", &wishes) == 0 && wishes.yield == 1,
            "OFFBEAT_YIELD=1 is ignored.");
    promise(read_with("OFFBEAT_YIELD", "0", &wishes) == 0 && wishes.yield == 0,
            "OFFBEAT_YIELD=0 is ignored.");
    promise(read_with("OFFBEAT_YIELD", "2", &wishes) != 0, "OFFBEAT_YIELD=2 is accepted.");
    promise(read_with("OFFBEAT_HARMONIZE_TOLERANCE_NS", "250", &wishes) == 0 && wishes.tolerance_ns == 250,
            "A tolerance of 250 ns is ignored.");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        promise(read_with("OFFBEAT_HARMONIZE_TOLERANCE_NS", bad[i], &wishes) != 0,
                "A tolerance of '%s' is accepted.", bad[i]);
}

int main(void) {
    the_slack_follows_the_median_both_ways();
    the_slack_is_small_again_ten_starts_after_any_burst();
    the_slack_does_not_wait_for_the_scheduler();
    a_sync_is_due_when_the_bound_has_grown();
    syncs_take_a_twentieth_of_the_time_at_most();
    processes_with_too_few_cores_are_a_crowd();
    the_environment_is_obeyed_or_refused();
    return 0;
}
