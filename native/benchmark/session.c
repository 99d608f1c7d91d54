/* SPDX-License-Identifier: BSD-3-Clause */
/** @file session.c  Requests, forcing, and the answers that need little else. */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "benchmark/subset.h"
#include "control/abandon.h"
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

offbeat_request offbeat_session_request(const offbeat_command *command, MPI_Comm comm) {
    return (offbeat_request){
        .collective = offbeat_command_text(command, "collective", ""),
        .bytes = (size_t)offbeat_command_number(command, "bytes", 0),
        .datatype = offbeat_command_text(command, "datatype", "double"),
        .op = offbeat_command_text(command, "op", "sum"),
        .root = (int)offbeat_command_number(command, "root", 0),
        .comm = comm,
    };
}

/* Whether this process can make the call; the reason is static storage. */
static int create_call(offbeat_session *session, const offbeat_command *command, offbeat_call **call,
                       const char **why) {
    offbeat_request request = offbeat_session_request(command, session->test);
    return offbeat_call_create(&request, call, why) == MPI_SUCCESS;
}

offbeat_call *offbeat_session_call(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = NULL;
    const char *why = "";
    int64_t failed = !create_call(session, command, &call, &why);
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed) {
        offbeat_answer_failure(session, *why ? why : "another process could not prepare the call");
        offbeat_call_free(&call);
    }
    return call;
}

void offbeat_session_start(offbeat_session *session, int64_t delay_ns, offbeat_start *start) {
    if (offbeat_harmonize(session->harmony, delay_ns, start) != MPI_SUCCESS)
        offbeat_abandon("MPI could not pass on the messages of a harmonised start");
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
    offbeat_subset_free(session);
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
    int64_t failed = offbeat_variables_reset() != 0;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
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
    char *list = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&list, &length);
    if (!out)
        offbeat_abandon("no memory for the list of variables");
    int listed = offbeat_variables_list(offbeat_command_text(command, "regex", "."), out);
    if (fclose(out) != 0 || listed < 0)
        offbeat_answer_failure(session, "regex is no extended regular expression, or its answer is too long");
    else
        fprintf(session->answers, "@offbeat {\"ok\":true,\"variables\":%s}\n", list);
    free(list);
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
    int64_t worst[3] = {0, offbeat_clock_bound_ns(session->clock, offbeat_clock_local_ns(session->clock)),
                        !offbeat_clock_is_shared(session->clock)};
    offbeat_start start;
    for (int i = 0; i < ROUNDS; i++) {
        offbeat_session_start(session, 0, &start);
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
        fprintf(out, ",\"clock_source\":\"%s\"", offbeat_clock_source(session->clock));
        fprintf(out, ",\"clock_resolution_ns\":%lld", (long long)offbeat_clock_resolution_ns(session->clock));
        fprintf(out, ",\"clock_shared\":%s", worst[2] ? "false" : "true");
        fprintf(out, ",\"clock_bound_ns\":%lld", (long long)worst[1]);
        fprintf(out, ",\"overshoot_ns\":%lld", (long long)worst[0]);
        fprintf(out, ",\"switches\":%s", offbeat_family_switches_while_running() ? "true" : "false");
        fputs(",\"places\":[", out);
    }
    offbeat_gather(place, strlen(place) + 1, write_place, out, session->control);
    if (out)
        fputs("]}\n", out);
}
