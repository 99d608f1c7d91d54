/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sync.c
 * What it costs to learn the shared clock: syncs by one method among the first processes of the launch.
 *
 * Schuchart, Hunold and Bosilca, EuroMPI 2023, section 6.4, figure 15. A sync counts from a harmonised start
 * until the last process has left it. Making the clock, which sets up connections, does not count.
 */
#include "benchmark/answer.h"
#include "benchmark/session.h"

#include "control/abandon.h"
#include "control/tree.h"

#include <stdlib.h>

/** What is known of each sync, combined over its processes. */
typedef struct syncs {
    int64_t repetitions;
    int64_t *taken_ns;  /**< from the start until the last process was done */
    int64_t *exchanges; /**< ping-pongs, of all processes together */
    int64_t *bound_ns;  /**< the largest bound right afterwards */
} syncs;

static syncs new_syncs(int64_t repetitions) {
    syncs all = {.repetitions = repetitions};
    all.taken_ns = calloc(3 * (size_t)repetitions, sizeof *all.taken_ns);
    if (!all.taken_ns)
        offbeat_abandon("no memory for what the syncs were like");
    all.exchanges = all.taken_ns + repetitions;
    all.bound_ns = all.exchanges + repetitions;
    return all;
}

/* A communicator of the first processes; MPI_COMM_NULL elsewhere. Point to point, as far as MPI allows. */
static MPI_Comm first_processes(const offbeat_session *session, int processes) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group all, first;
    int range[1][3] = {{0, processes - 1, 1}};
    MPI_Comm_group(session->control, &all);
    MPI_Group_range_incl(all, 1, range, &first);
    if (session->rank < processes && MPI_Comm_create_group(session->control, first, 0, &comm) != MPI_SUCCESS)
        offbeat_abandon("no communicator could be made for the processes of a sync");
    MPI_Group_free(&first);
    MPI_Group_free(&all);
    return comm;
}

/* One sync of those that have the clock; the others take part in the start alone. */
static void sync_once(offbeat_session *session, offbeat_clock *clock, syncs *all, int64_t i) {
    offbeat_start start;
    offbeat_session_start(session, 0, &start);
    if (!clock)
        return;
    if (offbeat_clock_sync(clock) != MPI_SUCCESS)
        offbeat_abandon("MPI could not pass on the messages of a sync");
    int64_t ended = offbeat_clock_local_ns(session->clock);
    offbeat_sync_facts facts = offbeat_clock_sync_facts(clock);
    all->taken_ns[i] = offbeat_clock_global_ns(session->clock, ended) - start.deadline_ns;
    all->exchanges[i] = facts.exchanges;
    all->bound_ns[i] = facts.bound_ns;
}

static void answer_syncs(offbeat_session *session, syncs *all, const offbeat_clock *clock) {
    int count = (int)all->repetitions;
    int64_t alone = clock && !offbeat_clock_is_shared(clock);
    offbeat_tree_reduce(all->taken_ns, count, OFFBEAT_MAX, session->control);
    offbeat_tree_reduce(all->exchanges, count, OFFBEAT_SUM, session->control);
    offbeat_tree_reduce(all->bound_ns, count, OFFBEAT_MAX, session->control);
    offbeat_tree_reduce(&alone, 1, OFFBEAT_MAX, session->control);
    offbeat_answer_begin(session);
    if (session->answers)
        fprintf(session->answers, ",\"shared\":%s", alone ? "false" : "true");
    offbeat_answer_list(session, ",\"taken_ns\":", all->taken_ns, (size_t)count);
    offbeat_answer_list(session, ",\"exchanges\":", all->exchanges, (size_t)count);
    offbeat_answer_list(session, ",\"bound_ns\":", all->bound_ns, (size_t)count);
    offbeat_answer_end(session);
}

/* @return 0, or -1 on all processes after answering why there is no such clock */
static int make_clock(offbeat_session *session, const offbeat_command *command, MPI_Comm comm,
                      offbeat_clock **clock) {
    offbeat_clock_options options = offbeat_clock_wishes(command);
    options.method = offbeat_command_text(command, "method", NULL);
    int64_t failed = 0;
    *clock = NULL;
    if (comm != MPI_COMM_NULL)
        failed = offbeat_clock_create_with(comm, &options, clock) != MPI_SUCCESS;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed)
        offbeat_answer_failure(session, offbeat_clock_error());
    return failed ? -1 : 0;
}

offbeat_clock_options offbeat_clock_wishes(const offbeat_command *command) {
    return (offbeat_clock_options){
        .source = offbeat_command_text(command, "source", NULL),
        .exchanges = (int)offbeat_command_number(command, "exchanges", 0),
    };
}

void offbeat_sync(offbeat_session *session, const offbeat_command *command) {
    int64_t processes = offbeat_command_number(command, "processes", session->p);
    if (processes > session->p) {
        offbeat_answer_failure(session, "processes must be at most those of this launch");
        return;
    }
    syncs all = new_syncs(offbeat_command_number(command, "repetitions", 1));
    MPI_Comm comm = first_processes(session, (int)processes);
    offbeat_clock *clock;
    if (make_clock(session, command, comm, &clock) == 0) {
        for (int64_t i = 0; i < all.repetitions; i++)
            sync_once(session, clock, &all, i);
        answer_syncs(session, &all, clock);
    }
    offbeat_clock_free(&clock);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    free(all.taken_ns);
}
