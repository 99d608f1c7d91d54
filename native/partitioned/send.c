/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/send.h"

#include "partitioned/collective.h"
#include "partitioned/transfer.h"

#include <stdlib.h>

enum { NONE, ANSWERED, REPORTED };

/* --- setup --- */

static void choose_messages(offbeat_partitioned_request *send,
                            const offbeat_partitioned_send_settings *settings) {
    const int64_t bytes = send->sender_partition_bytes * send->partitions;
    int messages = settings->messages > 0
                       ? (int)settings->messages
                       : offbeat_partitioned_messages_of_bytes(send->partitions, send->sender_partition_bytes,
                                                               settings->message_bytes);
    if (bytes == 0)
        messages = 1;
    offbeat_partitioned_plan_init(&send->plan, send->partitions, messages, settings->is_learned && bytes > 0);
    send->most_messages = offbeat_partitioned_plan_most(&send->plan);
}

/* With a lane of its own, a request uses it for all messages; otherwise its messages use the lanes in turn.
 */
static void choose_lanes(offbeat_partitioned_request *send,
                         const offbeat_partitioned_send_settings *settings) {
    const int lanes = send->comm->lane_count;
    send->lane_step = settings->lane < 0;
    send->first_lane = settings->lane < 0
                           ? (int)(atomic_fetch_add(&send->comm->next_lane, 1) % (unsigned)lanes)
                           : (int)(settings->lane % lanes);
}

static int send_setup(offbeat_partitioned_request *send) {
    int64_t *setup = send->setup;
    setup[OFFBEAT_PARTITIONED_PARTITIONS] = send->partitions;
    setup[OFFBEAT_PARTITIONED_PARTITION_BYTES] = send->sender_partition_bytes;
    setup[OFFBEAT_PARTITIONED_FIRST_TAG] = send->first_tag;
    setup[OFFBEAT_PARTITIONED_MESSAGES] = send->plan.messages;
    setup[OFFBEAT_PARTITIONED_IS_LEARNED] = send->plan.is_learned;
    setup[OFFBEAT_PARTITIONED_FIRST_LANE] = send->first_lane;
    setup[OFFBEAT_PARTITIONED_LANE_STEP] = send->lane_step;
    setup[OFFBEAT_PARTITIONED_TAG] = send->tag;
    setup[OFFBEAT_PARTITIONED_IDENTITY] = send->comm->identity;
    return PMPI_Isend(setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, send->peer, 0, send->comm->setup,
                      &send->setup_request);
}

int offbeat_partitioned_send_init(offbeat_partitioned_request *send,
                                  const offbeat_partitioned_send_settings *settings) {
    send->sender_partitions = send->partitions;
    send->sender_partition_bytes = send->count * send->element_bytes;
    choose_messages(send, settings);
    choose_lanes(send, settings);
    int rc = offbeat_partitioned_allocate_messages(send);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_allocate_bits(send);
    if (rc != MPI_SUCCESS)
        return rc;
    if (send->is_null)
        return MPI_SUCCESS;
    rc = offbeat_partitioned_take_tags(send, send->most_messages + 1);
    return rc == MPI_SUCCESS ? send_setup(send) : rc;
}

/* --- the receiver's answers --- */

static int receive_reply(offbeat_partitioned_request *send) {
    return PMPI_Irecv(send->reply, OFFBEAT_PARTITIONED_REPLY_LENGTH, MPI_INT64_T, send->peer,
                      offbeat_partitioned_reply_tag(send), send->comm->lanes[0], &send->reply_request);
}

/* Tests whether the next reply arrived. A receive is posted only when the reply is here: with any receive
 * outstanding, Intel MPI 2021.18 needs 1.6 times as long to send 256 KiB within a node. */
static int reply_arrived(offbeat_partitioned_request *send) {
    int is_here = send->reply_request != MPI_REQUEST_NULL, rc = MPI_SUCCESS;
    if (!is_here) {
        rc = PMPI_Iprobe(send->peer, offbeat_partitioned_reply_tag(send), send->comm->lanes[0], &is_here,
                         MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && is_here)
            rc = receive_reply(send);
    }
    if (rc == MPI_SUCCESS && is_here)
        rc = PMPI_Test(&send->reply_request, &is_here, MPI_STATUS_IGNORE);
    offbeat_partitioned_note_failure(send, rc);
    return rc == MPI_SUCCESS && is_here;
}

