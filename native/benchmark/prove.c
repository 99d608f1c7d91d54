/* SPDX-License-Identifier: BSD-3-Clause */
/** @file prove.c  Identifies the algorithm that a call executes, and checks its result. */
#define _GNU_SOURCE
#include "benchmark/communicators.h"

#include "control/p2p_collectives.h"
#include "library/functions.h"
#include "library/messages.h"

#include <stdlib.h>
#include <string.h>

/** Names of functions, separated by blanks. */
typedef struct name_list {
    char text[16384];
} name_list;

/*
 * Prepares the legal call of a command. Collective over all processes.
 * @param[out] call NULL on processes outside the command's communicators
 * @return NULL, or on all processes an error message
 */
static const char *prepare_legal_call(offbeat_session *session, const offbeat_command *command,
                                      offbeat_call **call) {
    MPI_Comm comm;
    const char *why = offbeat_command_comm(session, command, &comm);
    *call = NULL;
    if (why)
        return why;
    int64_t has_failed = 0;
    if (comm != MPI_COMM_NULL) {
        offbeat_request request = offbeat_session_request(command, comm);
        offbeat_variant variant = {
            .in_place = (int)offbeat_command_number(command, "in_place"),
            .null_ignored = (int)offbeat_command_number(command, "null_ignored"),
            .counts = offbeat_counts_find(offbeat_command_text(command, "counts")),
        };
        has_failed = offbeat_call_create_variant(&request, &variant, call, &why) != MPI_SUCCESS;
    }
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (!has_failed)
        return NULL;
    offbeat_call_free(call);
    return why ? why : "another process could not prepare the call";
}

void offbeat_check(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call;
    const char *why = prepare_legal_call(session, command, &call);
    if (why) {
        offbeat_answer_failure(&session->answer, why);
        return;
    }
    int error = MPI_SUCCESS;
    int64_t wrong[2] = {0, 0}; /* wrong elements, and calls that returned an error */
    if (call) {
        offbeat_call_wipe(call);
        error = offbeat_call_run(call);
        wrong[0] = error == MPI_SUCCESS ? (int64_t)offbeat_call_check(call) : 0;
        wrong[1] = error != MPI_SUCCESS;
    }
    offbeat_p2p_allreduce(wrong, 2, OFFBEAT_SUM, session->control_comm);
    offbeat_error_text first;
    offbeat_session_gather_error(session, error, &first);
    if (wrong[0] || wrong[1])
        offbeat_command_comm_discard(session, command);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_number(answer, "wrong", wrong[0]);
    offbeat_answer_text(answer, "error", first.text);
    offbeat_answer_end(answer);
    offbeat_call_free(&call);
}

void offbeat_answer_bits(offbeat_session *session, const offbeat_command *command) {
    offbeat_layout layout;
    offbeat_call *call = offbeat_call_in_layout(session, command, &layout);
    if (!call)
        return;
    const char *why = offbeat_call_randomise(call);
    if (why) {
        offbeat_answer_failure(&session->answer, why);
        offbeat_call_free(&call);
        return;
    }
    int error = offbeat_call_run(call);
    int64_t digest = offbeat_call_digest(call);
    offbeat_error_text first;
    offbeat_session_gather_error(session, error, &first);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_gathered(session, "digests", &digest, 1);
    offbeat_answer_text(answer, "error", first.text);
    offbeat_answer_end(answer);
    offbeat_call_free(&call);
}

static int contains_name(const char *names, const char *name, size_t length) {
    for (const char *cursor = strstr(names, name); cursor; cursor = strstr(cursor + 1, name))
        if ((cursor == names || cursor[-1] == ' ') && (cursor[length] == ' ' || !cursor[length]))
            return 1;
    return 0;
}

/* Appends the names that the list does not contain yet: most algorithms run the same functions on all ranks.
 */
static void merge_names(int rank, const void *data, size_t bytes, void *context) {
    (void)rank;
    (void)bytes;
    name_list *list = context;
    char *copy = strdup(data), *strtok_state = NULL;
    for (char *name = copy ? strtok_r(copy, " ", &strtok_state) : NULL; name;
         name = strtok_r(NULL, " ", &strtok_state)) {
        size_t length = strlen(name), text_length = strlen(list->text);
        if (!contains_name(list->text, name, length) && text_length + length + 2 < sizeof list->text)
            snprintf(list->text + text_length, sizeof list->text - text_length, "%s%s",
                     text_length ? " " : "", name);
    }
    free(copy);
}

/** Where facts on the first communicator of a layout are written; the others do the same. */
typedef struct layout_output {
    FILE *stream;
    const offbeat_layout *layout;
} layout_output;

