/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating and freeing a shared clock. When one process fails to set its clock up, all processes fail: they
 * agree before the first synchronisation, in which they would wait for each other.
 */
#include "clock/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_AGREE = 1 };

static _Thread_local char error_text[320];

const char *offbeat_clock_error(void) {
    return error_text;
}

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(error_text, sizeof error_text, format, values);
    va_end(values);
    return MPI_ERR_ARG;
}

/* --- the settings: options of the call, else environment variables, else defaults --- */

enum { MOST_EXCHANGES = 1000000 };

typedef struct clock_settings {
    const offbeat_sync_method *method;
    offbeat_time_source source;
    int exchanges, fit_points;
} clock_settings;

/* The option, else the value of an environment variable unless it is unset or empty, else the default. */
static const char *text_setting(const char *option, const char *variable, const char *default_text) {
    const char *value = getenv(variable);
    if (option != NULL)
        return option;
    return value != NULL && *value != '\0' ? value : default_text;
}

static int set_method(const char *name, clock_settings *settings) {
    char method_names[128] = "";
    settings->method = offbeat_clock_method_named(name);
    if (settings->method != NULL)
        return MPI_SUCCESS;
    for (const offbeat_sync_method *method = offbeat_clock_methods; method->name != NULL; method++) {
        size_t names_length = strlen(method_names);
        snprintf(method_names + names_length, sizeof method_names - names_length, " %s", method->name);
    }
    return refuse("the clock method '%.40s' is unknown; the methods are%s", name, method_names);
}

/* Parses a whole number from 1 to MOST_EXCHANGES. @return 0 when the text is something else */
static int parse_exchanges(const char *text) {
    char *end;
    long number = strtol(text, &end, 10);
    int is_number = *text >= '0' && *text <= '9' && *end == '\0';
    return is_number && number >= 1 && number <= MOST_EXCHANGES ? (int)number : 0;
}

static int set_exchanges(int option, clock_settings *settings) {
    const char *text = text_setting(NULL, "OFFBEAT_CLOCK_EXCHANGES", NULL);
    settings->exchanges = option > 0 ? option : settings->method->exchanges;
    if (option < 0 || option > MOST_EXCHANGES)
        return refuse("a sync cannot have %d exchanges; use 1 to %d, or 0 for the method's default", option,
                      MOST_EXCHANGES);
    if (option > 0 || text == NULL)
        return MPI_SUCCESS;
    settings->exchanges = parse_exchanges(text);
    if (settings->exchanges == 0)
        return refuse("OFFBEAT_CLOCK_EXCHANGES is '%.40s'; it must be a whole number from 1 to %d", text,
                      MOST_EXCHANGES);
    return MPI_SUCCESS;
}

static int set_fit_points(int option, clock_settings *settings) {
    int fits_line = settings->method->estimator == OFFBEAT_LEAST_SQUARES;
    settings->fit_points = settings->method->fit_points;
    if (option != 0 && !fits_line)
        return refuse("the method %s does not fit a line and cannot have %d fit points",
                      settings->method->name, option);
    if (fits_line && option == 0 && settings->fit_points > settings->exchanges / 2)
        settings->fit_points = settings->exchanges > 4 ? settings->exchanges / 2 : 2;
    if (option != 0)
        settings->fit_points = option;
    if (fits_line && (settings->fit_points < 2 || settings->fit_points > settings->exchanges))
        return refuse("the method %s cannot fit a line through %d points with %d exchanges; it needs at "
                      "least 2 points, and an exchange for each",
                      settings->method->name, settings->fit_points, settings->exchanges);
    return MPI_SUCCESS;
}

/* Combines options and environment; refuses invalid ones. @param world_rank whose virtual clock to use */
static int read_settings(const offbeat_clock_options *options, int world_rank, clock_settings *settings) {
    const char *source = text_setting(options->source, "OFFBEAT_CLOCK_SOURCE", "CLOCK_MONOTONIC");
    const char *method = text_setting(options->method, "OFFBEAT_CLOCK_METHOD", offbeat_clock_methods[0].name);
    if (offbeat_clock_source_parse(source, world_rank, &settings->source, error_text, sizeof error_text) != 0)
        return MPI_ERR_ARG;
    int rc = set_method(method, settings);
    if (rc == MPI_SUCCESS)
        rc = set_exchanges(options->exchanges, settings);
    return rc == MPI_SUCCESS ? set_fit_points(options->fit_points, settings) : rc;
}

