/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a shared clock comes and goes. What one process cannot do, none does: the processes tell each other
 * before the first sync, which would wait for all of them.
 */
#include "clock/choice.h"
#include "clock/clock.h"
#include "clock/messages.h"
#include "clock/tree.h"

#include <stdio.h>
#include <stdlib.h>

enum { TAG_AGREE = 1, PATIENCE = 200 };

static _Thread_local char error_text[320];

const char *offbeat_clock_error(void) {
    return error_text;
}

static int refuse(const char *sentence) {
    snprintf(error_text, sizeof error_text, "%s", sentence);
    return MPI_ERR_ARG;
}

/* What all processes must have chosen alike: the first one's choice travels to all, then trouble travels up,
 * then the verdict down. */
typedef struct agreement {
    int method, exchanges, fit_points;
    int trouble; /* an MPI error code */
} agreement;

static int send_to_children(const offbeat_clock *clock, const agreement *said) {
    int rc = MPI_SUCCESS;
    for (int distance = offbeat_tree_span(clock->rank, clock->size) / 2; distance > 0; distance /= 2)
        if (rc == MPI_SUCCESS && clock->rank + distance < clock->size)
            rc = PMPI_Send(said, sizeof *said, MPI_BYTE, clock->rank + distance, TAG_AGREE, clock->comm);
    return rc;
}

static int receive_from(const offbeat_clock *clock, int rank, agreement *said) {
    return offbeat_receive(said, sizeof *said, MPI_BYTE, rank, TAG_AGREE, clock->comm, PATIENCE);
}

/* Gives everybody what rank 0 says. */
static int hear(const offbeat_clock *clock, agreement *said) {
    int rc = MPI_SUCCESS;
    if (clock->rank != 0)
        rc = receive_from(clock, offbeat_tree_parent(clock->rank), said);
    return rc == MPI_SUCCESS ? send_to_children(clock, said) : rc;
}

/* Brings the first trouble of any process to rank 0. */
static int report(const offbeat_clock *clock, agreement *own) {
    int span = offbeat_tree_span(clock->rank, clock->size);
    for (int distance = 1; distance < span && clock->rank + distance < clock->size; distance *= 2) {
        agreement other;
        int rc = receive_from(clock, clock->rank + distance, &other);
        if (rc != MPI_SUCCESS)
            return rc;
        if (own->trouble == MPI_SUCCESS)
            own->trouble = other.trouble;
    }
    if (clock->rank == 0)
        return MPI_SUCCESS;
    return PMPI_Send(own, sizeof *own, MPI_BYTE, offbeat_tree_parent(clock->rank), TAG_AGREE, clock->comm);
}

/* Whether all processes could do what comes first, and chose alike.
 * @param trouble what this process could not do, or MPI_SUCCESS */
static int agree(const offbeat_clock *clock, const offbeat_choice *choice, int trouble) {
    agreement own = {.trouble = trouble};
    if (trouble == MPI_SUCCESS)
        own = (agreement){(int)(choice->method - offbeat_methods), choice->exchanges, choice->fit_points,
                          trouble};
    agreement first = own;
    int rc = hear(clock, &first);
    if (rc != MPI_SUCCESS)
        return rc;
    int is_alike =
        first.method == own.method && first.exchanges == own.exchanges && first.fit_points == own.fit_points;
    if (own.trouble == MPI_SUCCESS && first.trouble == MPI_SUCCESS && !is_alike)
        own.trouble =
            refuse("this process was given another clock method, or other numbers of exchanges or fit "
                   "points, than rank 0; all processes must be given the same");
    agreement verdict = own;
    rc = report(clock, &verdict);
    if (rc == MPI_SUCCESS)
        rc = hear(clock, &verdict);
    if (rc == MPI_SUCCESS && verdict.trouble == MPI_ERR_ARG && own.trouble == MPI_SUCCESS)
        refuse("another process of the communicator refused its clock options or environment");
    return rc == MPI_SUCCESS ? verdict.trouble : rc;
}

/* Whom the process meets in a sync. */
static int arrange(offbeat_clock *clock, const offbeat_method *method) {
    offbeat_stage everybody = {.is_star = method->is_star, .index = clock->rank, .count = clock->size};
    clock->order.stages[0] = everybody;
    if (!method->by_node)
        return MPI_SUCCESS;
    int rc = offbeat_nodes_find(clock->comm, &clock->node, &clock->leaders);
    offbeat_stage leaders = {
        .index = clock->leaders.index, .count = clock->leaders.count, .members = clock->leaders.ranks};
    offbeat_stage node = {
        .index = clock->node.index, .count = clock->node.count, .members = clock->node.ranks};
    clock->order.stages[0] = leaders;
    clock->order.stages[1] = node;
    return rc;
}

static void take_choice(offbeat_clock *clock, const offbeat_choice *choice) {
    clock->source = choice->source;
    offbeat_pupil_init(&clock->pupil, choice->method, offbeat_source_resolution_ns(&clock->source));
    clock->pupil.exchanges = choice->exchanges;
    clock->pupil.fit_points = choice->fit_points;
    offbeat_source_identity(&clock->source, clock->pupil.identity);
}

/* What offbeat_clock_create_with does once there are a clock to fill and a communicator of its own. */
static int set_up(offbeat_clock *clock, const offbeat_clock_options *options) {
    offbeat_choice choice = {.method = offbeat_methods};
    int world_rank;
    int rc = PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (rc == MPI_SUCCESS)
        rc = offbeat_choose(options, world_rank, &choice, error_text, sizeof error_text);
    rc = agree(clock, &choice, rc);
    if (rc != MPI_SUCCESS)
        return rc;
    take_choice(clock, &choice);
    rc = agree(clock, &choice, arrange(clock, choice.method));
    return rc == MPI_SUCCESS ? offbeat_clock_sync(clock) : rc;
}

int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock) {
    return offbeat_clock_create_with(comm, NULL, clock);
}

int offbeat_clock_create_with(MPI_Comm comm, const offbeat_clock_options *options, offbeat_clock **clock) {
    static const offbeat_clock_options NONE;
    error_text[0] = '\0';
    if (clock == NULL)
        return refuse("offbeat_clock_create was given no place for the clock");
    *clock = calloc(1, sizeof **clock);
    if (*clock == NULL)
        return MPI_ERR_NO_MEM;
    int rc = offbeat_duplicate(comm, &(*clock)->comm);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank((*clock)->comm, &(*clock)->rank);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_size((*clock)->comm, &(*clock)->size);
    if (rc == MPI_SUCCESS)
        rc = set_up(*clock, options != NULL ? options : &NONE);
    if (rc != MPI_SUCCESS)
        offbeat_clock_free(clock);
    return rc;
}

int offbeat_clock_free(offbeat_clock **clock) {
    if (clock == NULL || *clock == NULL)
        return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    if ((*clock)->comm != MPI_COMM_NULL)
        rc = PMPI_Comm_free(&(*clock)->comm);
    offbeat_members_free(&(*clock)->node);
    offbeat_members_free(&(*clock)->leaders);
    free(*clock);
    *clock = NULL;
    return rc;
}
