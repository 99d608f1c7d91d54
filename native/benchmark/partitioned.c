/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partitioned.c
 * Measuring a message whose partitions become ready one after the other: from rank 0 to rank 1.
 *
 * Gillis and others, "Quantifying the Performance Benefits of Partitioned Communication in MPI" (ICPP 2023),
 * figure 3, with planned ready times in place of computation: both processes start harmonised; the sender's
 * threads mark each partition as ready at the deadline plus its delay; both processes wait for completion.
 */
#include "benchmark/session.h"

#include "approaches/approaches.h"
#include "benchmark/partition_data.h"
#include "benchmark/partition_threads.h"
#include "benchmark/samples.h"
#include "control/p2p_collectives.h"

#include <limits.h>
#include <stdlib.h>

enum { SENDER = 0, RECEIVER = 1, PROCESSES = 2 };

typedef struct partitioned_send {
    offbeat_message message;
    offbeat_transfer *transfer;
    offbeat_partition_threads *team; /* of the sender */
    int64_t *lateness_ns;            /* of the sender's partitions */
    int64_t *delays_ns;
    int64_t repetition, wrong_bytes;
} partitioned_send;

/* Both processes return the same sentence. @return NULL, or what is wrong */
static const char *refusal(const offbeat_session *session, const offbeat_command *command) {
    int64_t bytes = offbeat_command_number(command, "bytes");
    int64_t partitions = offbeat_command_number(command, "partitions");
    int64_t threads = offbeat_command_number(command, "threads");
    int level;
    MPI_Query_thread(&level);
    if (session->p != PROCESSES)
        return "a partitioned send needs a launch of 2 processes";
    if (!offbeat_approach_find(offbeat_command_text(command, "approach")))
        return "this MPI library has no such approach; the verb approaches lists those that it has";
    if (bytes % partitions != 0)
        return "bytes must be a multiple of partitions";
    if (threads > partitions)
        return "threads must not exceed partitions";
    if (threads > 1 && level != MPI_THREAD_MULTIPLE)
        return "several threads need MPI_THREAD_MULTIPLE: start the driver with --threads";
    return NULL;
}

static void read_message(const offbeat_session *session, const offbeat_command *command,
                         partitioned_send *send) {
    int partitions = (int)offbeat_command_number(command, "partitions");
    int64_t bytes = offbeat_command_number(command, "bytes");
    send->message = (offbeat_message){
        .comm = session->test_comm,
        .data = calloc((size_t)bytes + 1, 1),
        .partitions = partitions,
        .partition_bytes = (int)(bytes / partitions),
        .threads = (int)offbeat_command_number(command, "threads"),
    };
    send->lateness_ns = calloc((size_t)partitions, sizeof *send->lateness_ns);
    send->delays_ns = calloc((size_t)partitions, sizeof *send->delays_ns);
    if (!send->message.data || !send->lateness_ns || !send->delays_ns)
        offbeat_fatal("no memory for a partitioned message");
    for (int i = 0; i < partitions; i++)
        send->delays_ns[i] = offbeat_command_list_item(command, "delays", i);
}

/* Collective. @return 0, or -1 on both processes after answering with the error */
static int open_transfer(offbeat_session *session, const offbeat_command *command, partitioned_send *send) {
    const offbeat_approach *approach = offbeat_approach_find(offbeat_command_text(command, "approach"));
    int64_t has_failed = offbeat_transfer_open(approach, &send->message, &send->transfer) != MPI_SUCCESS;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed) {
        offbeat_answer_failure(&session->answer,
                               "the library returned an error when the transfer was prepared");
        return -1;
    }
    if (session->rank == SENDER)
        send->team =
            offbeat_partition_threads_create(send->transfer, &send->message, session->clock, send->delays_ns);
    return 0;
}

static int64_t since_deadline(const offbeat_session *session, const offbeat_start *start, int64_t local_ns) {
    return offbeat_clock_global_ns(session->clock, local_ns) - start->deadline_ns;
}