/* --- the processes of each node --- */

static void free_members(offbeat_clock_members *members) {
    free(members->ranks);
    memset(members, 0, sizeof *members);
}

int offbeat_clock_ranks_of_group(MPI_Group group, int count, MPI_Comm comm, int *ranks) {
    MPI_Group comm_group;
    int *group_ranks = calloc((size_t)count + 1, sizeof *group_ranks);
    if (group_ranks == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < count; i++)
        group_ranks[i] = i;
    int rc = PMPI_Comm_group(comm, &comm_group);
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Group_translate_ranks(group, count, group_ranks, comm_group, ranks);
        PMPI_Group_free(&comm_group);
    }
    free(group_ranks);
    return rc;
}

/* Fills `members` with the ranks in `comm` of the processes of `subset`. Local. */
static int translate_ranks(MPI_Comm subset, MPI_Comm comm, offbeat_clock_members *members) {
    MPI_Group group;
    int rc = PMPI_Comm_group(subset, &group);
    if (rc != MPI_SUCCESS)
        return rc;
    PMPI_Group_size(group, &members->count);
    PMPI_Group_rank(group, &members->index);
    members->ranks = malloc((size_t)members->count * sizeof *members->ranks);
    rc = members->ranks == NULL ? MPI_ERR_NO_MEM
                                : offbeat_clock_ranks_of_group(group, members->count, comm, members->ranks);
    PMPI_Group_free(&group);
    return rc;
}

/* Fills `members` and frees the subset; MPI_COMM_NULL has no members. */
static int take_members(MPI_Comm *subset, MPI_Comm comm, offbeat_clock_members *members) {
    if (*subset == MPI_COMM_NULL)
        return MPI_SUCCESS;
    int rc = translate_ranks(*subset, comm, members);
    int free_rc = PMPI_Comm_free(subset);
    return rc != MPI_SUCCESS ? rc : free_rc;
}

/* Finds the processes of this process's node; and, on the first process of each node, those first processes.
 * Collective: creates and frees communicators. Both lists must be freed, also on failure. */
static int find_nodes(MPI_Comm comm, offbeat_clock_members *node, offbeat_clock_members *leaders) {
    MPI_Comm subset = MPI_COMM_NULL;
    int rank;
    int rc = PMPI_Comm_rank(comm, &rank);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &subset);
    if (rc == MPI_SUCCESS)
        rc = take_members(&subset, comm, node);
    /* Also after a failure: other processes, which may not have failed, wait in this call. */
    int is_leader = node->count > 0 && node->index == 0;
    int split_rc = PMPI_Comm_split(comm, is_leader ? 0 : MPI_UNDEFINED, rank, &subset);
    if (split_rc == MPI_SUCCESS)
        split_rc = take_members(&subset, comm, leaders);
    return rc != MPI_SUCCESS ? rc : split_rc;
}

/* --- agreement --- */

enum { METHOD, EXCHANGES, FIT_POINTS, ERROR_CODE, AGREED_VALUES };

/* Whether all processes succeeded so far and have the same settings.
 * @param rc this process's MPI error code
 * @return MPI_SUCCESS, or the same MPI error code at all processes */
static int agree(const offbeat_clock *clock, const clock_settings *settings, int rc) {
    int64_t own_values[AGREED_VALUES] = {[ERROR_CODE] = rc}, root_values[AGREED_VALUES];
    if (rc == MPI_SUCCESS) {
        own_values[METHOD] = settings->method - offbeat_clock_methods;
        own_values[EXCHANGES] = settings->exchanges;
        own_values[FIT_POINTS] = settings->fit_points;
    }
    memcpy(root_values, own_values, sizeof root_values);
    int comm_rc =
        offbeat_clock_tree_broadcast(&clock->tree, root_values, AGREED_VALUES, MPI_INT64_T, TAG_AGREE);
    if (comm_rc != MPI_SUCCESS)
        return comm_rc;
    if (rc == MPI_SUCCESS && root_values[ERROR_CODE] == MPI_SUCCESS &&
        memcmp(own_values, root_values, sizeof own_values) != 0)
        rc = refuse("the clock method, the number of exchanges or the number of fit points differs from "
                    "rank 0's; all processes must be given the same");
    int64_t largest_code = rc;
    comm_rc = offbeat_clock_tree_reduce(&clock->tree, &largest_code, 1, OFFBEAT_MAX, TAG_AGREE);
    if (comm_rc == MPI_SUCCESS)
        comm_rc = offbeat_clock_tree_broadcast(&clock->tree, &largest_code, 1, MPI_INT64_T, TAG_AGREE);
    if (comm_rc != MPI_SUCCESS)
        return comm_rc;
    if (largest_code == MPI_ERR_ARG && rc == MPI_SUCCESS)
        refuse("another process of the communicator refused its clock options or environment");
    return (int)largest_code;
}

