/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/send.h"

#include "partitioned/errors.h"
#include "partitioned/marks.h"
#include "partitioned/matching.h"
#include "partitioned/pair.h"
#include "partitioned/transfer.h"

#include <stdlib.h>

typedef offbeat_partitioned_request request;
typedef offbeat_partitioned_message message;
typedef offbeat_partitioned_send_settings settings;

/* Which replies arrived. */
typedef enum reply_state { NO_REPLY, ANSWER, REPORT } reply_state;

typedef struct send {
    offbeat_partitioned_marked_request marks; /* the first member */
    offbeat_partitioned_pair pair;
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
    MPI_Request setup_request;
    reply_state reply;
    int is_refused; /* the receiver describes another number of bytes */

    /* The current iteration. */
    atomic_int handed_count;                                      /* messages given to MPI or about to be */
    atomic_int sent_count;                                        /* messages given to MPI */
    offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS]; /* of learned aggregation */
} send;

static request *head_of(send *sender) {
    return &sender->marks.head;
}

static unsigned stamp_of(const send *sender) {
    return offbeat_partitioned_stamp(&sender->marks.head);
}

/* --- setup --- */

static void choose_messages(send *sender, const settings *choice) {
    offbeat_partitioned_messages *messages = &sender->marks.messages;
    const int64_t bytes = messages->partition_bytes * messages->partitions;
    int count = choice->messages > 0
                    ? (int)choice->messages
                    : offbeat_partitioned_messages_of_bytes(messages->partitions, messages->partition_bytes,
                                                            choice->message_bytes);
    if (bytes == 0)
        count = 1;
    offbeat_partitioned_plan_init(&messages->plan, messages->partitions, count,
                                  choice->is_learned && bytes > 0);
    messages->limit = offbeat_partitioned_plan_most(&messages->plan);
}

/* With a lane of its own, a request uses it for all messages; otherwise its messages use the lanes in turn.
 */
static void choose_lanes(send *sender, const settings *choice) {
    offbeat_partitioned_comm *comm = head_of(sender)->comm;
    const int lanes = comm->lane_count;
    sender->marks.messages.lane_step = choice->lane < 0;
    sender->marks.messages.first_lane = choice->lane < 0
                                            ? (int)(atomic_fetch_add(&comm->next_lane, 1) % (unsigned)lanes)
                                            : (int)(choice->lane % lanes);
}

static int send_setup(send *sender) {
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    const offbeat_partitioned_comm *comm = head_of(sender)->comm;
    int64_t *setup = sender->setup;
    setup[OFFBEAT_PARTITIONED_PARTITIONS] = messages->partitions;
    setup[OFFBEAT_PARTITIONED_PARTITION_BYTES] = messages->partition_bytes;
    setup[OFFBEAT_PARTITIONED_FIRST_TAG] = messages->first_tag;
    setup[OFFBEAT_PARTITIONED_MESSAGES] = messages->plan.messages;
    setup[OFFBEAT_PARTITIONED_IS_LEARNED] = messages->plan.is_learned;
    setup[OFFBEAT_PARTITIONED_FIRST_LANE] = messages->first_lane;
    setup[OFFBEAT_PARTITIONED_LANE_STEP] = messages->lane_step;
    setup[OFFBEAT_PARTITIONED_TAG] = sender->pair.tag;
    setup[OFFBEAT_PARTITIONED_IDENTITY] = comm->identity;
    return PMPI_Isend(setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, sender->pair.peer, 0,
                      comm->root->matching.comm, &sender->setup_request);
}

int offbeat_partitioned_send_init(request *head, int dest, int tag, const settings *choice) {
    send *sender = (send *)head;
    offbeat_partitioned_messages *messages = &sender->marks.messages;
    offbeat_partitioned_pair_init(&sender->pair, head->comm, dest, tag);
    sender->setup_request = MPI_REQUEST_NULL;
    messages->partitions = head->partitions;
    messages->partition_bytes = offbeat_partitioned_partition_bytes(head);
    choose_messages(sender, choice);
    choose_lanes(sender, choice);
    int rc = offbeat_partitioned_messages_allocate(messages, head);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_marks_allocate(&sender->marks);
    if (rc != MPI_SUCCESS || sender->pair.is_null)
        return rc;
    rc = offbeat_partitioned_comm_take_tags(head->comm, messages->limit + 1, &head->tags);
    messages->first_tag = head->tags.first;
    return rc == MPI_SUCCESS ? send_setup(sender) : rc;
}