static void note_refusal(offbeat_partitioned_request *send) {
    if (send->is_refused)
        offbeat_partitioned_note_failure(send, OFFBEAT_PARTITIONED_MISMATCH);
}

static void test_answer(offbeat_partitioned_request *send) {
    if (send->has_reply == NONE && reply_arrived(send)) {
        send->has_reply = ANSWERED;
        send->is_refused = !send->reply[OFFBEAT_PARTITIONED_IS_ACCEPTED];
    }
    note_refusal(send);
}

/* Tests whether the report on the trials arrived. */
static int report_arrived(offbeat_partitioned_request *send) {
    if (send->has_reply == ANSWERED && reply_arrived(send))
        send->has_reply = REPORTED;
    return send->has_reply == REPORTED;
}

/* Tells the receiver the number of messages of the following iterations. */
static int announce(offbeat_partitioned_request *send) {
    const int is_decided = report_arrived(send);
    const int messages = is_decided ? offbeat_partitioned_plan_choose(&send->plan, send->trials,
                                                                      &send->reply[OFFBEAT_PARTITIONED_TIMES])
                                    : send->plan.messages;
    send->announcement[OFFBEAT_PARTITIONED_NEXT_MESSAGES] = messages;
    send->announcement[OFFBEAT_PARTITIONED_IS_DECIDED] = is_decided;
    offbeat_partitioned_plan_announce(&send->plan, messages, is_decided);
    if (is_decided)
        send->has_reply = ANSWERED; /* the next round of trials ends with a report of its own */
    return PMPI_Isend(send->announcement, OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH, MPI_INT64_T, send->peer,
                      send->first_tag + send->most_messages, send->comm->lanes[send->first_lane],
                      &send->requests[send->messages]);
}

/* --- iterations --- */

/* The words that hold the bits of a message's partitions. */
static int words_of(const offbeat_partitioned_message *message) {
    return (message->end - 1) / OFFBEAT_PARTITIONED_WORD_BITS -
           message->first / OFFBEAT_PARTITIONED_WORD_BITS + 1;
}

