/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file transfer.c
 * What messages between two processes cost, and what a process does alone: the figures of a platform file.
 *
 * Messages go over the control communicator, whose errors end the launch. Processes that have no part in a
 * measurement go on to the next command, where they wait without keeping a core busy; they take part in
 * harmonised starts.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/abandon.h"
#include "control/tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 4096 };

/** One measurement, as this process sees it. */
typedef struct transfer {
    int from, to;
    int bytes;
    int64_t messages, repetitions, warmups;
    unsigned char *sent, *received; /**< bytes, and bytes for each message */
    int64_t *taken_ns;              /**< one a repetition */
} transfer;

/* Memory that is there: written once, so that no page is missing while time is taken. NULL without memory:
 * more than the machine has must not be tried, as the system may promise it. */
static unsigned char *touched(size_t bytes) {
    void *memory = NULL;
    if (bytes / (size_t)sysconf(_SC_PAGESIZE) >= (size_t)sysconf(_SC_PHYS_PAGES))
        return NULL;
    if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1) != 0)
        return NULL;
    memset(memory, 1, bytes);
    return memory;
}

static void release(transfer *all) {
    free(all->sent);
    free(all->received);
    free(all->taken_ns);
    *all = (transfer){0};
}

/* Reads what is common to all measurements and takes the memory. Collective.
 * @return 0, or -1 on all processes after answering why not */
static int prepare(offbeat_session *session, const offbeat_command *command, transfer *all) {
    int64_t bytes = offbeat_command_number(command, "bytes", 0);
    *all = (transfer){
        .bytes = bytes > INT_MAX ? 0 : (int)bytes,
        .messages = offbeat_command_number(command, "messages", 1),
        .repetitions = offbeat_command_number(command, "repetitions", 1),
        .warmups = offbeat_command_number(command, "warmups", 1),
    };
    if (bytes > INT_MAX) {
        offbeat_answer_failure(session, "a message of more than 2147483647 bytes cannot be stated");
        return -1;
    }
    all->received = touched((size_t)all->bytes * (size_t)all->messages);
    all->sent = all->received ? touched((size_t)all->bytes) : NULL;
    all->taken_ns = calloc((size_t)all->repetitions, sizeof *all->taken_ns);
    int64_t failed = !all->sent || !all->received || !all->taken_ns;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed) {
        release(all);
        offbeat_answer_failure(session, "no memory for the messages");
        return -1;
    }
    return 0;
}

/* @return 0, or -1 on all processes after answering that these are no two processes */
static int prepare_pair(offbeat_session *session, const offbeat_command *command, transfer *all) {
    int64_t from = offbeat_command_number(command, "from", 0);
    int64_t to = offbeat_command_number(command, "to", 1);
    if (from == to || from >= session->p || to >= session->p) {
        offbeat_answer_failure(session, "from and to must be two different ranks of this launch");
        return -1;
    }
    if (prepare(session, command, all) != 0)
        return -1;
    all->from = (int)from;
    all->to = (int)to;
    return 0;
}

static void write_times(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    const int64_t *times = data;
    for (size_t i = 0; to && i < bytes / sizeof *times; i++)
        fprintf(to, "%s%lld", i ? "," : "", (long long)times[i]);
}

/* The times of one process, in the brackets of a list. Collective. */
static void answer_times(offbeat_session *session, const transfer *all, int owner, const char *name) {
    size_t bytes = session->rank == owner ? (size_t)all->repetitions * sizeof *all->taken_ns : 0;
    if (session->answers)
        fprintf(session->answers, "%s[", name);
    offbeat_gather(all->taken_ns, bytes, write_times, session->answers, session->control);
    if (session->answers)
        fputc(']', session->answers);
}

static void begin_answer(const offbeat_session *session) {
    if (session->answers)
        fputs("@offbeat {\"ok\":true", session->answers);
}

static void end_answer(const offbeat_session *session) {
    if (session->answers)
        fputs("}\n", session->answers);
}

static void send_to(const transfer *all, int to, MPI_Comm comm) {
    MPI_Send(all->sent, all->bytes, MPI_BYTE, to, OFFBEAT_TAG_TRANSFER, comm);
}

static void receive_from(const transfer *all, int from, MPI_Comm comm) {
    MPI_Recv(all->received, all->bytes, MPI_BYTE, from, OFFBEAT_TAG_TRANSFER, comm, MPI_STATUS_IGNORE);
}

/* All round trips of a repetition; the time counts where they begin. */
static int64_t round_trips(const offbeat_session *session, const transfer *all) {
    int64_t began_ns = offbeat_clock_local_ns(session->clock);
    for (int64_t i = 0; i < all->messages; i++) {
        if (session->rank == all->from) {
            send_to(all, all->to, session->control);
            receive_from(all, all->to, session->control);
        } else {
            receive_from(all, all->from, session->control);
            send_to(all, all->from, session->control);
        }
    }
    return offbeat_clock_local_ns(session->clock) - began_ns;
}

void offbeat_pingpong(offbeat_session *session, const offbeat_command *command) {
    transfer all;
    if (prepare_pair(session, command, &all) != 0)
        return;
    if (session->rank == all.from || session->rank == all.to)
        for (int64_t i = -all.warmups; i < all.repetitions; i++) {
            int64_t taken_ns = round_trips(session, &all);
            if (i >= 0)
                all.taken_ns[i] = taken_ns;
        }
    begin_answer(session);
    answer_times(session, &all, all.from, ",\"taken_ns\":");
    end_answer(session);
    release(&all);
}

