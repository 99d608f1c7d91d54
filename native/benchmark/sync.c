/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sync.c
 * The cost of synchronising the shared clock: with one method, among the first processes of the launch.
 *
 * Schuchart, Hunold and Bosilca, EuroMPI 2023, section 6.4, figure 15. A synchronisation lasts from a
 * harmonised start until the last process has left it. Creating the clock, which sets up connections, is not
 * included.
 */
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>

/** The result of each synchronisation, combined over its processes. */
typedef struct sync_results {
    int64_t repetitions;
    int64_t *taken_ns;  /**< from the start until the last process left */
    int64_t *exchanges; /**< ping-pongs of all processes */
    int64_t *bound_ns;  /**< the largest error bound immediately afterwards */
} sync_results;

static sync_results new_results(int64_t repetitions) {
    sync_results results = {.repetitions = repetitions};
    results.taken_ns = calloc(3 * (size_t)repetitions, sizeof *results.taken_ns);
    if (!results.taken_ns)
        offbeat_fatal("no memory for the results of the synchronisations");
    results.exchanges = results.taken_ns + repetitions;
    results.bound_ns = results.exchanges + repetitions;
    return results;
}

/* A communicator of the first processes, created without a collective of the library; MPI_COMM_NULL
 * elsewhere. */
static MPI_Comm first_processes(const offbeat_session *session, int processes) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group world_group, first;
    int range[1][3] = {{0, processes - 1, 1}};
    MPI_Comm_group(session->control_comm, &world_group);
    MPI_Group_range_incl(world_group, 1, range, &first);
    if (session->rank < processes &&
        MPI_Comm_create_group(session->control_comm, first, 0, &comm) != MPI_SUCCESS)
        offbeat_fatal("the communicator of a synchronisation could not be created");
    MPI_Group_free(&first);
    MPI_Group_free(&world_group);
    return comm;
}

/* Runs one synchronisation. Processes without the clock take part in the start only. */
static void run_sync(offbeat_session *session, offbeat_clock *clock, sync_results *results, int64_t i) {
    offbeat_start start;
    offbeat_session_start(session, 0, &start);
    if (!clock)
        return;
    if (offbeat_clock_sync(clock) != MPI_SUCCESS)
        offbeat_fatal("an MPI error in a synchronisation");
    int64_t exit_ns = offbeat_clock_local_ns(session->clock);
    offbeat_sync_facts facts = offbeat_clock_sync_facts(clock);
    results->taken_ns[i] = offbeat_clock_global_ns(session->clock, exit_ns) - start.deadline_ns;
    results->exchanges[i] = facts.exchanges;
    results->bound_ns[i] = facts.bound_ns;
}

static void answer_syncs(offbeat_session *session, sync_results *results, const offbeat_clock *clock) {
    int count = (int)results->repetitions;
    int64_t is_unshared = clock && !offbeat_clock_is_shared(clock);
    offbeat_p2p_reduce(results->taken_ns, count, OFFBEAT_MAX, session->control_comm);
    offbeat_p2p_reduce(results->exchanges, count, OFFBEAT_SUM, session->control_comm);
    offbeat_p2p_reduce(results->bound_ns, count, OFFBEAT_MAX, session->control_comm);
    offbeat_p2p_reduce(&is_unshared, 1, OFFBEAT_MAX, session->control_comm);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_flag(answer, "shared", !is_unshared);
    offbeat_answer_numbers(answer, "taken_ns", results->taken_ns, (size_t)count);
    offbeat_answer_numbers(answer, "exchanges", results->exchanges, (size_t)count);
    offbeat_answer_numbers(answer, "bound_ns", results->bound_ns, (size_t)count);
    offbeat_answer_end(answer);
}

/* @return 0, or -1 on all processes after answering with the error */
static int create_clock(offbeat_session *session, const offbeat_command *command, MPI_Comm comm,
                        offbeat_clock **clock) {
    offbeat_clock_options options = offbeat_session_clock_options(command);
    options.method = offbeat_command_text(command, "method");
    int64_t has_failed = 0;
    *clock = NULL;
    if (comm != MPI_COMM_NULL)
        has_failed = offbeat_clock_create_with(comm, &options, clock) != MPI_SUCCESS;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed)
        offbeat_answer_failure(&session->answer, offbeat_clock_error());
    return has_failed ? -1 : 0;
}

void offbeat_sync(offbeat_session *session, const offbeat_command *command) {
    int64_t processes = offbeat_command_number_or(command, "processes", session->p);
    if (processes > session->p) {
        offbeat_answer_failure(&session->answer,
                               "processes must not exceed the number of processes of the launch");
        return;
    }
    sync_results results = new_results(offbeat_command_number(command, "repetitions"));
    MPI_Comm comm = first_processes(session, (int)processes);
    offbeat_clock *clock;
    if (create_clock(session, command, comm, &clock) == 0) {
        for (int64_t i = 0; i < results.repetitions; i++)
            run_sync(session, clock, &results, i);
        answer_syncs(session, &results, clock);
    }
    offbeat_clock_free(&clock);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    free(results.taken_ns);
}