/* --- the receiver's answers --- */

static int reply_tag(const send *sender) {
    return offbeat_partitioned_reply_tag(sender->marks.head.comm, sender->marks.messages.first_tag);
}

static int receive_reply(send *sender) {
    return PMPI_Irecv(sender->pair.reply, OFFBEAT_PARTITIONED_REPLY_LENGTH, MPI_INT64_T, sender->pair.peer,
                      reply_tag(sender), head_of(sender)->comm->lanes[0], &sender->pair.reply_request);
}

/* Tests whether the next reply arrived. A receive is posted only when the reply is here: with any receive
 * outstanding, Intel MPI 2021.18 needs 1.6 times as long to send 256 KiB within a node. */
static int has_next_reply(send *sender) {
    int is_here = sender->pair.reply_request != MPI_REQUEST_NULL, rc = MPI_SUCCESS;
    if (!is_here) {
        rc = PMPI_Iprobe(sender->pair.peer, reply_tag(sender), head_of(sender)->comm->lanes[0], &is_here,
                         MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && is_here)
            rc = receive_reply(sender);
    }
    if (rc == MPI_SUCCESS && is_here)
        rc = PMPI_Test(&sender->pair.reply_request, &is_here, MPI_STATUS_IGNORE);
    offbeat_partitioned_note_failure(head_of(sender), rc);
    return rc == MPI_SUCCESS && is_here;
}

static void note_refusal(send *sender) {
    if (sender->is_refused)
        offbeat_partitioned_note_failure(head_of(sender), OFFBEAT_PARTITIONED_MISMATCH);
}

static void test_answer(send *sender) {
    if (sender->reply == NO_REPLY && has_next_reply(sender)) {
        sender->reply = ANSWER;
        sender->is_refused = !sender->pair.reply[OFFBEAT_PARTITIONED_IS_ACCEPTED];
    }
    note_refusal(sender);
}

/* Tests whether the report on the trials arrived. */
static int has_report(send *sender) {
    if (sender->reply == ANSWER && has_next_reply(sender))
        sender->reply = REPORT;
    return sender->reply == REPORT;
}

/* Tells the receiver the number of messages of the following iterations. */
static int announce(send *sender) {
    offbeat_partitioned_messages *messages = &sender->marks.messages;
    const int is_decided = has_report(sender);
    const int count = is_decided
                          ? offbeat_partitioned_plan_choose(&messages->plan, sender->trials,
                                                            &sender->pair.reply[OFFBEAT_PARTITIONED_TIMES])
                          : messages->plan.messages;
    messages->announcement[OFFBEAT_PARTITIONED_NEXT_MESSAGES] = count;
    messages->announcement[OFFBEAT_PARTITIONED_IS_DECIDED] = is_decided;
    offbeat_partitioned_plan_announce(&messages->plan, count, is_decided);
    if (is_decided)
        sender->reply = ANSWER; /* the next round of trials ends with a report of its own */
    return PMPI_Isend(messages->announcement, OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH, MPI_INT64_T,
                      sender->pair.peer, messages->first_tag + messages->limit,
                      head_of(sender)->comm->lanes[messages->first_lane],
                      &messages->requests[messages->count]);
}

/* --- messages --- */

/* The index of the current iteration among the trials; -1: none. */
static int current_trial(const send *sender) {
    return offbeat_partitioned_plan_trial(&sender->marks.messages.plan, (int64_t)stamp_of(sender) - 1);
}

/* Notes when the last partition of a trial was ready, and what its thread spent with earlier messages. */
static void note_ready_time(send *sender, int trial, int64_t now_ns) {
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    int64_t spent_ns = 0;
    if (atomic_fetch_add_explicit(&sender->handed_count, 1, memory_order_relaxed) < messages->count - 1)
        return;
    for (int i = 0; i < messages->count; i++)
        if (atomic_load_explicit(&messages->message[i].thread, memory_order_relaxed) ==
            &offbeat_partitioned_this_thread)
            spent_ns += messages->message[i].spent_ns;
    sender->trials[trial].ready_ns = now_ns;
    sender->trials[trial].spent_ns = spent_ns;
}

