/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/receive.h"

#include "partitioned/errors.h"
#include "partitioned/transfer.h"

#include <stdlib.h>
#include <string.h>

typedef offbeat_partitioned_request request;
typedef offbeat_partitioned_receive receive;

static request *head_of(receive *receiver) {
    return &receiver->head;
}

/* --- matching --- */

static void read_setup(receive *receiver) {
    const int64_t *setup = receiver->expectation.setup;
    offbeat_partitioned_messages *messages = &receiver->messages;
    messages->partitions = (int)setup[OFFBEAT_PARTITIONED_PARTITIONS];
    messages->partition_bytes = setup[OFFBEAT_PARTITIONED_PARTITION_BYTES];
    messages->first_tag = (int)setup[OFFBEAT_PARTITIONED_FIRST_TAG];
    messages->first_lane = (int)setup[OFFBEAT_PARTITIONED_FIRST_LANE];
    messages->lane_step = (int)setup[OFFBEAT_PARTITIONED_LANE_STEP];
    offbeat_partitioned_plan_init(&messages->plan, messages->partitions,
                                  (int)setup[OFFBEAT_PARTITIONED_MESSAGES],
                                  (int)setup[OFFBEAT_PARTITIONED_IS_LEARNED]);
    messages->limit = offbeat_partitioned_plan_most(&messages->plan);
}

static int64_t total_bytes(const receive *receiver) {
    return offbeat_partitioned_partition_bytes(&receiver->head) * receiver->head.partitions;
}

static int64_t sender_bytes(const receive *receiver) {
    return receiver->messages.partition_bytes * receiver->messages.partitions;
}

static int is_mismatch(const receive *receiver) {
    return sender_bytes(receiver) != total_bytes(receiver);
}

/* Messages end between elements of the sender. When these are not always ends of own elements, messages are
 * received as bytes and unpacked when all have arrived. */
