/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXCHANGES = 1000000 };

/* The option, else the value of an environment variable unless it is unset or empty, else the default. */
static const char *text_setting(const char *option, const char *variable, const char *default_text) {
    if (option != NULL)
        return option;
    return variable != NULL && *variable != '\0' ? variable : default_text;
}

static int set_method(const char *name, offbeat_clock_settings *settings, char *why, size_t bytes) {
    settings->method = offbeat_clock_method_named(name);
    if (settings->method != NULL)
        return MPI_SUCCESS;
    int length = snprintf(why, bytes, "the clock method '%.40s' is unknown; the methods are", name);
    for (const offbeat_sync_method *method = offbeat_clock_methods; method->name != NULL; method++)
        if (length > 0 && (size_t)length < bytes)
            length += snprintf(why + length, bytes - (size_t)length, " %s", method->name);
    return MPI_ERR_ARG;
}

/* Parses a whole number from 1 to MOST_EXCHANGES. @return 0 when the text is something else */
static int parse_exchanges(const char *text) {
    char *end;
    long number = strtol(text, &end, 10);
    int is_number = *text >= '0' && *text <= '9' && *end == '\0';
    return is_number && number >= 1 && number <= MOST_EXCHANGES ? (int)number : 0;
}

static int set_exchanges(int option, offbeat_clock_settings *settings, char *why, size_t bytes) {
    const char *text = text_setting(NULL, getenv("OFFBEAT_CLOCK_EXCHANGES"), NULL);
    settings->exchanges = settings->method->exchanges;
    if (option < 0 || option > MOST_EXCHANGES) {
        snprintf(why, bytes, "a sync cannot have %d exchanges; use 1 to %d, or 0 for the method's default",
                 option, MOST_EXCHANGES);
        return MPI_ERR_ARG;
    }
    if (option > 0) {
        settings->exchanges = option;
    } else if (text != NULL) {
        settings->exchanges = parse_exchanges(text);
        if (settings->exchanges == 0) {
            snprintf(why, bytes, "OFFBEAT_CLOCK_EXCHANGES is '%.40s'; it must be a whole number from 1 to %d",
                     text, MOST_EXCHANGES);
            return MPI_ERR_ARG;
        }
    }
    return MPI_SUCCESS;
}

static int set_fit_points(int option, offbeat_clock_settings *settings, char *why, size_t bytes) {
    int fits_line = settings->method->estimator == OFFBEAT_LEAST_SQUARES;
    settings->fit_points = settings->method->fit_points;
    if (option != 0 && !fits_line) {
        snprintf(why, bytes, "the method %s does not fit a line and cannot have %d fit points",
                 settings->method->name, option);
        return MPI_ERR_ARG;
    }
    if (fits_line && option == 0 && settings->fit_points > settings->exchanges / 2)
        settings->fit_points = settings->exchanges > 4 ? settings->exchanges / 2 : 2;
    if (option != 0)
        settings->fit_points = option;
    if (fits_line && (settings->fit_points < 2 || settings->fit_points > settings->exchanges)) {
        snprintf(why, bytes,
                 "the method %s cannot fit a line through %d points with %d exchanges; it needs at least 2 "
                 "points, and an exchange for each",
                 settings->method->name, settings->fit_points, settings->exchanges);
        return MPI_ERR_ARG;
    }
    return MPI_SUCCESS;
}

int offbeat_clock_settings_read(const offbeat_clock_options *options, int world_rank,
                                offbeat_clock_settings *settings, char *why, size_t bytes) {
    const char *source = text_setting(options->source, getenv("OFFBEAT_CLOCK_SOURCE"), "CLOCK_MONOTONIC");
    const char *method =
        text_setting(options->method, getenv("OFFBEAT_CLOCK_METHOD"), offbeat_clock_methods[0].name);
    if (offbeat_clock_source_parse(source, world_rank, &settings->source, why, bytes) != 0)
        return MPI_ERR_ARG;
    int rc = set_method(method, settings, why, bytes);
    if (rc == MPI_SUCCESS)
        rc = set_exchanges(options->exchanges, settings, why, bytes);
    return rc == MPI_SUCCESS ? set_fit_points(options->fit_points, settings, why, bytes) : rc;
}
