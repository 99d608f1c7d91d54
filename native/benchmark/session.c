/* SPDX-License-Identifier: BSD-3-Clause */
/** @file session.c  Requests, forcing, and the answers that need little else. */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/json.h"
#include "control/tree.h"
#include "library/family.h"
#include "library/variables.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void offbeat_answer_failure(offbeat_session *session, const char *why) {
    if (!session->answers)
        return;
    fputs("@offbeat {\"ok\":false,\"why\":", session->answers);
    offbeat_json_text(why, session->answers);
    fputs("}\n", session->answers);
    fflush(session->answers);
}

int offbeat_session_request(offbeat_session *session, const offbeat_command *command,
                            offbeat_request *request) {
    int64_t bytes = offbeat_command_number(command, "bytes", 0);
    *request = (offbeat_request){
        .collective = offbeat_command_text(command, "collective", ""),
        .bytes = bytes > 0 ? (size_t)bytes : 0,
        .datatype = offbeat_command_text(command, "datatype", "double"),
        .op = offbeat_command_text(command, "op", "sum"),
        .root = (int)offbeat_command_number(command, "root", 0),
        .comm = session->test,
    };
    if (bytes >= 0 && request->root >= 0 && request->root < session->p)
        return 0;
    offbeat_answer_failure(session, "negative size, or a root that is no rank");
    return -1;
}

/* Sets one variable everywhere; the first process that fails says why. */
static int force_one(offbeat_session *session, char *word, const char **why) {
    char *value = strchr(word, '=');
    if (!value)
        return *why = "a setting without '='", -1;
    *value++ = '\0';
    int64_t failed = offbeat_variable_set(word, value, why) != 0;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed && !*why)
        *why = "another process could not set the variable";
    return failed ? -1 : 0;
}

static void renew_test(offbeat_session *session) {
    MPI_Comm_free(&session->test);
    MPI_Comm_dup(MPI_COMM_WORLD, &session->test);
    MPI_Comm_set_errhandler(session->test, MPI_ERRORS_RETURN);
}

/*
 * Where a variable acts at once, it acts on MPI_Comm_dup's own messages too: nothing must be forced then.
 * Where it acts on new communicators alone, the communicator comes last.
 */
void offbeat_force(offbeat_session *session, const offbeat_command *command) {
    const char *why = NULL;
    int failed = offbeat_variables_reset();
    if (failed)
        why = "a variable that was set before did not take its first value again";
    for (int i = 0; i < command->count && !failed; i++)
        failed = force_one(session, command->words[i], &why);
    if (offbeat_family_needs_new_communicator())
        renew_test(session);
    if (failed)
        offbeat_answer_failure(session, why);
    else if (session->answers)
        fputs("@offbeat {\"ok\":true}\n", session->answers);
}

void offbeat_list_variables(offbeat_session *session, const offbeat_command *command) {
    if (!session->answers)
        return;
    fputs("@offbeat {\"ok\":true,\"variables\":", session->answers);
    if (offbeat_variables_list(offbeat_command_text(command, "regex", "."), session->answers) < 0)
        fputs("[]", session->answers);
    fputs("}\n", session->answers);
}

static void write_place(int rank, const void *data, size_t bytes, void *to) {
    (void)bytes;
    if (rank)
        fputc(',', to);
    offbeat_json_text(data, to);
}

/* "host core,core": where a process may run. */
static void describe_place(char *text, size_t room) {
    char host[256] = "";
    cpu_set_t cores;
    gethostname(host, sizeof host - 1);
    int used = snprintf(text, room, "%s", host);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    for (int core = 0, first = 1; core < CPU_SETSIZE && used + 16 < (int)room; core++)
        if (CPU_ISSET(core, &cores)) {
            used += snprintf(text + used, room - (size_t)used, "%c%d", first ? ' ' : ',', core);
            first = 0;
        }
}

static void write_library(FILE *out) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    offbeat_json_text(version, out);
}

void offbeat_hello(offbeat_session *session) {
    enum { ROUNDS = 20 };
    int64_t worst[3] = {0, offbeat_clock_bound_ns(session->clock, offbeat_clock_local_ns()),
                        !offbeat_clock_is_shared(session->clock)};
    offbeat_start start;
    for (int i = 0; i < ROUNDS; i++) {
        offbeat_harmonize(session->harmony, 0, &start);
        int64_t margin = start.margin_ns;
        offbeat_tree_reduce(&margin, 1, OFFBEAT_MIN, session->control);
        offbeat_harmony_adapt(session->harmony, margin);
        worst[0] = start.overshoot_ns > worst[0] ? start.overshoot_ns : worst[0];
    }
    offbeat_tree_reduce(worst, 3, OFFBEAT_MAX, session->control);
    char place[4096];
    describe_place(place, sizeof place);
    FILE *out = session->answers;
    if (out) {
        fprintf(out, "@offbeat {\"ok\":true,\"p\":%d,\"family\":\"%s\",\"library\":", session->p,
                offbeat_family_name());
        write_library(out);
        fprintf(out,
                ",\"clock_source\":\"%s\",\"clock_resolution_ns\":%lld,\"clock_shared\":%s,\"clock_bound_"
                "ns\":%lld,"
                "\"overshoot_ns\":%lld,\"switches\":%s,\"places\":[",
                offbeat_clock_source(), (long long)offbeat_clock_resolution_ns(), worst[2] ? "false" : "true",
                (long long)worst[1], (long long)worst[0],
                offbeat_family_switches_while_running() ? "true" : "false");
    }
    offbeat_gather(place, strlen(place) + 1, write_place, out, session->control);
    if (out)
        fputs("]}\n", out);
}