static int allocate_buffers(receive *receiver) {
    const int64_t element_bytes = receiver->head.element_bytes;
    if (is_mismatch(receiver)) {
        receiver->drain = malloc((size_t)sender_bytes(receiver) + 1);
        return receiver->drain == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    if (element_bytes > 0 && receiver->messages.partition_bytes % element_bytes != 0) {
        receiver->staging = malloc((size_t)total_bytes(receiver));
        return receiver->staging == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return MPI_SUCCESS;
}

static int send_reply(receive *receiver) {
    const offbeat_partitioned_comm *comm = receiver->head.comm;
    return PMPI_Isend(receiver->pair.reply, OFFBEAT_PARTITIONED_REPLY_LENGTH, MPI_INT64_T,
                      receiver->pair.peer, offbeat_partitioned_reply_tag(comm, receiver->messages.first_tag),
                      comm->lanes[0], &receiver->pair.reply_request);
}

/* Records an error that concerns all iterations. */
static void note_lasting_failure(receive *receiver, int code) {
    if (receiver->lasting_failure == MPI_SUCCESS)
        receiver->lasting_failure = code;
    offbeat_partitioned_note_failure(head_of(receiver), code);
}

/* The sender's setup is here. */
static void match(receive *receiver) {
    read_setup(receiver);
    receiver->is_matched = 1;
    receiver->pair.reply[OFFBEAT_PARTITIONED_IS_ACCEPTED] = !is_mismatch(receiver);
    int rc = offbeat_partitioned_messages_allocate(&receiver->messages, &receiver->head);
    if (rc == MPI_SUCCESS)
        rc = allocate_buffers(receiver);
    atomic_store_explicit(&receiver->owes_reply, rc == MPI_SUCCESS, memory_order_relaxed);
    note_lasting_failure(receiver, rc);
}

/* Sends the reply to the setup, once: while the first iteration waits for its data, or after that iteration.
 * It must not delay the data. */
static void answer(receive *receiver) {
    if (!atomic_load_explicit(&receiver->owes_reply, memory_order_relaxed))
        return;
    int rc = send_reply(receiver);
    atomic_store_explicit(&receiver->owes_reply, 0, memory_order_relaxed);
    note_lasting_failure(receiver, rc);
}

static void test_setup(receive *receiver) {
    int rc = offbeat_partitioned_matching_test(&receiver->head.comm->root->matching, &receiver->expectation);
    if (atomic_load_explicit(&receiver->expectation.has_setup, memory_order_acquire))
        match(receiver);
    offbeat_partitioned_note_failure(head_of(receiver), rc);
}

int offbeat_partitioned_receive_init(request *head, int source, int tag) {
    receive *receiver = (receive *)head;
    offbeat_partitioned_comm *comm = head->comm;
    offbeat_partitioned_pair_init(&receiver->pair, comm, source, tag);
    if (receiver->pair.is_null)
        return MPI_SUCCESS;
    /* Most sends have one message. Memory for more is allocated when the setup is here. */
    offbeat_partitioned_plan_init(&receiver->messages.plan, head->partitions, 1, 0);
    receiver->messages.limit = 1;
    int rc = offbeat_partitioned_messages_allocate(&receiver->messages, head);
    return rc == MPI_SUCCESS ? offbeat_partitioned_matching_add(&comm->root->matching, receiver->pair.peer,
                                                                tag, comm->identity, &receiver->expectation)
                             : rc;
}

/* --- receiving --- */

/* Where a message goes. Bytes when it is staged or drained. */
static offbeat_partitioned_elements elements_of(const receive *receiver, int index) {
    const request *head = &receiver->head;
    const offbeat_partitioned_messages *messages = &receiver->messages;
    int64_t first = messages->partition_bytes * messages->message[index].first;
    int64_t next = messages->partition_bytes * messages->message[index].end;
    char *raw = receiver->drain != NULL ? receiver->drain : receiver->staging;
    if (raw != NULL || head->element_bytes == 0)
        return (offbeat_partitioned_elements){raw != NULL ? raw + first : head->buffer, next - first,
                                              MPI_BYTE};
    first /= head->element_bytes;
    next /= head->element_bytes;
    return (offbeat_partitioned_elements){head->buffer + first * head->extent, next - first, head->datatype};
}

/* MPI failed: no message may arrive in the caller's buffer after the iteration. Later iterations fail, too:
 * they would receive the messages of this one. */
static void give_up(receive *receiver, int code) {
    const offbeat_partitioned_messages *messages = &receiver->messages;
    receiver->lasting_failure = code;
    for (int i = 0; messages->requests != NULL && i <= messages->limit; i++)
        offbeat_partitioned_cancel(&messages->requests[i]);
    offbeat_partitioned_set_complete(head_of(receiver));
}

/* Posts the receives of an iteration. */
static void post(receive *receiver) {
    request *head = head_of(receiver);
    offbeat_partitioned_messages *messages = &receiver->messages;
    const int peer = receiver->pair.peer, first_tag = messages->first_tag;
    int rc = MPI_SUCCESS;
    offbeat_partitioned_messages_begin(messages, head);
    receiver->arrived_count = receiver->first_open = 0;
    for (int i = 0; i < messages->count && rc == MPI_SUCCESS; i++) {
        rc = offbeat_partitioned_irecv(elements_of(receiver, i), peer, first_tag + i,
                                       head->comm->lanes[messages->message[i].lane], &messages->requests[i]);
    }
    if (messages->has_announcement && rc == MPI_SUCCESS)
        rc = PMPI_Irecv(messages->announcement, OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH, MPI_INT64_T, peer,
                        first_tag + messages->limit, head->comm->lanes[messages->first_lane],
                        &messages->requests[messages->count]);
    offbeat_partitioned_note_failure(head, rc);
    if (rc != MPI_SUCCESS)
        give_up(receiver, rc);
    if (is_mismatch(receiver))
        offbeat_partitioned_note_failure(head, OFFBEAT_PARTITIONED_MISMATCH);
    atomic_store_explicit(&receiver->posted_stamp, offbeat_partitioned_stamp(head), memory_order_release);
}

/* Whether the messages of the current iteration can be received: the sender's setup is known. */
static int is_posted(const receive *receiver) {
    return atomic_load_explicit(&receiver->posted_stamp, memory_order_acquire) ==
           offbeat_partitioned_stamp(&receiver->head);
}

static void start(request *head) {
    receive *receiver = (receive *)head;
    atomic_store_explicit(&head->failure, MPI_SUCCESS, memory_order_relaxed);
    atomic_store_explicit(&head->stamp, offbeat_partitioned_stamp(head) + 1, memory_order_relaxed);
    if (receiver->pair.is_null) {
        atomic_store_explicit(&receiver->posted_stamp, offbeat_partitioned_stamp(head), memory_order_relaxed);
        offbeat_partitioned_set_complete(head);
    } else if (!receiver->is_matched) {
        test_setup(receiver);
    }
    offbeat_partitioned_note_failure(head, receiver->lasting_failure);
    if (receiver->is_matched && receiver->lasting_failure == MPI_SUCCESS)
        post(receiver);
    if (receiver->is_matched && offbeat_partitioned_stamp(head) > 1)
        answer(receiver);
    atomic_store_explicit(&head->is_active, 1, memory_order_release);
}

/* The trials ended: the sender gets their times. */
static int report(receive *receiver) {
    /* The answer to the setup left with the second start; its buffer is used again. */
    int rc = PMPI_Wait(&receiver->pair.reply_request, MPI_STATUS_IGNORE);
    memcpy(&receiver->pair.reply[OFFBEAT_PARTITIONED_TIMES], receiver->times_ns, sizeof receiver->times_ns);
    return rc == MPI_SUCCESS ? send_reply(receiver) : rc;
}

static void note_arrival_time(receive *receiver) {
    const offbeat_partitioned_plan *plan = &receiver->messages.plan;
    const int trial =
        offbeat_partitioned_plan_trial(plan, (int64_t)offbeat_partitioned_stamp(&receiver->head) - 1);
    if (trial >= 0)
        receiver->times_ns[trial] = offbeat_partitioned_now_ns();
    if (trial != plan->trials - 1)
        return;
    offbeat_partitioned_note_failure(head_of(receiver), report(receiver));
}

/* All messages of the iteration arrived. */
static void finish(receive *receiver) {
    request *head = head_of(receiver);
    offbeat_partitioned_messages *messages = &receiver->messages;
    if (messages->plan.is_learned)
        note_arrival_time(receiver);
    if (messages->has_announcement)
        offbeat_partitioned_plan_announce(&messages->plan,
                                          (int)messages->announcement[OFFBEAT_PARTITIONED_NEXT_MESSAGES],
                                          (int)messages->announcement[OFFBEAT_PARTITIONED_IS_DECIDED]);
    if (receiver->staging != NULL) {
        offbeat_partitioned_elements buffer = {head->buffer, head->count * head->partitions, head->datatype};
        offbeat_partitioned_note_failure(
            head, offbeat_partitioned_unpack(receiver->staging, head->element_bytes, head->extent, buffer,
                                             head->comm->root->matching.comm));
    }
    offbeat_partitioned_set_complete(head);
}

/* Tests the receive of one message, and notes that it ended: the message arrived or has an error.
 * @return whether it ended, before or now */
static int has_ended(receive *receiver, int index) {
    request *head = head_of(receiver);
    const offbeat_partitioned_messages *messages = &receiver->messages;
    MPI_Request *message_request = &messages->requests[index];
    int is_done = 0;
    if (*message_request == MPI_REQUEST_NULL)
        return 1;
    int rc = PMPI_Test(message_request, &is_done, MPI_STATUS_IGNORE);
    offbeat_partitioned_note_failure(head, rc);
    if (rc == MPI_SUCCESS && !is_done)
        return 0;
    if (rc != MPI_SUCCESS && *message_request != MPI_REQUEST_NULL) {
        give_up(receiver, rc);
        return 0;
    }
    receiver->arrived_count++;
    if (index < messages->count)
        atomic_store_explicit(&messages->message[index].stamp, offbeat_partitioned_stamp(head),
                              memory_order_release);
    return 1;
}

/* Messages usually arrive in their order, so that one test of the first missing message replaces MPI_Testsome
 * of all, which took most of the receiver's time with 64 messages. A wait for all messages needs no other
 * test. A question about one partition also needs tests of that partition's messages, which may overtake
 * others. */
static void test_messages(receive *receiver, int partition) {
    const offbeat_partitioned_messages *messages = &receiver->messages;
    const int expected_count = messages->count + messages->has_announcement;
    while (receiver->first_open < expected_count && has_ended(receiver, receiver->first_open))
        receiver->first_open++;
    if (partition >= 0 && receiver->drain == NULL) /* a partition is in no message of another size */
        for (int i = messages->first_of[partition]; i <= messages->last_of[partition]; i++)
            has_ended(receiver, i);
    if (receiver->arrived_count == expected_count)
        finish(receiver);
}

/* Matches the sender, and tests the messages of the current iteration in their order up to the first that is
 * missing, and those that hold a partition (-1: none). */
static void progress_inside(receive *receiver, int partition) {
    request *head = head_of(receiver);
    if (!receiver->is_matched && !receiver->pair.is_null)
        test_setup(receiver);
    if (!offbeat_partitioned_is_active(head)) {
        answer(receiver);
        return;
    }
    if (offbeat_partitioned_is_complete(head))
        return;
    const int failure = atomic_load_explicit(&head->failure, memory_order_relaxed);
    if (!is_posted(receiver) && failure > 0) {
        give_up(receiver, failure); /* the setup could not be received: there is nothing to wait for */
        return;
    }
    if (receiver->is_matched && !is_posted(receiver))
        post(receiver);
    if (receiver->is_matched && !offbeat_partitioned_is_complete(head)) {
        test_messages(receiver, partition);
        if (!offbeat_partitioned_is_complete(head))
            answer(receiver);
    }
}

static void progress(request *head, int partition) {
    if (!offbeat_partitioned_try_enter(head))
        return;
    progress_inside((receive *)head, partition);
    offbeat_partitioned_leave(head);
}

static int has_arrived(const request *head, int partition) {
    const receive *receiver = (const receive *)head;
    const offbeat_partitioned_messages *messages = &receiver->messages;
    if (!is_posted(receiver) || receiver->staging != NULL || receiver->drain != NULL)
        return 0;
    for (int i = messages->first_of[partition]; i <= messages->last_of[partition]; i++)
        if (atomic_load_explicit(&messages->message[i].stamp, memory_order_acquire) !=
            offbeat_partitioned_stamp(head))
            return 0;
    return 1;
}

/* A started receive needs the setup; another one must reply to the setup: a sender that frees its request
 * waits for the reply. */
static int is_settled(const request *head) {
    const receive *receiver = (const receive *)head;
    if (!offbeat_partitioned_is_active(head))
        return !atomic_load_explicit(&receiver->owes_reply, memory_order_relaxed);
    return is_posted(receiver) || offbeat_partitioned_is_complete(head);
}

static offbeat_partitioned_envelope envelope(const request *head) {
    const receive *receiver = (const receive *)head;
    if (receiver->pair.is_null)
        return (offbeat_partitioned_envelope){MPI_PROC_NULL, MPI_ANY_TAG, 0};
    return (offbeat_partitioned_envelope){receiver->pair.user_peer, receiver->pair.tag,
                                          total_bytes(receiver)};
}

/* --- the end --- */

static int is_idle(request *head) {
    receive *receiver = (receive *)head;
    int is_done = 1;
    if (receiver->pair.is_null)
        return 1;
    if (!receiver->is_matched)
        test_setup(receiver);
    if (!receiver->is_matched)
        return 0;
    answer(receiver);
    return PMPI_Test(&receiver->pair.reply_request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done;
}

static int abandon(request *head) {
    receive *receiver = (receive *)head;
    int is_done = 0;
    offbeat_partitioned_matching_remove(&head->comm->root->matching, &receiver->expectation);
    return PMPI_Test(&receiver->pair.reply_request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done;
}

static int raise_mismatch(const request *head) {
    const receive *receiver = (const receive *)head;
    return offbeat_partitioned_fail(
        head->comm->user, MPI_ERR_TRUNCATE,
        "partitioned receive from rank %d, tag %d: the send has %d partitions of %lld bytes, this receive "
        "has %d of %lld; both must describe the same number of bytes",
        receiver->pair.user_peer, receiver->pair.tag, receiver->messages.partitions,
        (long long)receiver->messages.partition_bytes, head->partitions,
        (long long)offbeat_partitioned_partition_bytes(head));
}

static void free_receive(request *head) {
    receive *receiver = (receive *)head;
    free(receiver->messages.block);
    free(receiver->staging);
    free(receiver->drain);
    free(receiver);
}

const offbeat_partitioned_operations offbeat_partitioned_receive_operations = {
    .size_bytes = sizeof(receive),
    .ready_refusal = "the request is a receive; only partitions of a send can be ready",
    .start = start,
    .progress = progress,
    .has_arrived = has_arrived,
    .is_settled = is_settled,
    .is_idle = is_idle,
    .abandon = abandon,
    .envelope = envelope,
    .raise_mismatch = raise_mismatch,
    .free = free_receive,
};
