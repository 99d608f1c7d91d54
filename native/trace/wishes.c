/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/wishes.h"

#include "trace/format.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The value of a variable, or NULL where it isn't set or empty. */
static const char *value_of(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* Where an error is said. */
typedef struct complaint {
    char *why;
    size_t bytes;
} complaint;

static int refuse(const complaint *to, const char *name, const char *value, const char *right) {
    snprintf(to->why, to->bytes, "%s=%s cannot be read; %s", name, value, right);
    return -1;
}

/* A whole number, 0 or more, at *text, which moves behind it; -1 where there is none. */
static long number_at(const char **text) {
    if (!isdigit((unsigned char)**text))
        return -1;
    char *end;
    errno = 0;
    long number = strtol(*text, &end, 10);
    *text = end;
    return errno == 0 ? number : -1;
}

/* "3", "3-5" or "3-" at *text, which moves behind it. */
static int range_at(const char **text, long *from, long *to) {
    *from = *to = number_at(text);
    if (*from >= 0 && **text == '-') {
        ++*text;
        *to = isdigit((unsigned char)**text) ? number_at(text) : LONG_MAX;
    }
    return *from >= 0 && *to >= *from ? 0 : -1;
}

static int read_ranges(const char *name, offbeat_ranges *ranges, const complaint *to) {
    const char *value = value_of(name), *at = value;
    if (value == NULL)
        return 0;
    do {
        int i = ranges->count++;
        if (i == OFFBEAT_MOST_RANGES || range_at(&at, &ranges->ranges[i].from, &ranges->ranges[i].to) != 0 ||
            (*at != ',' && *at != '\0'))
            return refuse(to, name, value,
                          "it should be numbers and ranges like 0-3,8,16- (at most 64 of them)");
    } while (*at++ == ',');
    return 0;
}

int offbeat_ranges_have(const offbeat_ranges *ranges, long number) {
    for (int i = 0; i < ranges->count; i++)
        if (number >= ranges->ranges[i].from && number <= ranges->ranges[i].to)
            return 1;
    return ranges->count == 0;
}

/* Marks the functions of one word; how many these are. */
static int take_word(offbeat_wishes *wishes, const char *word, size_t length) {
    int found = 0;
    for (int id = 1; id < OFFBEAT_FUNCTIONS; id++) {
        const char *known = offbeat_functions[id].word;
        if (strlen(known) == length && strncasecmp(known, word, length) == 0) {
            wishes->takes[id] = 1;
            found++;
        }
    }
    return found;
}

static int read_collectives(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_COLLECTIVES");
    memset(wishes->takes, value == NULL, sizeof wishes->takes);
    for (const char *at = value; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!take_word(wishes, at, strcspn(at, ",")))
            return refuse(to, "OFFBEAT_TRACE_COLLECTIVES", value,
                          "it should be names of collectives, separated by commas, like "
                          "allreduce,alltoallv,neighbor_alltoall,constructors");
    return 0;
}

static int read_every(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_EVERY"), *at = value;
    wishes->every = 1;
    if (value == NULL)
        return 0;
    long every = number_at(&at);
    if (every < 1 || every > INT_MAX || *at != '\0')
        return refuse(to, "OFFBEAT_TRACE_EVERY", value, "it should be a whole number, 1 or more");
    wishes->every = (unsigned)every;
    return 0;
}

/* Seconds at *text, digits and a point, which moves behind them; negative where there are none. */
static double seconds_at(const char **text) {
    size_t length = strspn(*text, "0123456789.");
    char digits[64], *end;
    if (length == 0 || length >= sizeof digits)
        return -1;
    memcpy(digits, *text, length);
    digits[length] = '\0';
    double seconds = strtod(digits, &end);
    *text += length;
    return *end == '\0' ? seconds : -1;
}

static int read_window(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_WINDOW"), *at = value;
    wishes->window_from_s = 0;
    wishes->window_to_s = INFINITY;
    if (value == NULL)
        return 0;
    wishes->window_from_s = seconds_at(&at);
    int has_dash = *at == '-';
    if (has_dash && *++at != '\0')
        wishes->window_to_s = seconds_at(&at);
    if (!has_dash || *at != '\0' || wishes->window_from_s < 0 || wishes->window_from_s > 1e9 ||
        wishes->window_to_s <= wishes->window_from_s)
        return refuse(to, "OFFBEAT_TRACE_WINDOW", value,
                      "it should be seconds since MPI_Init, from the first to the last, like 10-60 or 2.5-");
    if (wishes->window_to_s > 1e9)
        wishes->window_to_s = INFINITY;
    return 0;
}

/* Bytes of one unit; 0 where it isn't one. */
static uint64_t unit_bytes(const char *unit) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"kB", 1000},
                 {"KiB", 1024},
                 {"MB", 1000 * 1000},
                 {"MiB", 1024 * 1024},
                 {"GB", 1000 * 1000 * 1000},
                 {"GiB", 1024 * 1024 * 1024},
                 {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
                 {"TiB", UINT64_C(1024) * 1024 * 1024 * 1024}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].bytes;
    return 0;
}