static int send_elements(send *sender, int index) {
    const request *head = head_of(sender);
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    const message *carrier = &messages->message[index];
    offbeat_partitioned_elements elements = {head->buffer + carrier->first * head->count * head->extent,
                                             (carrier->end - carrier->first) * head->count, head->datatype};
    return offbeat_partitioned_isend(elements, sender->pair.peer, messages->first_tag + index,
                                     head->comm->lanes[carrier->lane], &messages->requests[index]);
}

/* Notes how long a thread was busy with a message of a trial. */
static void note_spent_time(send *sender, int index, int64_t start_ns) {
    message *carrier = &sender->marks.messages.message[index];
    carrier->spent_ns = offbeat_partitioned_now_ns() - start_ns;
    atomic_store_explicit(&carrier->thread, &offbeat_partitioned_this_thread, memory_order_relaxed);
}

static int is_sent(const send *sender, int index) {
    return atomic_load_explicit(&sender->marks.messages.message[index].stamp, memory_order_acquire) ==
           stamp_of(sender);
}

/* Tests a message that was sent and the seven before, unless it is the last one: then, all are tested. Most
 * short messages are complete, and need no test after the last partition is ready. For others, the tests make
 * MPI send what the process has queued: with Open MPI and Intel MPI, the messages of many partitions that are
 * ready at once stay in the sender's queue until its next calls. */
static void test_recent(send *sender, int index) {
    enum { RECENT = OFFBEAT_PARTITIONED_RECENT_MESSAGES };
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    int indices[RECENT], count = 0, first = index, tests = offbeat_partitioned_tests_after(messages, index);
    const int lowest = index < RECENT ? 0 : index - RECENT + 1;
    if (tests == 0 ||
        atomic_load_explicit(&sender->sent_count, memory_order_relaxed) == messages->count - 1 ||
        !offbeat_partitioned_try_enter(head_of(sender)))
        return;
    while (first > lowest && is_sent(sender, first - 1))
        first--;
    for (; tests > 0 && count != MPI_UNDEFINED; tests--) { /* MPI_UNDEFINED: all are complete */
        int rc =
            PMPI_Testsome(index - first + 1, &messages->requests[first], &count, indices, messages->statuses);
        offbeat_partitioned_note_failures(head_of(sender), rc, messages->statuses,
                                          count == MPI_UNDEFINED ? 0 : count);
    }
    offbeat_partitioned_leave(head_of(sender));
}

static void send_message(request *head, int index) {
    send *sender = (send *)head;
    const int trial = sender->pair.is_null ? -1 : current_trial(sender);
    const int64_t start_ns = trial < 0 ? 0 : offbeat_partitioned_now_ns();
    if (trial >= 0)
        note_ready_time(sender, trial, start_ns);
    offbeat_partitioned_note_failure(head, sender->pair.is_null ? MPI_SUCCESS : send_elements(sender, index));
    atomic_store_explicit(&sender->marks.messages.message[index].stamp, stamp_of(sender),
                          memory_order_release);
    /* The next access to sent_count may let another thread find all messages sent, and free the request. */
    test_recent(sender, index);
    if (trial >= 0)
        note_spent_time(sender, index, start_ns);
    offbeat_partitioned_add(&sender->sent_count, 1, head->is_threaded);
}

/* --- iterations --- */

static void start(request *head) {
    send *sender = (send *)head;
    offbeat_partitioned_marks_begin(&sender->marks);
    atomic_store_explicit(&sender->handed_count, 0, memory_order_relaxed);
    atomic_store_explicit(&sender->sent_count, 0, memory_order_relaxed);
    note_refusal(sender); /* an answer is looked for when the messages are complete: it must not delay them */
    if (sender->marks.messages.has_announcement)
        offbeat_partitioned_note_failure(head, announce(sender));
    const int trial = current_trial(sender);
    if (trial >= 0)
        sender->trials[trial].started_ns = offbeat_partitioned_now_ns();
    if (head->partitions == 0)
        send_message(head, 0);
    atomic_store_explicit(&head->is_active, 1, memory_order_release);
}

