/* SPDX-License-Identifier: BSD-3-Clause */
/** @file legal_call.c  Makes a legal call that the front end drew, and checks everything that it wrote. */
#define _GNU_SOURCE
#include "benchmark/communicators.h"

#include "collectives/drawn_call.h"
#include "collectives/layout.h"
#include "control/p2p_collectives.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The communicators of one command: the second one is optional. */
enum { CALLS = 2 };

static const char *const members_keys[CALLS] = {"members", "next"};

/* The communicator of a list of ranks; of one rank MPI_COMM_SELF. Collective over all processes. */
static const char *comm_of_list(offbeat_session *session, const offbeat_command *command, const char *key,
                                MPI_Comm *comm) {
    *comm = MPI_COMM_NULL;
    if (offbeat_command_list_length(command, key) != 1)
        return offbeat_members_comm(session, command, key, comm);
    if (offbeat_command_list_item(command, key, 0) == session->rank) {
        *comm = MPI_COMM_SELF;
        MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    }
    return NULL;
}

/* The list of the key "elements"; the caller frees it. */
static int64_t *elements_of(const offbeat_command *command, int *length) {
    *length = offbeat_command_list_length(command, "elements");
    int64_t *elements = calloc((size_t)*length + 1, sizeof *elements);
    if (!elements)
        offbeat_fatal("no memory for the counts of a drawn call");
    for (int i = 0; i < *length; i++)
        elements[i] = offbeat_command_list_item(command, "elements", i);
    return elements;
}

static offbeat_drawn_request request_of(const offbeat_command *command) {
    return (offbeat_drawn_request){
        .collective = offbeat_command_text(command, "collective"),
        .send = offbeat_command_text(command, "send"),
        .receive = offbeat_command_text(command, "receive"),
        .op = offbeat_command_text(command, "op"),
        .slope = (int)offbeat_command_number(command, "slope"),
        .gap = (int)offbeat_command_number(command, "gap"),
        .is_descending = (int)offbeat_command_number(command, "descending"),
        .root = (int)offbeat_command_number(command, "root"),
        .in_place = (int)offbeat_command_number(command, "in_place"),
        .has_nulls = (int)offbeat_command_number(command, "nulls"),
    };
}

/* Creates the call on each communicator that this process is in.
 * @return NULL, or on all processes an error message */
static const char *create_calls(offbeat_session *session, const offbeat_command *command,
                                offbeat_drawn_request request, offbeat_drawn_call *calls[CALLS]) {
    const char *why = NULL;
    for (int i = 0; i < CALLS && !why; i++) {
        int size = offbeat_command_list_length(command, members_keys[i]);
        why = size ? comm_of_list(session, command, members_keys[i], &request.comm) : NULL;
        if (why || !size || request.comm == MPI_COMM_NULL)
            continue;
        request.root = (int)offbeat_command_number(command, "root") % (i ? size : INT_MAX);
        why = offbeat_drawn_call_create(&request, &calls[i]);
    }
    int64_t has_failed = why != NULL;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    return !has_failed ? NULL : why ? why : "another process could not prepare the call";
}

void offbeat_call_drawn(offbeat_session *session, const offbeat_command *command) {
    offbeat_drawn_call *calls[CALLS] = {NULL};
    int error = MPI_SUCCESS;
    int64_t wrong[4] = {0}; /* elements, guard bytes, datatypes, and errors */
    offbeat_drawn_request request = request_of(command);
    int64_t *elements = elements_of(command, &request.elements_length);
    request.elements = elements;
    const char *why = create_calls(session, command, request, calls);
    for (int i = 0; i < CALLS && !why && error == MPI_SUCCESS; i++)
        error = calls[i] ? offbeat_drawn_call_run(calls[i]) : MPI_SUCCESS;
    for (int i = 0; i < CALLS && !why && error == MPI_SUCCESS; i++) {
        offbeat_drawn_outcome outcome =
            calls[i] ? offbeat_drawn_call_check(calls[i]) : (offbeat_drawn_outcome){0};
        wrong[0] += (int64_t)outcome.elements;
        wrong[1] += (int64_t)outcome.guards;
        wrong[2] += outcome.wrong_types;
    }
    for (int i = 0; i < CALLS; i++)
        offbeat_drawn_call_free(&calls[i]);
    free(elements);
    if (why) {
        offbeat_answer_failure(&session->answer, why);
        return;
    }
    wrong[3] = error != MPI_SUCCESS;
    offbeat_p2p_allreduce(wrong, 4, OFFBEAT_SUM, session->control_comm);
    offbeat_error_text first = {""};
    if (wrong[3])
        offbeat_session_gather_error(session, error, &first);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_number(answer, "wrong", wrong[0]);
    offbeat_answer_number(answer, "guards", wrong[1]);
    offbeat_answer_number(answer, "misplaced", wrong[2]);
    offbeat_answer_text(answer, "error", first.text);
    offbeat_answer_end(answer);
}
