/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/trace_config.h"

#include "trace/format.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const offbeat_tracer_function offbeat_tracer_functions[] = {
    {0},
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    {"MPI_" #name, #lower, OFFBEAT_TRACE_BLOCKING, OFFBEAT_##name},                                          \
        {"MPI_I" #lower, #lower, OFFBEAT_TRACE_NONBLOCKING, OFFBEAT_##name},                                 \
        {"MPI_" #name "_init", #lower, OFFBEAT_TRACE_PERSISTENT, OFFBEAT_##name},
#define OFFBEAT_CONSTRUCTOR(name, ...)                                                                       \
    {"MPI_" #name, "constructors", OFFBEAT_TRACE_CONSTRUCTOR, OFFBEAT_##name},
#define OFFBEAT_MESSAGE_FUNCTION(name, lower, blocking, mode, signature)                                     \
    {"MPI_" #name, "", OFFBEAT_TRACE_##mode, OFFBEAT_##blocking},
#define OFFBEAT_PROBE_FUNCTION OFFBEAT_MESSAGE_FUNCTION
#define OFFBEAT_REQUEST_FUNCTION(name, ...) {"MPI_" #name, "", OFFBEAT_TRACE_BLOCKING, OFFBEAT_##name},
#include "trace/wrapped_functions.h"
    {"MPI_Pcontrol", "", OFFBEAT_TRACE_BLOCKING, OFFBEAT_Pcontrol},
};

/* Selects the functions with this option name. @return how many there are */
static int select_functions(offbeat_tracer_config *config, const char *option_name, size_t length) {
    int selected_count = 0;
    for (int id = 1; id < OFFBEAT_TRACER_FUNCTION_COUNT; id++) {
        const char *option = offbeat_tracer_functions[id].option_name;
        if (length > 0 && strlen(option) == length && strncasecmp(option, option_name, length) == 0) {
            config->is_recorded[id] = 1;
            selected_count++;
        }
    }
    return selected_count;
}

static int read_collectives(offbeat_tracer_config *config, const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value("OFFBEAT_TRACE_COLLECTIVES");
    memset(config->is_recorded, value == NULL, sizeof config->is_recorded);
    for (const char *cursor = value; cursor != NULL;
         cursor = strchr(cursor, ',') ? strchr(cursor, ',') + 1 : NULL)
        if (!select_functions(config, cursor, strcspn(cursor, ",")))
            return offbeat_settings_fail(error, "OFFBEAT_TRACE_COLLECTIVES", value,
                                         "names of collectives, separated by commas, like "
                                         "allreduce,alltoallv,neighbor_alltoall,constructors");
    return 0;
}

static int read_numbers(offbeat_tracer_config *config, const offbeat_settings_error *error) {
    long period = 1, depth = OFFBEAT_TRACER_DEFAULT_DEPTH, level = -1, messages = 0;
    if (offbeat_settings_read_number("OFFBEAT_TRACE_EVERY", 1, INT_MAX, "a whole number, 1 or more", &period,
                                     error) != 0 ||
        offbeat_settings_read_number("OFFBEAT_TRACE_DEPTH", 0, OFFBEAT_TRACER_MAX_DEPTH,
                                     "a whole number from 0 to 16", &depth, error) != 0 ||
        offbeat_settings_read_number("OFFBEAT_TRACE_MESSAGES", 0, 1, "0 or 1", &messages, error) != 0 ||
        offbeat_settings_read_number("OFFBEAT_TRACE_SYNC_LEVEL", 3, INT_MAX,
                                     "a whole number, 3 or more: MPI gives 0, 1 and 2 meanings of their own",
                                     &level, error) != 0)
        return -1;
    config->period = (unsigned)period;
    config->depth = (int)depth;
    config->has_messages = messages != 0;
    config->has_sync_level = level >= 0;
    config->sync_level = (int)level;
    return 0;
}

/* Parses seconds, digits and a point, and advances *text past them; negative if there are none. */
static double parse_seconds(const char **text) {
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

static int read_window(offbeat_tracer_config *config, const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value("OFFBEAT_TRACE_WINDOW"), *cursor = value;
    config->window_start_s = 0;
    config->window_end_s = INFINITY;
    if (value == NULL)
        return 0;
    config->window_start_s = parse_seconds(&cursor);
    int has_dash = *cursor == '-';
    if (has_dash && *++cursor != '\0')
        config->window_end_s = parse_seconds(&cursor);
    if (!has_dash || *cursor != '\0' || config->window_start_s < 0 || config->window_start_s > 1e9 ||
        config->window_end_s <= config->window_start_s)
        return offbeat_settings_fail(
            error, "OFFBEAT_TRACE_WINDOW", value,
            "seconds since MPI_Init, from the first to the last, like 10-60 or 2.5-");
    if (config->window_end_s > 1e9)
        config->window_end_s = INFINITY;
    return 0;
}

/* Bytes of a unit; 0 if it is unknown. */
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

static int read_max_file_bytes(offbeat_tracer_config *config, const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value("OFFBEAT_TRACE_BYTES"), *cursor = value;
    if (value == NULL)
        return 0;
    long number = offbeat_settings_parse_number(&cursor);
    cursor += strspn(cursor, " ");
    uint64_t unit = unit_bytes(cursor);
    /* The header, a page of definitions and one of records. */
    const uint64_t min_bytes = UINT64_C(3) * OFFBEAT_TRACE_PAGE_BYTES;
    if (number < 0 || unit == 0 || (uint64_t)number > UINT64_MAX / 2 / unit ||
        (uint64_t)number * unit < min_bytes)
        return offbeat_settings_fail(error, "OFFBEAT_TRACE_BYTES", value,
                                     "a size of 192 KiB or more, like 100 MB or 1GiB");
    config->max_file_bytes = (uint64_t)number * unit;
    return 0;
}

int offbeat_tracer_config_read(offbeat_tracer_config *config, char *error, size_t bytes) {
    const offbeat_settings_error buffer = {error, bytes};
    memset(config, 0, sizeof *config);
    config->folder = offbeat_settings_value("OFFBEAT_TRACE_DIR");
    if (config->folder == NULL)
        config->folder = "offbeat-trace";
    if (offbeat_settings_read_ranges("OFFBEAT_TRACE_RANKS", &config->ranks, &buffer) != 0 ||
        offbeat_settings_read_ranges("OFFBEAT_TRACE_COMM_SIZES", &config->comm_sizes, &buffer) != 0)
        return -1;
    if (read_collectives(config, &buffer) != 0 || read_numbers(config, &buffer) != 0)
        return -1;
    return read_window(config, &buffer) != 0 ? -1 : read_max_file_bytes(config, &buffer);
}

void offbeat_tracer_config_format(char *text, size_t bytes) {
    static const char *const names[] = {"OFFBEAT_TRACE_RANKS",       "OFFBEAT_TRACE_EVERY",
                                        "OFFBEAT_TRACE_COLLECTIVES", "OFFBEAT_TRACE_COMM_SIZES",
                                        "OFFBEAT_TRACE_WINDOW",      "OFFBEAT_TRACE_BYTES",
                                        "OFFBEAT_TRACE_SYNC_LEVEL"};
    text[0] = '\0';
    for (size_t i = 0, used_bytes = 0; i < sizeof names / sizeof *names && used_bytes < bytes; i++) {
        const char *value = offbeat_settings_value(names[i]);
        if (value == NULL)
            continue;
        int length = snprintf(text + used_bytes, bytes - used_bytes, "%s%s=%s", used_bytes > 0 ? " " : "",
                              names[i], value);
        used_bytes += length > 0 ? (size_t)length : 0;
    }
}
