/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* CLOCK_MONOTONIC_RAW */
#include "clock/source.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const NAMES[] = {"CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "MPI_Wtime", "virtual"};

static const char VIRTUAL_PREFIX[] = "virtual:";

int offbeat_clock_source_parse(const char *text, int rank, offbeat_time_source *source, char *why,
                               size_t bytes) {
    memset(source, 0, sizeof *source);
    for (int kind = OFFBEAT_MONOTONIC; kind <= OFFBEAT_WTIME; kind++) {
        if (strcmp(text, NAMES[kind]) == 0) {
            source->kind = (offbeat_clock_source_kind)kind;
            return 0;
        }
    }
    if (strncmp(text, VIRTUAL_PREFIX, sizeof VIRTUAL_PREFIX - 1) == 0) {
        source->kind = OFFBEAT_VIRTUAL;
        return offbeat_clock_virtual_parse(text + sizeof VIRTUAL_PREFIX - 1, rank, &source->distortion, why,
                                           bytes);
    }
    snprintf(why, bytes,
             "the time source '%.60s' is unknown; the sources are CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, "
             "MPI_Wtime and virtual:...",
             text);
    return -1;
}

static int64_t nanoseconds(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static clockid_t system_clock(const offbeat_time_source *source) {
    return source->kind == OFFBEAT_MONOTONIC_RAW ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
}

int64_t offbeat_clock_source_now_ns(const offbeat_time_source *source) {
    struct timespec now;
    if (source->kind == OFFBEAT_WTIME)
        return (int64_t)(PMPI_Wtime() * 1e9);
    clock_gettime(system_clock(source), &now);
    if (source->kind == OFFBEAT_VIRTUAL)
        return offbeat_clock_virtual_ns(&source->distortion, nanoseconds(now));
    return nanoseconds(now);
}

/* The largest relative distance between two neighbouring doubles. */
static const double DOUBLE_SPACING = 2.3e-16;

int64_t offbeat_clock_source_resolution_ns(const offbeat_time_source *source) {
    if (source->kind == OFFBEAT_WTIME) {
        double now_s = PMPI_Wtime();
        return (int64_t)(((now_s < 0 ? -now_s : now_s) * DOUBLE_SPACING + PMPI_Wtick()) * 1e9) + 1;
    }
    struct timespec resolution;
    clock_getres(system_clock(source), &resolution);
    int64_t resolution_ns = nanoseconds(resolution);
    return resolution_ns > 1 ? resolution_ns : 1;
}

const char *offbeat_clock_source_name(const offbeat_time_source *source) {
    return NAMES[source->kind];
}

/* Reads the kernel's boot id without the newline; an empty text when it cannot be read. */
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

/* Reads the name of the time namespace. A kernel without time namespaces has one clock: the name is empty.
 * @return 0, or -1 when the name cannot be read */
static int read_time_namespace(char *text, size_t bytes) {
    ssize_t length = readlink("/proc/self/ns/time", text, bytes - 1);
    text[length > 0 ? length : 0] = '\0';
    return length >= 0 || errno == ENOENT ? 0 : -1;
}

void offbeat_clock_source_identity(const offbeat_time_source *source,
                                   char identity[OFFBEAT_CLOCK_IDENTITY_BYTES]) {
    char boot_id[48], time_namespace[48];
    memset(identity, 0, OFFBEAT_CLOCK_IDENTITY_BYTES);
    if (source->kind != OFFBEAT_MONOTONIC && source->kind != OFFBEAT_MONOTONIC_RAW)
        return;
    read_boot_id(boot_id, sizeof boot_id);
    if (boot_id[0] == '\0' || read_time_namespace(time_namespace, sizeof time_namespace) != 0)
        return;
    snprintf(identity, OFFBEAT_CLOCK_IDENTITY_BYTES, "%s %s %s", boot_id, time_namespace,
             NAMES[source->kind]);
}
