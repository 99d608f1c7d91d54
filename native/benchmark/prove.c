/* SPDX-License-Identifier: BSD-3-Clause */
/** @file prove.c  What runs when an algorithm is forced, and whether it computes its collective. */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/json.h"
#include "control/tree.h"
#include "library/functions.h"
#include "library/messages.h"

#include <stdlib.h>
#include <string.h>

/* Prepares the call of a command on every process, or answers why it cannot be prepared. */
static offbeat_call *prepare(offbeat_session *session, const offbeat_command *command) {
    offbeat_request request;
    offbeat_call *call = NULL;
    const char *why = "";
    if (offbeat_session_request(session, command, &request) != 0)
        return NULL;
    int64_t failed = offbeat_call_create(&request, &call, &why) != MPI_SUCCESS;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed) {
        offbeat_answer_failure(session, *why ? why : "another process could not prepare the call");
        offbeat_call_free(&call);
    }
    return call;
}

/* The text of the first process that has an error, at rank 0. */
typedef struct error_text {
    char text[MPI_MAX_ERROR_STRING];
} error_text;

static void keep_first_error(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    error_text *first = to;
    if (!first->text[0] && bytes <= sizeof first->text)
        memcpy(first->text, data, bytes);
}

static void gather_error(offbeat_session *session, int error, error_text *first) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    first->text[0] = '\0';
    offbeat_gather(text, strlen(text) + 1, keep_first_error, first, session->control);
}

void offbeat_check(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = prepare(session, command);
    if (!call)
        return;
    offbeat_call_wipe(call);
    int error = offbeat_call_run(call);
    int64_t wrong = error == MPI_SUCCESS ? (int64_t)offbeat_call_check(call) : 0;
    offbeat_tree_reduce(&wrong, 1, OFFBEAT_SUM, session->control);
    error_text first;
    gather_error(session, error, &first);
    if (session->answers) {
        fprintf(session->answers, "@offbeat {\"ok\":true,\"wrong\":%lld,\"error\":", (long long)wrong);
        offbeat_json_text(first.text, session->answers);
        fputs("}\n", session->answers);
    }
    offbeat_call_free(&call);
}

/* Names that rank 0 has not met, appended to its own: most algorithms are the same code on all processes. */
static void merge_names(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    (void)bytes;
    char *all = to, *copy = strdup(data), *rest = NULL;
    for (char *name = copy ? strtok_r(copy, " ", &rest) : NULL; name; name = strtok_r(NULL, " ", &rest)) {
        char *there = strstr(all, name);
        size_t length = strlen(name), used = strlen(all);
        int known = there && (there == all || there[-1] == ' ') && (there[length] == ' ' || !there[length]);
        if (!known && used + length + 2 < 16384)
            sprintf(all + used, "%s%s", used ? " " : "", name);
    }
    free(copy);
}

static void write_messages(int rank, const void *data, size_t bytes, void *to) {
    const offbeat_message *messages = data;
    if (!to)
        return;
    for (size_t i = 0; i < bytes / sizeof *messages; i++)
        fprintf(to, "%s[%d,%d,%lld]", rank == 0 && i == 0 ? "" : ",", rank, messages[i].to,
                (long long)messages[i].bytes);
}

static void write_message_list(offbeat_session *session, int count, const offbeat_message *messages) {
    if (session->answers)
        fputs(",\"messages\":[null", session->answers);
    if (session->answers && session->rank == 0 && count)
        fputc(',', session->answers);
    offbeat_gather(messages, (size_t)count * sizeof *messages, write_messages, session->answers,
                   session->control);
    if (session->answers)
        fputc(']', session->answers);
}

void offbeat_observe(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = prepare(session, command);
    if (!call)
        return;
    const offbeat_message *messages = NULL;
    static char functions[16384];
    functions[0] = '\0';
    int sees_messages = offbeat_messages_available(session->control);
    int64_t barrier = 0;
    offbeat_call_run(call); /* connections and trees are made at the first call */
    offbeat_tree_allreduce(&barrier, 1, OFFBEAT_MAX, session->control);
    int planted = offbeat_functions_begin() == 0;
    offbeat_messages_begin();
    offbeat_call_run(call);
    int count = offbeat_messages_end(&messages);
    const char *mine = planted ? offbeat_functions_end() : "";
    offbeat_gather(mine, strlen(mine) + 1, merge_names, functions, session->control);
    if (session->answers) {
        fprintf(session->answers,
                "@offbeat {\"ok\":true,\"sees_functions\":%s,\"sees_messages\":%s,\"functions\":",
                offbeat_functions_count() ? "true" : "false", sees_messages ? "true" : "false");
        offbeat_json_text(functions, session->answers);
    }
    write_message_list(session, count, messages);
    if (session->answers)
        fputs("}\n", session->answers);
    offbeat_call_free(&call);
}

/* Whether this process leaves the collective later than 70% of the delay of the one that is delayed. */
static int64_t leaves_late(offbeat_session *session, offbeat_call *call, int delayed, int64_t delay_ns) {
    offbeat_start start;
    offbeat_harmonize(session->harmony, session->rank == delayed ? delay_ns : 0, &start);
    offbeat_call_run(call);
    int64_t left = offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns()) - start.deadline_ns;
    int64_t margin = start.margin_ns;
    offbeat_tree_reduce(&margin, 1, OFFBEAT_MIN, session->control);
    offbeat_harmony_adapt(session->harmony, margin);
    return left > delay_ns * 7 / 10;
}

static void write_late(int rank, const void *data, size_t bytes, void *to) {
    (void)bytes;
    if (to && *(const int64_t *)data)
        fprintf(to, ",%d", rank);
}

void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = prepare(session, command);
    if (!call)
        return;
    int64_t delay_ns = offbeat_command_number(command, "delay_ns", 5000000);
    int64_t most = offbeat_command_number(command, "most", 64);
    int step = session->p > most ? (int)((session->p + most - 1) / most) : 1;
    offbeat_call_run(call);
    if (session->answers)
        fputs("@offbeat {\"ok\":true,\"late\":[null", session->answers);
    for (int delayed = 0; delayed < session->p; delayed += step) {
        int64_t late = leaves_late(session, call, delayed, delay_ns);
        if (session->answers)
            fprintf(session->answers, ",[%d", delayed);
        offbeat_gather(&late, sizeof late, write_late, session->answers, session->control);
        if (session->answers)
            fputc(']', session->answers);
    }
    if (session->answers)
        fputs("]}\n", session->answers);
    offbeat_call_free(&call);
}