static int read_limit(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_BYTES"), *at = value;
    if (value == NULL)
        return 0;
    long number = number_at(&at);
    at += strspn(at, " ");
    uint64_t unit = unit_bytes(at);
    /* The header, a page of definitions and one of records. */
    const uint64_t fewest = UINT64_C(3) * OFFBEAT_TRACE_PAGE_BYTES;
    if (number < 0 || unit == 0 || (uint64_t)number > UINT64_MAX / 2 / unit ||
        (uint64_t)number * unit < fewest)
        return refuse(to, "OFFBEAT_TRACE_BYTES", value,
                      "it should be a size of 192 KiB or more, like 100 MB or 1GiB");
    wishes->limit_bytes = (uint64_t)number * unit;
    return 0;
}

static int read_sync_level(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_SYNC_LEVEL"), *at = value;
    if (value == NULL)
        return 0;
    long level = number_at(&at);
    if (level < 3 || level > INT_MAX || *at != '\0')
        return refuse(to, "OFFBEAT_TRACE_SYNC_LEVEL", value,
                      "it should be a whole number, 3 or more: MPI gives 0, 1 and 2 meanings of their own");
    wishes->syncs = 1;
    wishes->sync_level = (int)level;
    return 0;
}

static int read_depth(offbeat_wishes *wishes, const complaint *to) {
    const char *value = value_of("OFFBEAT_TRACE_DEPTH"), *at = value;
    wishes->depth = OFFBEAT_USUAL_DEPTH;
    if (value == NULL)
        return 0;
    long depth = number_at(&at);
    if (depth < 0 || depth > OFFBEAT_MOST_DEPTH || *at != '\0')
        return refuse(to, "OFFBEAT_TRACE_DEPTH", value, "it should be a whole number from 0 to 16");
    wishes->depth = (int)depth;
    return 0;
}

int offbeat_wishes_read(offbeat_wishes *wishes, char *why, size_t bytes) {
    const complaint to = {why, bytes};
    memset(wishes, 0, sizeof *wishes);
    wishes->folder = value_of("OFFBEAT_TRACE_DIR");
    if (wishes->folder == NULL)
        wishes->folder = "offbeat-trace";
    if (read_ranges("OFFBEAT_TRACE_RANKS", &wishes->ranks, &to) != 0 ||
        read_ranges("OFFBEAT_TRACE_COMM_SIZES", &wishes->sizes, &to) != 0)
        return -1;
    if (read_collectives(wishes, &to) != 0 || read_every(wishes, &to) != 0)
        return -1;
    if (read_window(wishes, &to) != 0 || read_limit(wishes, &to) != 0 || read_depth(wishes, &to) != 0)
        return -1;
    return read_sync_level(wishes, &to);
}

void offbeat_wishes_say(char *text, size_t bytes) {
    static const char *const names[] = {"OFFBEAT_TRACE_RANKS",       "OFFBEAT_TRACE_EVERY",
                                        "OFFBEAT_TRACE_COLLECTIVES", "OFFBEAT_TRACE_COMM_SIZES",
                                        "OFFBEAT_TRACE_WINDOW",      "OFFBEAT_TRACE_BYTES",
                                        "OFFBEAT_TRACE_SYNC_LEVEL"};
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < sizeof names / sizeof *names && used < bytes; i++) {
        const char *value = value_of(names[i]);
        if (value == NULL)
            continue;
        int more = snprintf(text + used, bytes - used, "%s%s=%s", used > 0 ? " " : "", names[i], value);
        used += more > 0 ? (size_t)more : 0;
    }
}
