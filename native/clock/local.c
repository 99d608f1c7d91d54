/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "clock/local.h"

#include <errno.h>
#include <offbeat/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Moves the local clock in tests; 0 in earnest. Atomic because clocks may be created by several threads. */
static _Atomic int64_t test_offset_ns;

static int64_t nanoseconds(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t offbeat_clock_local_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return nanoseconds(now) + test_offset_ns;
}

int64_t offbeat_clock_resolution_ns(void) {
    struct timespec step;
    clock_getres(CLOCK_MONOTONIC, &step);
    return nanoseconds(step);
}

const char *offbeat_clock_source(void) {
    return "CLOCK_MONOTONIC";
}

int offbeat_local_set_test_offset(const char *text, int rank) {
    int64_t offset_ns = 0;
    while (text != NULL && *text != '\0') {
        char *colon, *end;
        errno = 0;
        long entry_rank = strtol(text, &colon, 10);
        if (colon == text || *colon != ':' || entry_rank < 0)
            return -1;
        long long entry_ns = strtoll(colon + 1, &end, 10);
        if (end == colon + 1 || (*end != ',' && *end != '\0') || errno != 0)
            return -1;
        if (entry_rank == rank)
            offset_ns = entry_ns;
        text = *end == ',' ? end + 1 : end;
    }
    test_offset_ns = offset_ns;
    return 0;
}

/* Reads the kernel's boot id without its line end; an empty text when there is none. */
static void read_boot_id(char *text, size_t bytes) {
    text[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL)
        return;
    if (fgets(text, (int)bytes, file) == NULL)
        text[0] = '\0';
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
}

/* Reads the name of the time namespace. A kernel without them has one clock: an empty name. @return 0, or -1
 */
static int read_time_namespace(char *text, size_t bytes) {
    ssize_t length = readlink("/proc/self/ns/time", text, bytes - 1);
    text[length > 0 ? length : 0] = '\0';
    return length >= 0 || errno == ENOENT ? 0 : -1;
}

void offbeat_local_identity(char identity[OFFBEAT_IDENTITY_BYTES]) {
    char boot_id[64], time_namespace[48];
    memset(identity, 0, OFFBEAT_IDENTITY_BYTES);
    read_boot_id(boot_id, sizeof boot_id);
    if (boot_id[0] == '\0' || read_time_namespace(time_namespace, sizeof time_namespace) != 0)
        return;
    if (test_offset_ns != 0)
        return;
    snprintf(identity, OFFBEAT_IDENTITY_BYTES, "%s %s", boot_id, time_namespace);
}