static void expect_partitions(offbeat_partitioned_request *send) {
    for (int i = 0; i < send->messages; i++) {
        atomic_store_explicit(&send->message[i].missing, words_of(&send->message[i]), memory_order_relaxed);
        atomic_store_explicit(&send->message[i].thread, NULL, memory_order_relaxed);
    }
    for (int i = 0; i < offbeat_partitioned_words(send); i++) {
        atomic_store_explicit(&send->ready[i], 0, memory_order_relaxed);
        atomic_store_explicit(&send->claimed[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&send->handed_over, 0, memory_order_relaxed);
    atomic_store_explicit(&send->sent, 0, memory_order_relaxed);
}

/* The index of the current iteration among the trials; -1: none. */
static int current_trial(const offbeat_partitioned_request *send) {
    const unsigned stamp = offbeat_partitioned_stamp(send);
    return offbeat_partitioned_plan_trial(&send->plan, (int64_t)stamp - 1);
}

/* Notes when the last partition of a trial was ready, and what its thread spent with earlier messages. */
static void note_ready_time(offbeat_partitioned_request *send, int trial, int64_t now_ns) {
    int64_t spent_ns = 0;
    if (atomic_fetch_add_explicit(&send->handed_over, 1, memory_order_relaxed) < send->messages - 1)
        return;
    for (int i = 0; i < send->messages; i++)
        if (atomic_load_explicit(&send->message[i].thread, memory_order_relaxed) ==
            &offbeat_partitioned_this_thread)
            spent_ns += send->message[i].spent_ns;
    send->trials[trial].ready_ns = now_ns;
    send->trials[trial].spent_ns = spent_ns;
}

static int send_elements(offbeat_partitioned_request *send, int message) {
    const offbeat_partitioned_message *of = &send->message[message];
    offbeat_partitioned_elements elements = {send->buffer + of->first * send->count * send->extent,
                                             (of->end - of->first) * send->count, send->datatype};
    return offbeat_partitioned_isend(elements, send->peer, send->first_tag + message,
                                     send->comm->lanes[of->lane], &send->requests[message]);
}

/* Notes how long a thread was busy with a message of a trial. */
static void note_spent_time(offbeat_partitioned_request *send, int message, int64_t began_ns) {
    send->message[message].spent_ns = offbeat_partitioned_now_ns() - began_ns;
    atomic_store_explicit(&send->message[message].thread, &offbeat_partitioned_this_thread,
                          memory_order_relaxed);
}

static int is_sent(const offbeat_partitioned_request *send, int message) {
    return atomic_load_explicit(&send->message[message].stamp, memory_order_acquire) ==
           offbeat_partitioned_stamp(send);
}

enum { RECENT = 8, TESTED_BYTES = 8192, MOST_TESTS = 16 };

int offbeat_partitioned_tests_after(const offbeat_partitioned_request *request, int message) {
    const int partitions = request->message[message].end - request->message[message].first;
    const int64_t tests = request->sender_partition_bytes * partitions / TESTED_BYTES;
    if (tests == 0)
        return message % RECENT == RECENT - 1;
    return tests < MOST_TESTS ? (int)tests : MOST_TESTS;
}

/* Tests a message that was sent and the seven before, unless it is the last one: then, all are tested. Most
 * short messages are complete, and need no test after the last partition is ready. For others, the tests make
 * MPI send what the process has queued: with Open MPI and Intel MPI, the messages of many partitions that are
 * ready at once stay in the sender's queue until its next calls. */
static void test_recent(offbeat_partitioned_request *send, int message) {
    int indices[RECENT], count = 0, first = message, tests = offbeat_partitioned_tests_after(send, message);
    const int lowest = message < RECENT ? 0 : message - RECENT + 1;
    if (tests == 0 || atomic_load_explicit(&send->sent, memory_order_relaxed) == send->messages - 1 ||
        !offbeat_partitioned_try_enter(send))
        return;
    while (first > lowest && is_sent(send, first - 1))
        first--;
    for (; tests > 0 && count != MPI_UNDEFINED; tests--) { /* MPI_UNDEFINED: all are complete */
        int rc = PMPI_Testsome(message - first + 1, &send->requests[first], &count, indices, send->statuses);
        offbeat_partitioned_note_failures(send, rc, count == MPI_UNDEFINED ? 0 : count);
    }
    offbeat_partitioned_leave(send);
}

void offbeat_partitioned_send_message(offbeat_partitioned_request *send, int message) {
    if (send->collective != NULL) {
        offbeat_partitioned_collective_ready(send, message);
        return;
    }
    const int trial = send->is_null ? -1 : current_trial(send);
    const int64_t began_ns = trial < 0 ? 0 : offbeat_partitioned_now_ns();
    if (trial >= 0)
        note_ready_time(send, trial, began_ns);
    offbeat_partitioned_note_failure(send, send->is_null ? MPI_SUCCESS : send_elements(send, message));
    atomic_store_explicit(&send->message[message].stamp, offbeat_partitioned_stamp(send),
                          memory_order_release);
    /* The next access to `sent` may let another thread find all messages sent, and free the request. */
    test_recent(send, message);
    if (trial >= 0)
        note_spent_time(send, message, began_ns);
    offbeat_partitioned_add(&send->sent, 1, send->is_threaded);
}

void offbeat_partitioned_send_start(offbeat_partitioned_request *send) {
    atomic_store_explicit(&send->stamp, offbeat_partitioned_stamp(send) + 1, memory_order_relaxed);
    offbeat_partitioned_begin_iteration(send);
    expect_partitions(send);
    atomic_store_explicit(&send->failure, MPI_SUCCESS, memory_order_relaxed);
    note_refusal(send); /* an answer is looked for when the messages are complete: it must not delay them */
    if (send->has_announcement)
        offbeat_partitioned_note_failure(send, announce(send));
    const int trial = current_trial(send);
    if (trial >= 0)
        send->trials[trial].started_ns = offbeat_partitioned_now_ns();
    if (send->partitions == 0)
        offbeat_partitioned_send_message(send, 0);
    atomic_store_explicit(&send->is_active, 1, memory_order_release);
}

/* Sets the ready bit of a partition. @return the word before */
static uint64_t set_ready(offbeat_partitioned_request *send, int partition) {
    _Atomic uint64_t *word = &send->ready[partition / OFFBEAT_PARTITIONED_WORD_BITS];
    const uint64_t bit = offbeat_partitioned_bit(partition);
    if (!send->is_threaded || !offbeat_partitioned_owner_begin(&send->owner))
        return offbeat_partitioned_set_bits(word, bit, send->is_threaded);
    const uint64_t before = offbeat_partitioned_set_bits(word, bit, 0);
    offbeat_partitioned_owner_leave(&send->owner);
    return before;
}

static int mark_any(offbeat_partitioned_request *send, int partition) {
    const int message = send->first_of[partition], word = partition / OFFBEAT_PARTITIONED_WORD_BITS;
    const uint64_t bit = offbeat_partitioned_bit(partition), in_one_word = send->message[message].bits;
    const uint64_t all =
        in_one_word ? in_one_word : offbeat_partitioned_bits_of(&send->message[message], word);
    const uint64_t before = set_ready(send, partition);
    if (before & bit)
        return 0;
    /* Once all words of the message are complete, another thread may complete and free the request: a thread
     * that has not completed a word accesses nothing of the request from here on. */
    if (((before | bit) & all) != all)
        return 1;
    /* The last thread sends what the others have written: their decrements are released, this one acquires.
     */
    if (in_one_word || offbeat_partitioned_add(&send->message[message].missing, -1, send->is_threaded) == 1)
        offbeat_partitioned_send_message(send, message);
    return 1;
}

int offbeat_partitioned_send_finish_mark(offbeat_partitioned_request *send, int partition,
                                         offbeat_partitioned_mark mark) {
    if (mark == OFFBEAT_PARTITIONED_UNMARKED)
        return mark_any(send, partition);
    if (mark == OFFBEAT_PARTITIONED_COMPLETED)
        offbeat_partitioned_send_message(send, send->first_of[partition]);
    return mark != OFFBEAT_PARTITIONED_MARKED_BEFORE;
}

/* A call for several partitions first claims them all. This detects every wrong partition before one of them
 * is marked, but for partitions that another thread marks at the same time. */
int offbeat_partitioned_send_claim(offbeat_partitioned_request *send, int partition) {
    const int word = partition / OFFBEAT_PARTITIONED_WORD_BITS;
    const uint64_t bit = offbeat_partitioned_bit(partition);
    if (atomic_load_explicit(&send->ready[word], memory_order_relaxed) & bit)
        return 0;
    return !(offbeat_partitioned_set_bits(&send->claimed[word], bit, send->is_threaded) & bit);
}

void offbeat_partitioned_send_unclaim(offbeat_partitioned_request *send, int partition) {
    atomic_fetch_and_explicit(&send->claimed[partition / OFFBEAT_PARTITIONED_WORD_BITS],
                              ~offbeat_partitioned_bit(partition), memory_order_relaxed);
}

/* Tests the messages that were sent so far, for MPI to drive them; their number is not final. */
static void test_some(offbeat_partitioned_request *send) {
    int is_done;
    for (int i = 0; i < send->messages; i++)
        if (is_sent(send, i))
            offbeat_partitioned_note_failure(send,
                                             PMPI_Test(&send->requests[i], &is_done, MPI_STATUS_IGNORE));
}

/* The first message that is not known to be complete. All were sent. */
static int first_incomplete(const offbeat_partitioned_request *send) {
    int first = 0;
    while (first < send->messages && send->requests[first] == MPI_REQUEST_NULL)
        first++;
    return first;
}

void offbeat_partitioned_send_progress(offbeat_partitioned_request *send) {
    if (!atomic_load_explicit(&send->is_active, memory_order_acquire) ||
        offbeat_partitioned_is_complete(send))
        return;
    if (atomic_load_explicit(&send->sent, memory_order_acquire) < send->messages) {
        if (!send->is_null)
            test_some(send);
        return;
    }
    /* Null requests are skipped, as MPICH takes 0.3 us to test 64 of them. */
    const int first = first_incomplete(send), count = send->messages + send->has_announcement - first;
    int are_done = count == 0, rc = MPI_SUCCESS;
    if (!are_done)
        rc = PMPI_Testall(count, &send->requests[first], &are_done, send->statuses);
    offbeat_partitioned_note_failures(send, rc, count);
    if (are_done && send->has_reply == NONE && !send->is_null)
        test_answer(send);
    if (are_done || rc != MPI_SUCCESS)
        atomic_store_explicit(&send->complete, offbeat_partitioned_stamp(send), memory_order_release);
}

int offbeat_partitioned_send_is_idle(offbeat_partitioned_request *send) {
    int is_done = 1;
    if (send->is_null)
        return 1;
    if (PMPI_Test(&send->setup_request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !is_done)
        return 0;
    test_answer(send);
    /* A receiver that has completed the last trial sends a report, whatever the sender does then. */
    if (send->has_reply == NONE ||
        !offbeat_partitioned_plan_awaits(&send->plan, offbeat_partitioned_stamp(send)))
        return send->has_reply != NONE;
    return report_arrived(send);
}