/* --- creation --- */

static int set_schedule(offbeat_clock *clock, const offbeat_sync_method *method) {
    offbeat_clock_sync_stage star_stage = {
        .is_star = method->is_star, .index = clock->tree.rank, .count = clock->tree.size};
    clock->schedule.stages[0] = star_stage;
    if (!method->by_node)
        return MPI_SUCCESS;
    int rc = find_nodes(clock->tree.comm, &clock->node, &clock->leaders);
    offbeat_clock_sync_stage leaders = {
        .index = clock->leaders.index, .count = clock->leaders.count, .members = clock->leaders.ranks};
    offbeat_clock_sync_stage node = {
        .index = clock->node.index, .count = clock->node.count, .members = clock->node.ranks};
    clock->schedule.stages[0] = leaders;
    clock->schedule.stages[1] = node;
    return rc;
}

static void set_state(offbeat_clock *clock, const clock_settings *settings) {
    clock->source = settings->source;
    offbeat_clock_state_init(&clock->state, settings->method,
                             offbeat_clock_source_resolution_ns(&clock->source));
    clock->state.exchanges = settings->exchanges;
    clock->state.fit_points = settings->fit_points;
    offbeat_clock_source_identity(&clock->source, clock->state.identity);
}

/* Sets the clock up once it has its own communicator. */
static int set_up(offbeat_clock *clock, const offbeat_clock_options *options) {
    clock_settings settings = {.method = offbeat_clock_methods};
    int world_rank, has_world = 0; /* a program with sessions only has no MPI_COMM_WORLD */
    int rc = PMPI_Initialized(&has_world);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank(has_world ? MPI_COMM_WORLD : clock->tree.comm, &world_rank);
    if (rc == MPI_SUCCESS)
        rc = read_settings(options, world_rank, &settings);
    rc = agree(clock, &settings, rc);
    if (rc != MPI_SUCCESS)
        return rc;
    set_state(clock, &settings);
    rc = agree(clock, &settings, set_schedule(clock, settings.method));
    return rc == MPI_SUCCESS ? offbeat_clock_sync(clock) : rc;
}

int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock) {
    return offbeat_clock_create_with(comm, NULL, clock);
}

int offbeat_clock_create_with(MPI_Comm comm, const offbeat_clock_options *options, offbeat_clock **clock) {
    static const offbeat_clock_options DEFAULTS;
    error_text[0] = '\0';
    if (clock == NULL)
        return refuse("offbeat_clock_create needs a non-NULL pointer for the clock");
    *clock = calloc(1, sizeof **clock);
    if (*clock == NULL)
        return MPI_ERR_NO_MEM;
    int rc = offbeat_clock_duplicate(comm, &(*clock)->tree.comm);
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_tree_init(&(*clock)->tree, (*clock)->tree.comm, OFFBEAT_CLOCK_POLLS_BEFORE_YIELD);
    if (rc == MPI_SUCCESS)
        rc = set_up(*clock, options != NULL ? options : &DEFAULTS);
    if (rc != MPI_SUCCESS)
        offbeat_clock_free(clock);
    return rc;
}

int offbeat_clock_free(offbeat_clock **clock) {
    if (clock == NULL || *clock == NULL)
        return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    if ((*clock)->tree.comm != MPI_COMM_NULL)
        rc = PMPI_Comm_free(&(*clock)->tree.comm);
    free_members(&(*clock)->node);
    free_members(&(*clock)->leaders);
    free(*clock);
    *clock = NULL;
    return rc;
}
