/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXCHANGES = 1000000 };

/* An option, else what a variable of the environment says where it is set and not empty, else the given text.
 */
static const char *text_of(const char *option, const char *variable, const char *otherwise) {
    if (option != NULL)
        return option;
    return variable != NULL && *variable != '\0' ? variable : otherwise;
}

static int choose_method(const char *name, offbeat_choice *choice, char *why, size_t bytes) {
    choice->method = offbeat_method_named(name);
    if (choice->method != NULL)
        return MPI_SUCCESS;
    int length = snprintf(why, bytes, "the clock method '%.40s' is not known; there are", name);
    for (const offbeat_method *method = offbeat_methods; method->name != NULL; method++)
        if (length > 0 && (size_t)length < bytes)
            length += snprintf(why + length, bytes - (size_t)length, " %s", method->name);
    return MPI_ERR_ARG;
}

/* Reads a whole number from 1 to MOST_EXCHANGES; 0 when the text is none. */
static int count_of(const char *text) {
    char *end;
    long number = strtol(text, &end, 10);
    int is_number = *text >= '0' && *text <= '9' && *end == '\0';
    return is_number && number >= 1 && number <= MOST_EXCHANGES ? (int)number : 0;
}

static int choose_exchanges(int option, offbeat_choice *choice, char *why, size_t bytes) {
    const char *text = text_of(NULL, getenv("OFFBEAT_CLOCK_EXCHANGES"), NULL);
    choice->exchanges = choice->method->exchanges;
    if (option < 0 || option > MOST_EXCHANGES) {
        snprintf(why, bytes, "a sync cannot have %d exchanges; 1 to %d are possible, 0 is the method's own",
                 option, MOST_EXCHANGES);
        return MPI_ERR_ARG;
    }
    if (option > 0) {
        choice->exchanges = option;
    } else if (text != NULL) {
        choice->exchanges = count_of(text);
        if (choice->exchanges == 0) {
            snprintf(why, bytes, "OFFBEAT_CLOCK_EXCHANGES is '%.40s'; it must be a whole number from 1 to %d",
                     text, MOST_EXCHANGES);
            return MPI_ERR_ARG;
        }
    }
    return MPI_SUCCESS;
}

static int choose_fit_points(int option, offbeat_choice *choice, char *why, size_t bytes) {
    int fits = choice->method->belief == OFFBEAT_FITTED;
    choice->fit_points = choice->method->fit_points;
    if (option != 0 && !fits) {
        snprintf(why, bytes, "the method %s fits no line, so that it cannot have %d fit points",
                 choice->method->name, option);
        return MPI_ERR_ARG;
    }
    if (fits && option == 0 && choice->fit_points > choice->exchanges / 2)
        choice->fit_points = choice->exchanges > 4 ? choice->exchanges / 2 : 2;
    if (option != 0)
        choice->fit_points = option;
    if (fits && (choice->fit_points < 2 || choice->fit_points > choice->exchanges)) {
        snprintf(why, bytes,
                 "the method %s cannot fit a line through %d points with %d exchanges; it needs at least 2 "
                 "points, and an exchange for each",
                 choice->method->name, choice->fit_points, choice->exchanges);
        return MPI_ERR_ARG;
    }
    return MPI_SUCCESS;
}

int offbeat_choose(const offbeat_clock_options *options, int world_rank, offbeat_choice *choice, char *why,
                   size_t bytes) {
    const char *source = text_of(options->source, getenv("OFFBEAT_CLOCK_SOURCE"), "CLOCK_MONOTONIC");
    const char *method = text_of(options->method, getenv("OFFBEAT_CLOCK_METHOD"), offbeat_methods[0].name);
    if (offbeat_source_parse(source, world_rank, &choice->source, why, bytes) != 0)
        return MPI_ERR_ARG;
    int rc = choose_method(method, choice, why, bytes);
    if (rc == MPI_SUCCESS)
        rc = choose_exchanges(options->exchanges, choice, why, bytes);
    return rc == MPI_SUCCESS ? choose_fit_points(options->fit_points, choice, why, bytes) : rc;
}
