/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file transfer.c
 * The costs of messages between two processes and of local work: the parameters of a platform file.
 *
 * Messages are sent on the control communicator, on which errors are fatal. Processes that have no part in a
 * measurement proceed to the next command, where they wait without occupying a core; all take part in
 * harmonised starts.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 4096 };

/** One measurement on this process. */
typedef struct transfer {
    int sender, receiver;
    int bytes;
    int64_t messages, repetitions, warmups;
    int64_t delay_ns;                            /**< of the receiver, in late */
    int is_reduction;                            /**< in local */
    int is_cold;                                 /**< in pingpong and stream: messages are in no cache */
    MPI_Request *requests;                       /**< in stream */
    unsigned char *send_buffer, *receive_buffer; /**< buffers of bytes * messages */
    int64_t *taken_ns;                           /**< one per repetition */
} transfer;

/* Allocates memory and writes it once, so that no page fault occurs in a measurement. @return NULL without
 * memory, also if the machine has less physical memory, as the system may overcommit */
static unsigned char *allocate_touched(size_t bytes) {
    void *memory = NULL;
    if (bytes / (size_t)sysconf(_SC_PAGESIZE) >= (size_t)sysconf(_SC_PHYS_PAGES))
        return NULL;
    if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1) != 0)
        return NULL;
    memset(memory, 1, bytes);
    return memory;
}

static void free_transfer(transfer *t) {
    free(t->send_buffer);
    free(t->receive_buffer);
    free(t->taken_ns);
    free(t->requests);
    *t = (transfer){0};
}

/* Reads the common keys of all measurements and allocates the buffers. Collective.
 * @return 0, or -1 on all processes after answering with the error */
static int prepare(offbeat_session *session, const offbeat_command *command, transfer *t) {
    *t = (transfer){
        .bytes = (int)offbeat_command_number(command, "bytes"),
        .messages = offbeat_command_number(command, "messages"),
        .repetitions = offbeat_command_number(command, "repetitions"),
        .warmups = offbeat_command_number(command, "warmups"),
    };
    t->receive_buffer = allocate_touched((size_t)t->bytes * (size_t)t->messages);
    t->send_buffer = t->receive_buffer ? allocate_touched((size_t)t->bytes * (size_t)t->messages) : NULL;
    t->taken_ns = calloc((size_t)t->repetitions, sizeof *t->taken_ns);
    int64_t has_failed = !t->send_buffer || !t->receive_buffer || !t->taken_ns;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed) {
        free_transfer(t);
        offbeat_answer_failure(&session->answer, "no memory for the messages");
        return -1;
    }
    return 0;
}

/* @return 0, or -1 on all processes after answering with the error */
static int prepare_pair(offbeat_session *session, const offbeat_command *command, transfer *t) {
    int64_t sender = offbeat_command_number(command, "from");
    int64_t receiver = offbeat_command_number(command, "to");
    if (sender == receiver || sender >= session->p || receiver >= session->p) {
        offbeat_answer_failure(&session->answer, "from and to must be two different ranks of this launch");
        return -1;
    }
    if (prepare(session, command, t) != 0)
        return -1;
    t->sender = (int)sender;
    t->receiver = (int)receiver;
    return 0;
}

/* Runs warm-ups and repetitions on the processes that take part. @param run returns what a repetition took */
static void repeat(offbeat_session *session, transfer *t, int takes_part,
                   int64_t (*run)(offbeat_session *session, const transfer *t)) {
    for (int64_t i = -t->warmups; takes_part && i < t->repetitions; i++) {
        int64_t taken_ns = run(session, t);
        if (i >= 0)
            t->taken_ns[i] = taken_ns;
    }
}

/* Answers the list of one process's times. Collective. */
static void answer_times(offbeat_session *session, const transfer *t, int owner, const char *key) {
    offbeat_answer_gathered(session, key, t->taken_ns, session->rank == owner ? (size_t)t->repetitions : 0);
}

/* Answers the times of one process, and frees the transfer. Collective. */
static void answer_transfer(offbeat_session *session, transfer *t, int owner) {
    offbeat_session_answer(session);
    answer_times(session, t, owner, "taken_ns");
    offbeat_answer_end(&session->answer);
    free_transfer(t);
}

static void send_to(const transfer *t, int receiver, MPI_Comm comm) {
    MPI_Send(t->send_buffer, t->bytes, MPI_BYTE, receiver, OFFBEAT_TAG_TRANSFER, comm);
}

