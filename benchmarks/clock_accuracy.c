/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error of each method right after a sync and later, between processes whose virtual clocks have known
 * rates: rank 1 of MPI_COMM_WORLD prints a line of JSON for each sync and age. Usage (2 processes):
 * accuracy ROUNDS AGE_MS CHECKS METHOD:EXCHANGES:FIT_POINTS... Each of ROUNDS rounds synchronises all clocks
 * one after another, and checks the bound of each CHECKS times until AGE_MS later. The exit status is 1 if a
 * bound was exceeded.
 */
#define _POSIX_C_SOURCE 200809L
#include "clock/virtual_clock.h"

#include <offbeat/clock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CLOCKS = 16, OTHER = 1 };

/* Rates of two ordinary quartzes, each wandering by up to 8 ppb a second. */
static const char CLOCKS[] = "virtual:epoch=%lld;0:offset=5000000007,drift=-21.5,wander=0.02/10;"
                             "1:offset=-7000000000001,drift=13.2,wander=0.03/17";

typedef struct contestant {
    char name[32];
    offbeat_clock_options options;
    offbeat_clock *clock;
    int64_t synced_ns; /* physical time */
} contestant;

static offbeat_clock_distortion bends[2];
static int64_t checks, broken;

static int64_t physical_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fail(const char *sentence) {
    fprintf(stderr, "%s\n", sentence);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Reads "METHOD:EXCHANGES:FIT_POINTS". */
static void read_contestant(char *text, contestant *one) {
    snprintf(one->name, sizeof one->name, "%s", text);
    char *exchanges = strchr(text, ':'), *points = exchanges != NULL ? strchr(exchanges + 1, ':') : NULL;
    if (points == NULL)
        fail("Usage: accuracy ROUNDS AGE_MS CHECKS METHOD:EXCHANGES:FIT_POINTS...");
    *exchanges = *points = '\0';
    one->options.method = text;
    one->options.exchanges = (int)strtol(exchanges + 1, NULL, 10);
    one->options.fit_points = (int)strtol(points + 1, NULL, 10);
}

/* Compares a clock's answer at a physical time with the truth. @return its error */
static int64_t checked_error_ns(const contestant *one, int64_t physical_ns) {
    offbeat_instant instant = offbeat_clock_at(one->clock, offbeat_clock_virtual_ns(&bends[1], physical_ns));
    int64_t error_ns = instant.global_ns - offbeat_clock_virtual_ns(&bends[0], physical_ns);
    checks++;
    if (llabs(error_ns) > instant.bound_ns) {
        broken++;
        fprintf(stderr, "%s is wrong by %lld ns, its bound is %lld ns.\n", one->name, (long long)error_ns,
                (long long)instant.bound_ns);
    }
    return error_ns;
}

static void print(const contestant *one, int round, int64_t physical_ns) {
    offbeat_sync_facts facts = offbeat_clock_sync_facts(one->clock);
    int64_t local_ns = offbeat_clock_virtual_ns(&bends[1], physical_ns);
    printf(
        "{\"clock\":\"%s\",\"round\":%d,\"age_ns\":%lld,\"error_ns\":%lld,\"bound_ns\":%lld,\"exchanges\":%d,"
        "\"sync_ns\":%lld,\"round_trip_ns\":%lld,\"contradictions\":%d}\n",
        one->name, round, (long long)(physical_ns - one->synced_ns),
        (long long)checked_error_ns(one, physical_ns),
        (long long)offbeat_clock_bound_ns(one->clock, local_ns), facts.exchanges,
        (long long)facts.duration_ns, (long long)facts.best_round_trip_ns, facts.contradictions);
}

/* Synchronises all clocks, then checks them up to the given age. The order rotates from round to round, so
 * that no clock is always the first after the pause. */
static void play_round(contestant *all, int count, int rank, int round, int64_t age_ns, int64_t most_checks) {
    for (int i = 0; i < count; i++) {
        contestant *one = &all[(i + round) % count];
        if (offbeat_clock_sync(one->clock) != MPI_SUCCESS)
            fail("A sync failed.");
        one->synced_ns = physical_now_ns();
        if (rank == OTHER)
            print(one, round, one->synced_ns);
    }
    const struct timespec pause = {.tv_nsec = age_ns / (most_checks + 1) % 1000000000};
    for (int64_t i = 0; i < most_checks; i++) {
        nanosleep(&pause, NULL);
        for (int j = 0; rank == OTHER && j < count; j++)
            checked_error_ns(&all[j], physical_now_ns());
    }
    for (int i = 0; rank == OTHER && i < count; i++)
        print(&all[i], round, all[i].synced_ns + age_ns);
}

int main(int argc, char **argv) {
    static contestant all[MOST_CLOCKS];
    int rank, size, count = argc - 4;
    char text[256], why[256];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count < 1 || count > MOST_CLOCKS || size != 2)
        fail("Usage (2 processes): accuracy ROUNDS AGE_MS CHECKS METHOD:EXCHANGES:FIT_POINTS...");
    long long epoch_ns = physical_now_ns();
    MPI_Bcast(&epoch_ns, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    snprintf(text, sizeof text, CLOCKS, epoch_ns);
    for (int i = 0; i < 2; i++)
        if (offbeat_clock_virtual_parse(text + strlen("virtual:"), i, &bends[i], why, sizeof why) != 0)
            fail(why);
    for (int i = 0; i < count; i++) {
        read_contestant(argv[4 + i], &all[i]);
        all[i].options.source = text;
        if (offbeat_clock_create_with(MPI_COMM_WORLD, &all[i].options, &all[i].clock) != MPI_SUCCESS)
            fail(offbeat_clock_error());
    }
    int rounds = (int)strtol(argv[1], NULL, 10);
    for (int round = 0; round < rounds; round++)
        play_round(all, count, rank, round, strtoll(argv[2], NULL, 10) * 1000000, strtoll(argv[3], NULL, 10));
    if (rank == OTHER)
        printf("{\"checks\":%lld,\"broken\":%lld}\n", (long long)checks, (long long)broken);
    for (int i = 0; i < count; i++)
        offbeat_clock_free(&all[i].clock);
    MPI_Finalize();
    return broken > 0;
}
