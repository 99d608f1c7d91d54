/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/wishes.h"

#include <offbeat/harmonize.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLERANCE_NS = 1000 };

/* Reads a whole number in a range, if the variable is there. @return 0, or -1 */
static int read_number(const char *name, int64_t least, int64_t most, int64_t *value) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return 0;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most)
        return -1;
    *value = number;
    return 0;
}

int offbeat_wishes_read(offbeat_wishes *wishes, char *why, size_t bytes) {
    const int64_t hour_ns = INT64_C(3600000000000);
    int64_t yield = OFFBEAT_YIELD_WHERE_CROWDED;
    wishes->tolerance_ns = TOLERANCE_NS;
    if (read_number("OFFBEAT_HARMONIZE_TOLERANCE_NS", 0, hour_ns, &wishes->tolerance_ns) != 0) {
        snprintf(why, bytes,
                 "OFFBEAT_HARMONIZE_TOLERANCE_NS is '%.40s'; it must be a whole number of nanoseconds, "
                 "at least 0 and at most an hour",
                 getenv("OFFBEAT_HARMONIZE_TOLERANCE_NS"));
        return -1;
    }
    if (read_number("OFFBEAT_YIELD", 0, 1, &yield) != 0) {
        snprintf(why, bytes, "OFFBEAT_YIELD is '%.40s'; it must be 0 or 1", getenv("OFFBEAT_YIELD"));
        return -1;
    }
    wishes->yield = (int)yield;
    return 0;
}