static void receive_from(const transfer *t, int sender, MPI_Comm comm) {
    MPI_Recv(t->receive_buffer, t->bytes, MPI_BYTE, sender, OFFBEAT_TAG_TRANSFER, comm, MPI_STATUS_IGNORE);
}

/* Reads what was received and writes what is sent next, as programs do: data that was just written is in the
 * caches of its writer alone, and a library that copies it takes longer than for a buffer that never changes.
 */
static void use_buffers(offbeat_session *session, const transfer *t) {
    unsigned char sum = 1;
    for (int64_t i = 0; i < t->bytes; i++)
        sum = (unsigned char)(sum + t->receive_buffer[i]);
    memset(t->send_buffer, sum, (size_t)t->bytes);
    if (t->is_cold)
        offbeat_work_evict(session->work);
}

/* Runs the round trips of a repetition, each when both processes are ready for it. @return on the process
 * that begins them the sum of their durations */
static int64_t round_trips(offbeat_session *session, const transfer *t) {
    MPI_Comm comm = session->control_comm;
    int64_t taken_ns = 0;
    for (int64_t i = 0; i < t->messages; i++) {
        use_buffers(session, t);
        if (session->rank == t->sender) {
            MPI_Recv(NULL, 0, MPI_BYTE, t->receiver, OFFBEAT_TAG_TRANSFER, comm, MPI_STATUS_IGNORE);
            int64_t start_ns = offbeat_clock_local_ns(session->clock);
            send_to(t, t->receiver, comm);
            receive_from(t, t->receiver, comm);
            taken_ns += offbeat_clock_local_ns(session->clock) - start_ns;
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, t->sender, OFFBEAT_TAG_TRANSFER, comm);
            receive_from(t, t->sender, comm);
            send_to(t, t->sender, comm);
        }
    }
    return taken_ns;
}

void offbeat_pingpong(offbeat_session *session, const offbeat_command *command) {
    const int is_cold = offbeat_command_number(command, "cold") != 0;
    const int takes_part = session->rank == (int)offbeat_command_number(command, "from") ||
                           session->rank == (int)offbeat_command_number(command, "to");
    transfer t;
    if (is_cold && offbeat_session_prepare_work(session, takes_part) != 0)
        return;
    if (prepare_pair(session, command, &t) != 0)
        return;
    t.is_cold = is_cold;
    repeat(session, &t, takes_part, round_trips);
    answer_transfer(session, &t, t.sender);
}

/* Sends one message whose receive is posted later than the send. @return the duration of this process's call
 */
static int64_t send_to_late_receiver(offbeat_session *session, const transfer *t) {
    offbeat_start start;
    use_buffers(session, t);
    offbeat_session_start(session, session->rank == t->receiver ? t->delay_ns : 0, &start);
    int64_t start_ns = offbeat_clock_local_ns(session->clock);
    if (session->rank == t->sender)
        send_to(t, t->receiver, session->control_comm);
    else if (session->rank == t->receiver)
        receive_from(t, t->sender, session->control_comm);
    return offbeat_clock_local_ns(session->clock) - start_ns;
}

void offbeat_late(offbeat_session *session, const offbeat_command *command) {
    transfer t;
    if (prepare_pair(session, command, &t) != 0)
        return;
    t.delay_ns = offbeat_command_number(command, "delay_ns");
    repeat(session, &t, 1, send_to_late_receiver);
    offbeat_session_answer(session);
    answer_times(session, &t, t.sender, "send_ns");
    answer_times(session, &t, t.receiver, "receive_ns");
    offbeat_answer_end(&session->answer);
    free_transfer(&t);
}

/* Finds the ranks that this process sends to and receives from, -1 for none.
 * @return 0, or -1 if the lists are invalid: a rank occurs twice in one of them, or does not exist */