/* A partition arrives at its planned time plus its thread's lateness: what the approach's functions took
 * before is a part of d̂. The receiver, which has no partition to wait for, arrives when it started. */
static void write_samples(const offbeat_session *session, const partitioned_send *send,
                          const offbeat_start *start, int64_t entry_ns, int64_t exit_ns,
                          offbeat_sample *samples) {
    int64_t entry = since_deadline(session, start, entry_ns);
    for (int i = 0; i < send->message.partitions; i++) {
        int is_sender = session->rank == SENDER;
        samples[i] = (offbeat_sample){
            .arrival = is_sender ? send->delays_ns[i] + send->lateness_ns[i] : entry,
            .exit = since_deadline(session, start, exit_ns),
            .overshoot = is_sender ? send->lateness_ns[i] : entry,
            .bound = start->bound_ns,
        };
    }
}

/* If a process failed alone, the other one would wait for ever. */
static void require(int status, const char *why) {
    if (status != MPI_SUCCESS)
        offbeat_fatal(why);
}

static int repeat_send(offbeat_session *session, void *state, int64_t call, offbeat_sample *samples) {
    (void)call; /* there are no sequences of partitioned sends */
    partitioned_send *send = state;
    send->repetition++;
    int is_sender = session->rank == SENDER;
    if (is_sender)
        offbeat_partition_threads_fill(send->team, send->repetition);
    offbeat_start start;
    offbeat_session_start(session, 0, &start);
    int64_t entry_ns = offbeat_clock_local_ns(session->clock);
    require(offbeat_transfer_start(send->transfer), "an MPI error when a partitioned send was started");
    if (is_sender)
        offbeat_partition_threads_run(send->team, start.deadline_ns, send->lateness_ns);
    require(offbeat_transfer_wait(send->transfer), "an MPI error when a partitioned send was completed");
    int64_t exit_ns = offbeat_clock_local_ns(session->clock);
    write_samples(session, send, &start, entry_ns, exit_ns, samples);
    if (!is_sender)
        send->wrong_bytes +=
            offbeat_partition_data_wrong(send->message.data, send->repetition,
                                         (int64_t)send->message.partitions * send->message.partition_bytes);
    return 0;
}

static void measure_send(offbeat_session *session, const offbeat_command *command, partitioned_send *send) {
    offbeat_operation operation = {
        .state = send,
        .repeat = repeat_send,
        .partitions = send->message.partitions,
        .failure_answer = "the partitioned send returned an error while it was measured",
    };
    offbeat_answer *answer = offbeat_measure_repeatedly(session, command, &operation);
    offbeat_p2p_reduce(&send->wrong_bytes, 1, OFFBEAT_SUM, session->control_comm);
    if (!answer)
        return;
    offbeat_answer_number(answer, "wrong", send->wrong_bytes);
    offbeat_answer_end(answer);
}

void offbeat_partitioned(offbeat_session *session, const offbeat_command *command) {
    const char *why = refusal(session, command);
    if (why) {
        offbeat_answer_failure(&session->answer, why);
        return;
    }
    partitioned_send send = {0};
    offbeat_partition_data_create();
    read_message(session, command, &send);
    if (open_transfer(session, command, &send) == 0) {
        measure_send(session, command, &send);
        if (send.team)
            offbeat_partition_threads_free(send.team);
    }
    if (send.transfer)
        offbeat_transfer_close(&send.transfer);
    free(send.message.data);
    free(send.lateness_ns);
    free(send.delays_ns);
}

void offbeat_list_approaches(offbeat_session *session, const offbeat_command *command) {
    (void)command;
    const char *names[16];
    size_t count = 0;
    while (offbeat_approaches[count]) {
        names[count] = offbeat_approaches[count]->name;
        count++;
    }
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_texts(answer, "approaches", names, count);
    offbeat_answer_end(answer);
}