/* Tests the messages that were sent so far, for MPI to drive them; their number is not final. */
static void test_some(send *sender) {
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    int is_done;
    for (int i = 0; i < messages->count; i++)
        if (is_sent(sender, i))
            offbeat_partitioned_note_failure(head_of(sender),
                                             PMPI_Test(&messages->requests[i], &is_done, MPI_STATUS_IGNORE));
}

/* The first message that is not known to be complete. All were sent. */
static int first_incomplete(const offbeat_partitioned_messages *messages) {
    int first = 0;
    while (first < messages->count && messages->requests[first] == MPI_REQUEST_NULL)
        first++;
    return first;
}

/* Tests the messages of the current iteration and the receiver's answer. */
static void test_messages(send *sender) {
    request *head = head_of(sender);
    const offbeat_partitioned_messages *messages = &sender->marks.messages;
    if (!offbeat_partitioned_is_active(head) || offbeat_partitioned_is_complete(head))
        return;
    if (atomic_load_explicit(&sender->sent_count, memory_order_acquire) < messages->count) {
        if (!sender->pair.is_null)
            test_some(sender);
        return;
    }
    /* Null requests are skipped, as MPICH takes 0.3 us to test 64 of them. */
    const int first = first_incomplete(messages);
    const int count = messages->count + messages->has_announcement - first;
    int are_done = count == 0, rc = MPI_SUCCESS;
    if (!are_done)
        rc = PMPI_Testall(count, &messages->requests[first], &are_done, messages->statuses);
    offbeat_partitioned_note_failures(head, rc, messages->statuses, count);
    if (are_done && sender->reply == NO_REPLY && !sender->pair.is_null)
        test_answer(sender);
    if (are_done || rc != MPI_SUCCESS)
        offbeat_partitioned_set_complete(head);
}

static void progress(request *head, int partition) {
    (void)partition;
    if (!offbeat_partitioned_try_enter(head))
        return;
    test_messages((send *)head);
    offbeat_partitioned_leave(head);
}

/* The receiver's calls are enough: a send is never listed before it is freed. */
static int is_settled(const request *head) {
    (void)head;
    return 1;
}

/* --- the end --- */

static int is_idle(request *head) {
    send *sender = (send *)head;
    int is_done = 1;
    if (sender->pair.is_null)
        return 1;
    if (PMPI_Test(&sender->setup_request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !is_done)
        return 0;
    test_answer(sender);
    /* A receiver that has completed the last trial sends a report, whatever the sender does then. */
    if (sender->reply == NO_REPLY ||
        !offbeat_partitioned_plan_awaits(&sender->marks.messages.plan, stamp_of(sender)))
        return sender->reply != NO_REPLY;
    return has_report(sender);
}

static int abandon(request *head) {
    send *sender = (send *)head;
    int is_done = 0;
    offbeat_partitioned_cancel(&sender->pair.reply_request);
    return PMPI_Test(&sender->setup_request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done;
}

static int raise_mismatch(const request *head) {
    const send *sender = (const send *)head;
    return offbeat_partitioned_fail(
        head->comm->user, MPI_ERR_TRUNCATE,
        "partitioned send to rank %d, tag %d: the receive does not describe the %lld bytes of this send",
        sender->pair.user_peer, sender->pair.tag,
        (long long)sender->marks.messages.partition_bytes * head->partitions);
}

static void free_send(request *head) {
    send *sender = (send *)head;
    offbeat_partitioned_marks_free(&sender->marks);
    free(sender);
}

const offbeat_partitioned_operations offbeat_partitioned_send_operations = {
    .size_bytes = sizeof(send),
    .arrival_refusal = "the request is a send; only partitions of a receive arrive",
    .start = start,
    .send = send_message,
    .progress = progress,
    .is_settled = is_settled,
    .is_idle = is_idle,
    .abandon = abandon,
    .raise_mismatch = raise_mismatch,
    .free = free_send,
};