static void write_messages(int rank, const void *data, size_t bytes, void *context) {
    const offbeat_message *messages = data;
    const layout_output *output = context;
    if (!output->stream || offbeat_layout_communicator(output->layout, rank) != 0)
        return;
    for (size_t i = 0; i < bytes / sizeof *messages; i++)
        fprintf(output->stream, ",[%d,%d,%lld]", offbeat_layout_member(output->layout, rank),
                offbeat_layout_member(output->layout, messages[i].destination), (long long)messages[i].bytes);
}

static void write_message_list(offbeat_session *session, const offbeat_layout *layout, int count,
                               const offbeat_message *messages) {
    layout_output output = {offbeat_answer_key_of(&session->answer, "messages", OFFBEAT_ROWS), layout};
    if (output.stream)
        fputs("[null", output.stream);
    offbeat_p2p_gather(messages, (size_t)count * sizeof *messages, write_messages, &output,
                       session->control_comm);
    if (output.stream)
        fputc(']', output.stream);
}

void offbeat_observe(offbeat_session *session, const offbeat_command *command) {
    offbeat_layout layout;
    offbeat_call *call = offbeat_call_in_layout(session, command, &layout);
    if (!call)
        return;
    const offbeat_message *messages = NULL;
    static name_list functions;
    functions.text[0] = '\0';
    int sees_messages = offbeat_messages_available(session->control_comm);
    int64_t barrier = 0;
    offbeat_call_run(call); /* the first call sets up connections and trees */
    offbeat_p2p_allreduce(&barrier, 1, OFFBEAT_MAX, session->control_comm);
    int64_t has_breakpoints = offbeat_functions_begin() == 0;
    offbeat_messages_begin();
    offbeat_call_run(call);
    int count = offbeat_messages_end(&messages);
    const char *names = has_breakpoints ? offbeat_functions_end() : "";
    offbeat_p2p_gather(names, strlen(names) + 1, merge_names, &functions, session->control_comm);
    offbeat_p2p_reduce(&has_breakpoints, 1, OFFBEAT_MIN, session->control_comm);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_flag(answer, "sees_functions", has_breakpoints != 0);
    offbeat_answer_flag(answer, "sees_messages", sees_messages);
    offbeat_answer_text(answer, "functions", functions.text);
    write_message_list(session, &layout, count, messages);
    offbeat_answer_end(answer);
    offbeat_call_free(&call);
}

/* Calls the collective with a delay. @return when this process left the call, in ns after the deadline */
static int64_t exit_after_deadline(offbeat_session *session, offbeat_call *call, int64_t delay_ns) {
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    offbeat_call_run(call);
    return offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns(session->clock)) -
           start.deadline_ns;
}

/*
 * A delay that shows which processes wait for the delayed one: at least @p minimum_ns, and at least twice the
 * duration of an undelayed call. A process that leaves after 70% of it has waited.
 */
static int64_t sufficient_delay(offbeat_session *session, offbeat_call *call, int64_t minimum_ns) {
    int64_t undelayed_ns = exit_after_deadline(session, call, 0);
    offbeat_p2p_allreduce(&undelayed_ns, 1, OFFBEAT_MAX, session->control_comm);
    return 2 * undelayed_ns > minimum_ns ? 2 * undelayed_ns : minimum_ns;
}

static void write_late_rank(int rank, const void *is_late, size_t bytes, void *context) {
    (void)bytes;
    const layout_output *output = context;
    if (output->stream && *(const int64_t *)is_late && offbeat_layout_communicator(output->layout, rank) == 0)
        fprintf(output->stream, ",%d", offbeat_layout_member(output->layout, rank));
}

void offbeat_fingerprint(offbeat_session *session, const offbeat_command *command) {
    offbeat_layout layout;
    offbeat_call *call = offbeat_call_in_layout(session, command, &layout);
    if (!call)
        return;
    int64_t maximum = offbeat_command_number(command, "most");
    int step = layout.size > maximum ? (int)((layout.size + maximum - 1) / maximum) : 1;
    int member = offbeat_layout_member(&layout, session->rank);
    offbeat_call_run(call);
    int64_t delay_ns = sufficient_delay(session, call, offbeat_command_number(command, "delay_ns"));
    FILE *stream = offbeat_answer_key_of(offbeat_session_answer(session), "late", OFFBEAT_ROWS);
    layout_output output = {stream, &layout};
    if (stream)
        fputs("[null", stream);
    for (int delayed_member = 0; delayed_member < layout.size; delayed_member += step) {
        int64_t exit_ns = exit_after_deadline(session, call, member == delayed_member ? delay_ns : 0);
        int64_t is_late = exit_ns > delay_ns / 10 * 7;
        if (stream)
            fprintf(stream, ",[%d", delayed_member);
        offbeat_p2p_gather(&is_late, sizeof is_late, write_late_rank, &output, session->control_comm);
        if (stream)
            fputc(']', stream);
    }
    if (stream)
        fputc(']', stream);
    offbeat_answer_end(&session->answer);
    offbeat_call_free(&call);
}
