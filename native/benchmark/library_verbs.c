/* SPDX-License-Identifier: BSD-3-Clause */
/** @file library_verbs.c  The commands on the library itself: hello, variables and force. */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/p2p_collectives.h"
#include "library/mpi_implementation.h"
#include "library/variables.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sets one variable on all processes. @param setting VAR=VALUE */
static int set_variable(offbeat_session *session, char *setting, const char **why) {
    char *value = strchr(setting, '=');
    *value++ = '\0';
    int64_t has_failed = offbeat_variable_set(setting, value, why) != 0;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed && !*why)
        *why = "another process could not set the variable";
    return has_failed ? -1 : 0;
}

/*
 * The communicators are re-created last, and only where variables act on new communicators alone. Elsewhere
 * variables act at once, also on the messages of MPI_Comm_dup.
 */
void offbeat_force(offbeat_session *session, const offbeat_command *command) {
    const char *why = NULL;
    int64_t has_failed = offbeat_variables_reset() != 0;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed)
        why = "the initial value of a variable could not be restored";
    for (int i = 0; i < command->count && !has_failed; i++)
        has_failed = set_variable(session, command->arguments[i], &why);
    if (offbeat_mpi.needs_new_communicator)
        offbeat_session_renew_comms(session);
    if (has_failed)
        offbeat_answer_failure(&session->answer, why);
    else
        offbeat_answer_end(offbeat_session_answer(session));
}

void offbeat_list_variables(offbeat_session *session, const offbeat_command *command) {
    if (!session->answer.stream)
        return;
    char *list = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&list, &length);
    if (!stream)
        offbeat_fatal("no memory for the list of variables");
    int count = offbeat_variables_list(offbeat_command_text(command, "regex"), stream);
    if (fclose(stream) != 0 || count < 0) {
        offbeat_answer_failure(&session->answer,
                               "regex is not an extended regular expression, or the answer is too long");
    } else {
        fputs(list, offbeat_answer_key_of(offbeat_session_answer(session), "variables", OFFBEAT_VARIABLES));
        offbeat_answer_end(&session->answer);
    }
    free(list);
}

static void write_place(int rank, const void *data, size_t bytes, void *context) {
    (void)bytes;
    if (rank)
        fputc(',', context);
    offbeat_json_text(data, context);
}

/* "host core,core": the host and the cores to which this process is bound. */
static void describe_place(char *text, size_t capacity) {
    char host[256] = "";
    cpu_set_t cores;
    gethostname(host, sizeof host - 1);
    int length = snprintf(text, capacity, "%s", host);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    for (int core = 0, is_first = 1; core < CPU_SETSIZE && length + 16 < (int)capacity; core++)
        if (CPU_ISSET(core, &cores)) {
            length += snprintf(text + length, capacity - (size_t)length, "%c%d", is_first ? ' ' : ',', core);
            is_first = 0;
        }
}

void offbeat_hello(offbeat_session *session, const offbeat_command *command) {
    enum { STARTS = 20 };
    (void)command;
    int64_t worst[3] = {0, offbeat_clock_bound_ns(session->clock, offbeat_clock_local_ns(session->clock)),
                        !offbeat_clock_is_shared(session->clock)};
    offbeat_start start;
    for (int i = 0; i < STARTS; i++) {
        offbeat_session_start(session, 0, &start);
        worst[0] = start.overshoot_ns > worst[0] ? start.overshoot_ns : worst[0];
    }
    offbeat_p2p_reduce(worst, 3, OFFBEAT_MAX, session->control_comm);
    char location[4096], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    describe_place(location, sizeof location);
    MPI_Get_library_version(library, &length);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_number(answer, "protocol", OFFBEAT_PROTOCOL_VERSION);
    offbeat_answer_number(answer, "p", session->p);
    offbeat_answer_text(answer, "family", offbeat_mpi.name);
    offbeat_answer_text(answer, "library", library);
    offbeat_answer_text(answer, "clock_source", offbeat_clock_source(session->clock));
    offbeat_answer_number(answer, "clock_resolution_ns", offbeat_clock_resolution_ns(session->clock));
    offbeat_answer_flag(answer, "clock_shared", !worst[2]);
    offbeat_answer_number(answer, "clock_bound_ns", worst[1]);
    offbeat_answer_number(answer, "overshoot_ns", worst[0]);
    offbeat_answer_flag(answer, "switches", offbeat_mpi.switches_at_run_time);
    const int64_t domain = offbeat_work_domain();
    FILE *stream = offbeat_answer_key_of(answer, "places", OFFBEAT_TEXTS);
    if (stream)
        fputc('[', stream);
    offbeat_p2p_gather(location, strlen(location) + 1, write_place, stream, session->control_comm);
    if (stream)
        fputc(']', stream);
    offbeat_answer_gathered(session, "domains", &domain, 1);
    offbeat_answer_end(answer);
}