static int find_flow(const offbeat_session *session, const offbeat_command *command, transfer *t) {
    int flows = offbeat_command_list_length(command, "senders");
    *t = (transfer){.sender = -1, .receiver = -1};
    enum { SENDS = 1, RECEIVES = 2 };
    char *roles = calloc((size_t)session->p, 1);
    if (!roles)
        offbeat_fatal("no memory for the flows of a stream");
    int has_failed = flows == 0 || flows != offbeat_command_list_length(command, "receivers");
    for (int i = 0; i < flows && !has_failed; i++) {
        int64_t sender = offbeat_command_list_item(command, "senders", i);
        int64_t receiver = offbeat_command_list_item(command, "receivers", i);
        has_failed = sender >= session->p || receiver >= session->p || sender == receiver ||
                     (roles[sender] & SENDS) || (roles[receiver] & RECEIVES);
        if (has_failed)
            break;
        roles[sender] |= SENDS;
        roles[receiver] |= RECEIVES;
        if (session->rank == sender)
            t->receiver = (int)receiver;
        if (session->rank == receiver)
            t->sender = (int)sender;
    }
    free(roles);
    return has_failed ? -1 : 0;
}

/* Posts all receives, then after the start all sends, and waits for them. @return on rank 0 the time until
 * the last message of any flow was complete */
static int64_t run_stream(offbeat_session *session, const transfer *t) {
    const int messages = (int)t->messages;
    int count = 0;
    offbeat_start start;
    for (int i = 0; t->sender >= 0 && i < messages; i++)
        MPI_Irecv(t->receive_buffer + (size_t)i * (size_t)t->bytes, t->bytes, MPI_BYTE, t->sender,
                  OFFBEAT_TAG_TRANSFER, session->control_comm, &t->requests[count++]);
    memset(t->send_buffer, 2,
           (size_t)t->bytes * (size_t)t->messages); /* as a program that has computed the data */
    if (t->is_cold && (t->sender >= 0 || t->receiver >= 0))
        offbeat_work_evict(session->work);
    offbeat_session_start(session, 0, &start);
    for (int i = 0; t->receiver >= 0 && i < messages; i++)
        MPI_Isend(t->send_buffer + (size_t)i * (size_t)t->bytes, t->bytes, MPI_BYTE, t->receiver,
                  OFFBEAT_TAG_TRANSFER, session->control_comm, &t->requests[count++]);
    /* Not MPI_Waitall: compilers warn that MPICH 4's MPI_STATUSES_IGNORE is an array of length 0. */
    for (int i = 0; i < count; i++)
        MPI_Wait(&t->requests[i], MPI_STATUS_IGNORE);
    int64_t ended_ns = offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns(session->clock));
    int64_t taken_ns = count ? ended_ns - start.deadline_ns : 0;
    offbeat_p2p_reduce(&taken_ns, 1, OFFBEAT_MAX, session->control_comm);
    return taken_ns;
}

void offbeat_stream(offbeat_session *session, const offbeat_command *command) {
    transfer flow, t;
    if (find_flow(session, command, &flow) != 0) {
        offbeat_answer_failure(&session->answer,
                               "senders and receivers must be as many ranks, each named once in its list");
        return;
    }
    const int is_cold = offbeat_command_number(command, "cold") != 0;
    if (is_cold && offbeat_session_prepare_work(session, flow.sender >= 0 || flow.receiver >= 0) != 0)
        return;
    if (prepare(session, command, &t) != 0)
        return;
    t.is_cold = is_cold;
    t.sender = flow.sender;
    t.receiver = flow.receiver;
    t.requests = calloc(2 * (size_t)t.messages, sizeof(MPI_Request));
    if (!t.requests)
        offbeat_fatal("no memory for the requests of a stream");
    repeat(session, &t, 1, run_stream);
    answer_transfer(session, &t, 0);
}

/* Runs the reductions or copies of a repetition. */
static int64_t run_work(offbeat_session *session, const transfer *t) {
    int64_t start_ns = offbeat_clock_local_ns(session->clock);
    for (int64_t i = 0; i < t->messages; i++) {
        if (t->is_reduction)
            MPI_Reduce_local(t->send_buffer, t->receive_buffer, t->bytes / (int)sizeof(double), MPI_DOUBLE,
                             MPI_SUM);
        else
            memcpy(t->receive_buffer + (size_t)i * (size_t)t->bytes, t->send_buffer, (size_t)t->bytes);
    }
    return offbeat_clock_local_ns(session->clock) - start_ns;
}

void offbeat_local(offbeat_session *session, const offbeat_command *command) {
    transfer t;
    if (prepare(session, command, &t) != 0)
        return;
    t.is_reduction = strcmp(offbeat_command_text(command, "work"), "reduce") == 0;
    repeat(session, &t, session->rank == 0, run_work);
    answer_transfer(session, &t, 0);
}
