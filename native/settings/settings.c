/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "settings/settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

const char *offbeat_settings_value(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

int offbeat_settings_fail(const offbeat_settings_error *error, const char *name, const char *value,
                          const char *expectation) {
    snprintf(error->text, error->bytes, "%s=%s cannot be read; it should be %s", name, value, expectation);
    return -1;
}

long offbeat_settings_parse_number(const char **text) {
    if (!isdigit((unsigned char)**text))
        return -1;
    char *end;
    errno = 0;
    long number = strtol(*text, &end, 10);
    *text = end;
    return errno == 0 ? number : -1;
}

/* Parses "3", "3-5" or "3-" and advances *text past it. */
static int parse_range(const char **text, long *first, long *last) {
    *first = *last = offbeat_settings_parse_number(text);
    if (*first >= 0 && **text == '-') {
        ++*text;
        *last = isdigit((unsigned char)**text) ? offbeat_settings_parse_number(text) : LONG_MAX;
    }
    return *first >= 0 && *last >= *first ? 0 : -1;
}

int offbeat_settings_parse_ranges(const char *text, offbeat_ranges *ranges) {
    do {
        int i = ranges->count++;
        if (i == OFFBEAT_SETTINGS_MAX_RANGES ||
            parse_range(&text, &ranges->ranges[i].first, &ranges->ranges[i].last) != 0 ||
            (*text != ',' && *text != '\0'))
            return -1;
    } while (*text++ == ',');
    return 0;
}

int offbeat_settings_read_ranges(const char *name, offbeat_ranges *ranges,
                                 const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value(name);
    if (value == NULL || offbeat_settings_parse_ranges(value, ranges) == 0)
        return 0;
    return offbeat_settings_fail(error, name, value,
                                 "numbers and ranges like 0-3,8,16- (at most 64 of them)");
}

int offbeat_settings_read_number(const char *name, long min, long max, const char *expectation, long *number,
                                 const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value(name), *cursor = value;
    if (value == NULL)
        return 0;
    *number = offbeat_settings_parse_number(&cursor);
    return *number >= min && *number <= max && *cursor == '\0'
               ? 0
               : offbeat_settings_fail(error, name, value, expectation);
}

int offbeat_ranges_contain(const offbeat_ranges *ranges, long number) {
    for (int i = 0; i < ranges->count; i++)
        if (number >= ranges->ranges[i].first && number <= ranges->ranges[i].last)
            return 1;
    return ranges->count == 0;
}
