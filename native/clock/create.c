/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating and freeing a shared clock. When one process fails to set its clock up, all processes fail: they
 * agree before the first synchronisation, in which they would wait for each other.
 */
#include "clock/clock.h"
#include "clock/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_AGREE = 1 };

static _Thread_local char error_text[320];

const char *offbeat_clock_error(void) {
    return error_text;
}

static int refuse(const char *sentence) {
    snprintf(error_text, sizeof error_text, "%s", sentence);
    return MPI_ERR_ARG;
}

/* --- the processes of each node --- */

static void free_members(offbeat_clock_members *members) {
    free(members->ranks);
    memset(members, 0, sizeof *members);
}

/* Fills `members` with the ranks in `comm` of the processes of `subset`. Local. */
static int translate_ranks(MPI_Comm subset, MPI_Comm comm, offbeat_clock_members *members) {
    MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
    int rc = PMPI_Comm_size(subset, &members->count);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank(subset, &members->index);
    if (rc != MPI_SUCCESS)
        return rc;
    int *subset_ranks = malloc((size_t)members->count * sizeof *subset_ranks);
    members->ranks = malloc((size_t)members->count * sizeof *members->ranks);
    for (int i = 0; subset_ranks != NULL && i < members->count; i++)
        subset_ranks[i] = i;
    rc = PMPI_Comm_group(subset, &from);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_group(comm, &to);
    if (subset_ranks == NULL || members->ranks == NULL)
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS)
        rc = PMPI_Group_translate_ranks(from, members->count, subset_ranks, to, members->ranks);
    if (from != MPI_GROUP_NULL)
        PMPI_Group_free(&from);
    if (to != MPI_GROUP_NULL)
        PMPI_Group_free(&to);
    free(subset_ranks);
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
static int agree(const offbeat_clock *clock, const offbeat_clock_settings *settings, int rc) {
    int64_t own[AGREED_VALUES] = {[ERROR_CODE] = rc}, root[AGREED_VALUES];
    if (rc == MPI_SUCCESS) {
        own[METHOD] = settings->method - offbeat_clock_methods;
        own[EXCHANGES] = settings->exchanges;
        own[FIT_POINTS] = settings->fit_points;
    }
    memcpy(root, own, sizeof root);
    int comm_rc = offbeat_clock_tree_broadcast(&clock->tree, root, AGREED_VALUES, TAG_AGREE);
    if (comm_rc != MPI_SUCCESS)
        return comm_rc;
    if (rc == MPI_SUCCESS && root[ERROR_CODE] == MPI_SUCCESS && memcmp(own, root, sizeof own) != 0)
        rc = refuse("the clock method, the number of exchanges or the number of fit points differs from "
                    "rank 0's; all processes must be given the same");
    int64_t largest_code = rc;
    comm_rc = offbeat_clock_tree_reduce_max(&clock->tree, &largest_code, 1, TAG_AGREE);
    if (comm_rc == MPI_SUCCESS)
        comm_rc = offbeat_clock_tree_broadcast(&clock->tree, &largest_code, 1, TAG_AGREE);
    if (comm_rc != MPI_SUCCESS)
        return comm_rc;
    if (largest_code == MPI_ERR_ARG && rc == MPI_SUCCESS)
        refuse("another process of the communicator refused its clock options or environment");
    return (int)largest_code;
}

/* --- creation --- */

static int set_schedule(offbeat_clock *clock, const offbeat_sync_method *method) {
    offbeat_clock_sync_stage all = {
        .is_star = method->is_star, .index = clock->tree.rank, .count = clock->tree.size};
    clock->schedule.stages[0] = all;
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

static void set_state(offbeat_clock *clock, const offbeat_clock_settings *settings) {
    clock->source = settings->source;
    offbeat_clock_state_init(&clock->state, settings->method,
                             offbeat_clock_source_resolution_ns(&clock->source));
    clock->state.exchanges = settings->exchanges;
    clock->state.fit_points = settings->fit_points;
    offbeat_clock_source_identity(&clock->source, clock->state.identity);
}

/* Sets the clock up once it has its own communicator. */
static int set_up(offbeat_clock *clock, const offbeat_clock_options *options) {
    offbeat_clock_settings settings = {.method = offbeat_clock_methods};
    int world_rank;
    int rc = PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_settings_read(options, world_rank, &settings, error_text, sizeof error_text);
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
