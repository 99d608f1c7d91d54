/* SPDX-License-Identifier: BSD-3-Clause */
/** @file work_time.c  Times work that several processes do together: the memory bandwidth of a domain. */
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>

/* @return whether this process is in the list "ranks"; -1 if the list names a rank that does not exist */
static int takes_part(const offbeat_session *session, const offbeat_command *command) {
    int is_listed = 0;
    for (int i = 0; i < offbeat_command_list_length(command, "ranks"); i++) {
        const int64_t rank = offbeat_command_list_item(command, "ranks", i);
        if (rank >= session->p)
            return -1;
        is_listed |= rank == session->rank;
    }
    return is_listed;
}

int offbeat_session_prepare_work(offbeat_session *session, int works) {
    if (works && !session->work)
        session->work = offbeat_work_create(offbeat_work_default_bytes());
    int64_t has_failed = works && !session->work;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed)
        offbeat_answer_failure(&session->answer, "no memory for the arrays of work");
    return has_failed ? -1 : 0;
}

/* @return on rank 0 the time until the last process has done its work */
static int64_t work_once(offbeat_session *session, int works, int64_t memory_bytes, int64_t flops) {
    offbeat_start start;
    offbeat_session_start(session, 0, &start);
    if (works)
        offbeat_work_run(session->work, memory_bytes, flops);
    const int64_t ended_ns = offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns(session->clock));
    int64_t taken_ns = works ? ended_ns - start.deadline_ns : 0;
    offbeat_p2p_reduce(&taken_ns, 1, OFFBEAT_MAX, session->control_comm);
    return taken_ns;
}

void offbeat_time_work(offbeat_session *session, const offbeat_command *command) {
    const int works = takes_part(session, command);
    const int64_t memory_bytes = offbeat_command_number(command, "memory");
    const int64_t flops = offbeat_command_number(command, "flops");
    const int64_t repetitions = offbeat_command_number(command, "repetitions");
    const int64_t warmups = offbeat_command_number(command, "warmups");
    if (works < 0) {
        offbeat_answer_failure(&session->answer, "ranks must be ranks of this launch");
        return;
    }
    if (offbeat_session_prepare_work(session, works) != 0)
        return;
    int64_t *taken_ns = calloc((size_t)repetitions, sizeof *taken_ns);
    if (!taken_ns)
        offbeat_fatal("no memory for the times of work");
    for (int64_t i = -warmups; i < repetitions; i++) {
        const int64_t duration_ns = work_once(session, works, memory_bytes, flops);
        if (i >= 0)
            taken_ns[i] = duration_ns;
    }
    offbeat_session_answer(session);
    offbeat_answer_gathered(session, "taken_ns", taken_ns, session->rank == 0 ? (size_t)repetitions : 0);
    offbeat_answer_end(&session->answer);
    free(taken_ns);
}
