/* SPDX-License-Identifier: BSD-3-Clause */
/** @file prove.c  What runs when an algorithm is forced, and whether it computes its collective. */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "benchmark/subset.h"
#include "control/json.h"
#include "control/tree.h"
#include "library/functions.h"
#include "library/messages.h"

#include <stdlib.h>
#include <string.h>

/** Names of functions, separated by blanks. */
typedef struct name_list {
    char text[16384];
} name_list;

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

/*
 * Prepares the legal call that a command describes, on the processes that it names; NULL on the others.
 * @return NULL, or on all processes the sentence that says why not
 */
static const char *prepare_legal_call(offbeat_session *session, const offbeat_command *command,
                                      offbeat_call **call) {
    MPI_Comm comm;
    const char *why = offbeat_subset_comm(session, command, &comm);
    *call = NULL;
    if (why)
        return why;
    int64_t failed = 0;
    if (comm != MPI_COMM_NULL) {
        offbeat_request request = offbeat_session_request(command, comm);
        offbeat_variant variant = {
            .in_place = (int)offbeat_command_number(command, "in_place", 0),
            .null_ignored = (int)offbeat_command_number(command, "null_ignored", 0),
            .counts = offbeat_counts_find(offbeat_command_text(command, "counts", "even")),
        };
        failed = offbeat_call_create_variant(&request, &variant, call, &why) != MPI_SUCCESS;
    }
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (!failed)
        return NULL;
    offbeat_call_free(call);
    return why ? why : "another process could not prepare the call";
}

void offbeat_check(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call;
    const char *why = prepare_legal_call(session, command, &call);
    if (why) {
        offbeat_answer_failure(session, why);
        return;
    }
    int error = MPI_SUCCESS;
    int64_t wrong[2] = {0, 0}; /* elements, and calls that returned an error */
    if (call) {
        offbeat_call_wipe(call);
        error = offbeat_call_run(call);
        wrong[0] = error == MPI_SUCCESS ? (int64_t)offbeat_call_check(call) : 0;
        wrong[1] = error != MPI_SUCCESS;
    }
    offbeat_tree_allreduce(wrong, 2, OFFBEAT_SUM, session->control);
    error_text first;
    gather_error(session, error, &first);
    if (wrong[0] || wrong[1])
        offbeat_subset_renew(session, command);
    if (session->answers) {
        fprintf(session->answers, "@offbeat {\"ok\":true,\"wrong\":%lld,\"error\":", (long long)wrong[0]);
        offbeat_json_text(first.text, session->answers);
        fputs("}\n", session->answers);
    }
    offbeat_call_free(&call);
}

static int holds_name(const char *all, const char *name, size_t length) {
    for (const char *there = strstr(all, name); there; there = strstr(there + 1, name))
        if ((there == all || there[-1] == ' ') && (there[length] == ' ' || !there[length]))
            return 1;
    return 0;
}

/* Names that rank 0 has not met, appended to its own: most algorithms are the same code on all processes. */
static void merge_names(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    (void)bytes;
    name_list *all = to;
    char *copy = strdup(data), *rest = NULL;
    for (char *name = copy ? strtok_r(copy, " ", &rest) : NULL; name; name = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(name), used = strlen(all->text);
        if (!holds_name(all->text, name, length) && used + length + 2 < sizeof all->text)
            snprintf(all->text + used, sizeof all->text - used, "%s%s", used ? " " : "", name);
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
    offbeat_call *call = offbeat_session_call(session, command);
    if (!call)
        return;
    const offbeat_message *messages = NULL;
    static name_list functions;
    functions.text[0] = '\0';
    int sees_messages = offbeat_messages_available(session->control);
    int64_t barrier = 0;
    offbeat_call_run(call); /* connections and trees are made at the first call */
    offbeat_tree_allreduce(&barrier, 1, OFFBEAT_MAX, session->control);
    int64_t planted = offbeat_functions_begin() == 0;
    offbeat_messages_begin();
    offbeat_call_run(call);
    int count = offbeat_messages_end(&messages);
    const char *mine = planted ? offbeat_functions_end() : "";
    offbeat_gather(mine, strlen(mine) + 1, merge_names, &functions, session->control);
    offbeat_tree_reduce(&planted, 1, OFFBEAT_MIN, session->control);
    if (session->answers) {
        fprintf(session->answers,
                "@offbeat {\"ok\":true,\"sees_functions\":%s,\"sees_messages\":%s,\"functions\":",
                planted ? "true" : "false", sees_messages ? "true" : "false");
        offbeat_json_text(functions.text, session->answers);
    }
    write_message_list(session, count, messages);
    if (session->answers)
        fputs("}\n", session->answers);
    offbeat_call_free(&call);
}

/* How long after the deadline this process leaves the collective, in ns. */
static int64_t leaves_after(offbeat_session *session, offbeat_call *call, int64_t delay_ns) {
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    offbeat_call_run(call);
    int64_t left =
        offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns(session->clock)) - start.deadline_ns;
    return left;
}

/*
 * A delay that tells who waits for the delayed process: at least what was asked for, and so long that the
 * collective takes half of it by itself. Whoever leaves after 70% of it has waited.
 */
static int64_t telling_delay(offbeat_session *session, offbeat_call *call, int64_t least_ns) {
    int64_t undelayed_ns = leaves_after(session, call, 0);
    offbeat_tree_allreduce(&undelayed_ns, 1, OFFBEAT_MAX, session->control);
    return 2 * undelayed_ns > least_ns ? 2 * undelayed_ns : least_ns;
}

static void write_late(int rank, const void *data, size_t bytes, void *to) {
    (void)bytes;
    if (to && *(const int64_t *)data)
        fprintf(to, ",%d", rank);
}

void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = offbeat_session_call(session, command);
    if (!call)
        return;
    int64_t most = offbeat_command_number(command, "most", 64);
    int step = session->p > most ? (int)((session->p + most - 1) / most) : 1;
    offbeat_call_run(call);
    int64_t delay_ns = telling_delay(session, call, offbeat_command_number(command, "delay_ns", 5000000));
    if (session->answers)
        fputs("@offbeat {\"ok\":true,\"late\":[null", session->answers);
    for (int delayed = 0; delayed < session->p; delayed += step) {
        int64_t left = leaves_after(session, call, session->rank == delayed ? delay_ns : 0);
        int64_t late = left > delay_ns / 10 * 7;
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