/* One message whose receiver comes `delay_ns` after its sender: how long this process's call takes. */
static int64_t call_late(offbeat_session *session, const transfer *all, int64_t delay_ns) {
    offbeat_start start;
    offbeat_session_start(session, session->rank == all->to ? delay_ns : 0, &start);
    int64_t began_ns = offbeat_clock_local_ns(session->clock);
    if (session->rank == all->from)
        send_to(all, all->to, session->control);
    else if (session->rank == all->to)
        receive_from(all, all->from, session->control);
    return offbeat_clock_local_ns(session->clock) - began_ns;
}

void offbeat_late(offbeat_session *session, const offbeat_command *command) {
    transfer all;
    int64_t delay_ns = offbeat_command_number(command, "delay_ns", 1000000);
    if (prepare_pair(session, command, &all) != 0)
        return;
    for (int64_t i = -all.warmups; i < all.repetitions; i++) {
        int64_t taken_ns = call_late(session, &all, delay_ns);
        if (i >= 0)
            all.taken_ns[i] = taken_ns;
    }
    begin_answer(session);
    answer_times(session, &all, all.from, ",\"send_ns\":");
    answer_times(session, &all, all.to, ",\"receive_ns\":");
    end_answer(session);
    release(&all);
}

/* Whom this process sends to, whom it receives from; -1 for nobody.
 * @return 0, or -1 where a process has two parts, or none of that number is there */
static int find_part(const offbeat_session *session, const offbeat_command *command, transfer *all) {
    int flows = offbeat_command_entries(command, "senders");
    *all = (transfer){.from = -1, .to = -1};
    char *taken = calloc((size_t)session->p, 1);
    if (!taken)
        offbeat_abandon("no memory for the parts of a stream");
    int failed = flows == 0 || flows != offbeat_command_entries(command, "receivers");
    for (int i = 0; i < flows && !failed; i++) {
        int64_t sender = offbeat_command_listed(command, "senders", i);
        int64_t receiver = offbeat_command_listed(command, "receivers", i);
        failed = sender >= session->p || receiver >= session->p || sender == receiver || taken[sender] ||
                 taken[receiver];
        if (failed)
            break;
        taken[sender] = taken[receiver] = 1;
        if (session->rank == sender)
            all->to = (int)receiver;
        if (session->rank == receiver)
            all->from = (int)sender;
    }
    free(taken);
    return failed ? -1 : 0;
}

/* All messages of all flows at once, receives first: when this process's last one was complete. */
static int64_t stream_once(offbeat_session *session, const transfer *all, MPI_Request *requests) {
    int used = all->from >= 0 || all->to >= 0 ? (int)all->messages : 0;
    offbeat_start start;
    for (int i = 0; all->from >= 0 && i < used; i++)
        MPI_Irecv(all->received + (size_t)i * (size_t)all->bytes, all->bytes, MPI_BYTE, all->from,
                  OFFBEAT_TAG_TRANSFER, session->control, &requests[i]);
    offbeat_session_start(session, 0, &start);
    for (int i = 0; all->to >= 0 && i < used; i++)
        MPI_Isend(all->sent, all->bytes, MPI_BYTE, all->to, OFFBEAT_TAG_TRANSFER, session->control,
                  &requests[i]);
    /* One by one: compilers take MPICH 4's MPI_STATUSES_IGNORE for an array of no length. */
    for (int i = 0; i < used; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    int64_t ended_ns = offbeat_clock_global_ns(session->clock, offbeat_clock_local_ns(session->clock));
    int64_t taken_ns = used ? ended_ns - start.deadline_ns : 0;
    offbeat_tree_reduce(&taken_ns, 1, OFFBEAT_MAX, session->control);
    return taken_ns;
}

void offbeat_stream(offbeat_session *session, const offbeat_command *command) {
    transfer part, all;
    if (find_part(session, command, &part) != 0) {
        offbeat_answer_failure(session, "senders and receivers must be as many ranks, each named once");
        return;
    }
    if (prepare(session, command, &all) != 0)
        return;
    all.from = part.from;
    all.to = part.to;
    MPI_Request *requests = calloc((size_t)all.messages, sizeof(MPI_Request));
    if (!requests)
        offbeat_abandon("no memory for the requests of a stream");
    for (int64_t i = -all.warmups; i < all.repetitions; i++) {
        int64_t taken_ns = stream_once(session, &all, requests);
        if (i >= 0)
            all.taken_ns[i] = taken_ns;
    }
    free(requests);
    begin_answer(session);
    answer_times(session, &all, 0, ",\"taken_ns\":");
    end_answer(session);
    release(&all);
}

/* Rank 0 reduces or copies; nobody else does anything. */
static int64_t work_once(const offbeat_session *session, const transfer *all, int reduces) {
    int64_t began_ns = offbeat_clock_local_ns(session->clock);
    for (int64_t i = 0; i < all->messages; i++) {
        if (reduces)
            MPI_Reduce_local(all->sent, all->received, all->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM);
        else
            memcpy(all->received + (size_t)i * (size_t)all->bytes, all->sent, (size_t)all->bytes);
    }
    return offbeat_clock_local_ns(session->clock) - began_ns;
}

void offbeat_local(offbeat_session *session, const offbeat_command *command) {
    const char *work = offbeat_command_text(command, "work", "reduce");
    int reduces = strcmp(work, "reduce") == 0;
    transfer all;
    if (!reduces && strcmp(work, "copy") != 0) {
        offbeat_answer_failure(session, "work must be reduce or copy");
        return;
    }
    if (prepare(session, command, &all) != 0)
        return;
    for (int64_t i = -all.warmups; session->rank == 0 && i < all.repetitions; i++) {
        int64_t taken_ns = work_once(session, &all, reduces);
        if (i >= 0)
            all.taken_ns[i] = taken_ns;
    }
    begin_answer(session);
    answer_times(session, &all, 0, ",\"taken_ns\":");
    end_answer(session);
    release(&all);
}
