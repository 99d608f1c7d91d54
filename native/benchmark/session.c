/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>
#include <string.h>

static void create_test_comm(offbeat_session *session) {
    MPI_Comm_dup(MPI_COMM_WORLD, &session->test_comm);
    MPI_Comm_set_errhandler(session->test_comm, MPI_ERRORS_RETURN);
}

void offbeat_session_open(offbeat_session *session, FILE *answers) {
    MPI_Comm_rank(MPI_COMM_WORLD, &session->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session->p);
    session->answer.stream = session->rank == 0 ? answers : NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &session->control_comm);
    create_test_comm(session);
    int error = offbeat_clock_create(session->control_comm, &session->clock);
    if (error == MPI_SUCCESS)
        error = offbeat_start_context_create(session->clock, session->control_comm,
                                             OFFBEAT_YIELD_IF_OVERSUBSCRIBED, &session->start_context);
    if (error != MPI_SUCCESS)
        offbeat_fatal(*offbeat_clock_error()
                          ? offbeat_clock_error()
                          : "the shared clock or the harmonised start could not be created");
    if (session->rank == 0 && !answers)
        offbeat_fatal("standard output is closed, but answers are written to it");
}

void offbeat_session_close(offbeat_session *session) {
    offbeat_subsets_free(&session->subsets);
    offbeat_work_free(session->work);
    offbeat_start_context_free(&session->start_context);
    offbeat_clock_free(&session->clock);
    MPI_Comm_free(&session->test_comm);
    MPI_Comm_free(&session->control_comm);
}

void offbeat_session_renew_comms(offbeat_session *session) {
    offbeat_subsets_free(&session->subsets);
    MPI_Comm_free(&session->test_comm);
    create_test_comm(session);
}

offbeat_request offbeat_session_request(const offbeat_command *command, MPI_Comm comm) {
    return (offbeat_request){
        .collective = offbeat_command_text(command, "collective"),
        .bytes = (size_t)offbeat_command_number(command, "bytes"),
        .datatype = offbeat_command_text(command, "datatype"),
        .op = offbeat_command_text(command, "op"),
        .root = (int)offbeat_command_number(command, "root"),
        .comm = comm,
    };
}

offbeat_call *offbeat_session_call(offbeat_session *session, const offbeat_command *command, MPI_Comm comm) {
    offbeat_call *call = NULL;
    const char *why = "";
    offbeat_request request = offbeat_session_request(command, comm);
    int64_t failed = offbeat_call_create(&request, &call, &why) != MPI_SUCCESS;
    offbeat_p2p_allreduce(&failed, 1, OFFBEAT_MAX, session->control_comm);
    if (failed) {
        offbeat_answer_failure(&session->answer, *why ? why : "another process could not prepare the call");
        offbeat_call_free(&call);
    }
    return call;
}

void offbeat_session_start(offbeat_session *session, int64_t delay_ns, offbeat_start *start) {
    if (offbeat_harmonize(session->start_context, delay_ns, start) != MPI_SUCCESS)
        offbeat_fatal("an MPI error in a harmonised start");
}

offbeat_clock_options offbeat_session_clock_options(const offbeat_command *command) {
    return (offbeat_clock_options){
        .source = offbeat_command_text(command, "source"),
        .exchanges = (int)offbeat_command_number(command, "exchanges"),
    };
}

offbeat_answer *offbeat_session_answer(offbeat_session *session) {
    offbeat_answer_begin(&session->answer, session->verb);
    return &session->answer;
}

static void copy_first_error(int rank, const void *data, size_t bytes, void *context) {
    (void)rank;
    offbeat_error_text *first = context;
    if (!first->text[0] && bytes <= sizeof first->text)
        memcpy(first->text, data, bytes);
}

void offbeat_session_gather_error(offbeat_session *session, int error, offbeat_error_text *first) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    first->text[0] = '\0';
    offbeat_p2p_gather(text, strlen(text) + 1, copy_first_error, first, session->control_comm);
}

/** A list that is being written. */
typedef struct number_list {
    FILE *out;
    size_t count; /* numbers written so far */
} number_list;

static void write_numbers(int rank, const void *data, size_t bytes, void *context) {
    (void)rank;
    const int64_t *values = data;
    number_list *list = context;
    for (size_t i = 0; list->out && i < bytes / sizeof *values; i++)
        fprintf(list->out, "%s%lld", list->count++ ? "," : "", (long long)values[i]);
}

void offbeat_answer_gathered(offbeat_session *session, const char *key, const int64_t *values, size_t count) {
    number_list list = {.out = offbeat_answer_key_of(&session->answer, key, OFFBEAT_NUMBERS)};
    if (list.out)
        fputc('[', list.out);
    offbeat_p2p_gather(values, count * sizeof *values, write_numbers, &list, session->control_comm);
    if (list.out)
        fputc(']', list.out);
}
