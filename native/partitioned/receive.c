/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/receive.h"

#include "partitioned/matching.h"
#include "partitioned/transfer.h"

#include <stdlib.h>
#include <string.h>

static void set_complete(offbeat_partitioned_request *receive) {
    atomic_store_explicit(&receive->complete, offbeat_partitioned_stamp(receive), memory_order_release);
}

/* --- matching --- */

static void read_setup(offbeat_partitioned_request *receive) {
    const int64_t *setup = receive->setup;
    receive->sender_partitions = (int)setup[OFFBEAT_PARTITIONED_PARTITIONS];
    receive->sender_partition_bytes = setup[OFFBEAT_PARTITIONED_PARTITION_BYTES];
    receive->first_tag = (int)setup[OFFBEAT_PARTITIONED_FIRST_TAG];
    receive->first_lane = (int)setup[OFFBEAT_PARTITIONED_FIRST_LANE];
    receive->lane_step = (int)setup[OFFBEAT_PARTITIONED_LANE_STEP];
    offbeat_partitioned_plan_init(&receive->plan, receive->sender_partitions,
                                  (int)setup[OFFBEAT_PARTITIONED_MESSAGES],
                                  (int)setup[OFFBEAT_PARTITIONED_IS_LEARNED]);
    receive->most_messages = offbeat_partitioned_plan_most(&receive->plan);
}

static int64_t total_bytes(const offbeat_partitioned_request *receive) {
    return receive->count * receive->element_bytes * receive->partitions;
}

static int is_mismatch(const offbeat_partitioned_request *receive) {
    return receive->sender_partition_bytes * receive->sender_partitions != total_bytes(receive);
}

/* Messages end between elements of the sender. When these are not always ends of own elements, messages are
 * received as bytes and unpacked when all have arrived. */
static int allocate_buffers(offbeat_partitioned_request *receive) {
    if (is_mismatch(receive)) {
        receive->drain = malloc((size_t)(receive->sender_partition_bytes * receive->sender_partitions) + 1);
        return receive->drain == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    if (receive->element_bytes > 0 && receive->sender_partition_bytes % receive->element_bytes != 0) {
        receive->staging = malloc((size_t)total_bytes(receive));
        return receive->staging == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return MPI_SUCCESS;
}

static int send_reply(offbeat_partitioned_request *receive) {
    return PMPI_Isend(receive->reply, OFFBEAT_PARTITIONED_REPLY_LENGTH, MPI_INT64_T, receive->peer,
                      offbeat_partitioned_reply_tag(receive), receive->comm->lanes[0],
                      &receive->reply_request);
}

/* The sender's setup is here. */
static void match(offbeat_partitioned_request *receive) {
    read_setup(receive);
    receive->is_matched = 1;
    receive->reply[OFFBEAT_PARTITIONED_IS_ACCEPTED] = !is_mismatch(receive);
    int rc = offbeat_partitioned_allocate_messages(receive);
    if (rc == MPI_SUCCESS)
        rc = allocate_buffers(receive);
    if (receive->match_failure == MPI_SUCCESS)
        receive->match_failure = rc;
    atomic_store_explicit(&receive->owes_reply, rc == MPI_SUCCESS, memory_order_relaxed);
    offbeat_partitioned_note_failure(receive, rc);
}

/* Sends the reply to the setup, once: while the first iteration waits for its data, or after that iteration.
 * It must not delay the data. */
static void answer(offbeat_partitioned_request *receive) {
    if (!atomic_load_explicit(&receive->owes_reply, memory_order_relaxed))
        return;
    int rc = send_reply(receive);
    if (receive->match_failure == MPI_SUCCESS)
        receive->match_failure = rc;
    atomic_store_explicit(&receive->owes_reply, 0, memory_order_relaxed);
    offbeat_partitioned_note_failure(receive, rc);
}

static void test_setup(offbeat_partitioned_request *receive) {
    int rc = offbeat_partitioned_matching_test(receive);
    if (atomic_load_explicit(&receive->has_setup, memory_order_acquire))
        match(receive);
    offbeat_partitioned_note_failure(receive, rc);
}

int offbeat_partitioned_receive_init(offbeat_partitioned_request *receive) {
    if (receive->is_null)
        return MPI_SUCCESS;
    /* Most sends have one message. Memory for more is allocated when the setup is here. */
    offbeat_partitioned_plan_init(&receive->plan, receive->partitions, 1, 0);
    receive->most_messages = 1;
    int rc = offbeat_partitioned_allocate_messages(receive);
    return rc == MPI_SUCCESS ? offbeat_partitioned_matching_add(receive) : rc;
}

/* --- receiving --- */

/* Where a message goes. Bytes when it is staged or drained. */
static offbeat_partitioned_elements place_of(const offbeat_partitioned_request *receive, int message) {
    int64_t first = receive->sender_partition_bytes * receive->message[message].first;
    int64_t next = receive->sender_partition_bytes * receive->message[message].end;
    char *raw = receive->drain != NULL ? receive->drain : receive->staging;
    if (raw != NULL || receive->element_bytes == 0)
        return (offbeat_partitioned_elements){raw != NULL ? raw + first : receive->buffer, next - first,
                                              MPI_BYTE};
    first /= receive->element_bytes;
    next /= receive->element_bytes;
    return (offbeat_partitioned_elements){receive->buffer + first * receive->extent, next - first,
                                          receive->datatype};
}

/* MPI failed: no message may arrive in the caller's buffer after the iteration. Later iterations fail, too:
 * they would receive the messages of this one. */
static void give_up(offbeat_partitioned_request *receive, int code) {
    receive->match_failure = code;
    for (int i = 0; receive->requests != NULL && i <= receive->most_messages; i++)
        offbeat_partitioned_cancel(&receive->requests[i]);
    set_complete(receive);
}

/* Posts the receives of an iteration. */
static void post(offbeat_partitioned_request *receive) {
    int rc = MPI_SUCCESS;
    offbeat_partitioned_begin_iteration(receive);
    receive->arrived = receive->ended = 0;
    for (int i = 0; i < receive->messages && rc == MPI_SUCCESS; i++) {
        rc = offbeat_partitioned_irecv(place_of(receive, i), receive->peer, receive->first_tag + i,
                                       receive->comm->lanes[receive->message[i].lane], &receive->requests[i]);
    }
    if (receive->has_announcement && rc == MPI_SUCCESS)
        rc = PMPI_Irecv(receive->announcement, OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH, MPI_INT64_T,
                        receive->peer, receive->first_tag + receive->most_messages,
                        receive->comm->lanes[receive->first_lane], &receive->requests[receive->messages]);
    offbeat_partitioned_note_failure(receive, rc);
    if (rc != MPI_SUCCESS)
        give_up(receive, rc);
    if (is_mismatch(receive))
        offbeat_partitioned_note_failure(receive, OFFBEAT_PARTITIONED_MISMATCH);
    atomic_store_explicit(&receive->posted, offbeat_partitioned_stamp(receive), memory_order_release);
}

int offbeat_partitioned_receive_is_posted(const offbeat_partitioned_request *receive) {
    return atomic_load_explicit(&receive->posted, memory_order_acquire) == offbeat_partitioned_stamp(receive);
}

void offbeat_partitioned_receive_start(offbeat_partitioned_request *receive) {
    atomic_store_explicit(&receive->failure, MPI_SUCCESS, memory_order_relaxed);
    atomic_store_explicit(&receive->stamp, offbeat_partitioned_stamp(receive) + 1, memory_order_relaxed);
    if (receive->is_null) {
        atomic_store_explicit(&receive->posted, offbeat_partitioned_stamp(receive), memory_order_relaxed);
        set_complete(receive);
    } else if (!receive->is_matched) {
        test_setup(receive);
    }
    offbeat_partitioned_note_failure(receive, receive->match_failure);
    if (receive->is_matched && receive->match_failure == MPI_SUCCESS)
        post(receive);
    if (receive->is_matched && offbeat_partitioned_stamp(receive) > 1)
        answer(receive);
    atomic_store_explicit(&receive->is_active, 1, memory_order_release);
}

/* The trials ended: the sender gets their times. */
static int report(offbeat_partitioned_request *receive) {
    /* The answer to the setup left with the second start; its buffer is used again. */
    int rc = PMPI_Wait(&receive->reply_request, MPI_STATUS_IGNORE);
    memcpy(&receive->reply[OFFBEAT_PARTITIONED_TIMES], receive->times_ns, sizeof receive->times_ns);
    return rc == MPI_SUCCESS ? send_reply(receive) : rc;
}

static void note_arrival_time(offbeat_partitioned_request *receive) {
    const int trial =
        offbeat_partitioned_plan_trial(&receive->plan, (int64_t)offbeat_partitioned_stamp(receive) - 1);
    if (trial >= 0)
        receive->times_ns[trial] = offbeat_partitioned_now_ns();
    if (trial != receive->plan.trials - 1)
        return;
    offbeat_partitioned_note_failure(receive, report(receive));
}

/* All messages of the iteration arrived. */
static void finish(offbeat_partitioned_request *receive) {
    if (receive->plan.is_learned)
        note_arrival_time(receive);
    if (receive->has_announcement)
        offbeat_partitioned_plan_announce(&receive->plan,
                                          (int)receive->announcement[OFFBEAT_PARTITIONED_NEXT_MESSAGES],
                                          (int)receive->announcement[OFFBEAT_PARTITIONED_IS_DECIDED]);
    if (receive->staging != NULL) {
        offbeat_partitioned_elements all = {receive->buffer, receive->count * receive->partitions,
                                            receive->datatype};
        offbeat_partitioned_note_failure(
            receive, offbeat_partitioned_unpack(receive->staging, receive->element_bytes, receive->extent,
                                                all, receive->comm->setup));
    }
    set_complete(receive);
}

/* Tests the receive of one message, and notes that it ended: the message arrived or has an error.
 * @return whether it ended, before or now */
static int has_ended(offbeat_partitioned_request *receive, int message) {
    MPI_Request *request = &receive->requests[message];
    int is_done = 0;
    if (*request == MPI_REQUEST_NULL)
        return 1;
    int rc = PMPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    offbeat_partitioned_note_failure(receive, rc);
    if (rc == MPI_SUCCESS && !is_done)
        return 0;
    if (rc != MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
        give_up(receive, rc);
        return 0;
    }
    receive->arrived++;
    if (message < receive->messages)
        atomic_store_explicit(&receive->message[message].stamp, offbeat_partitioned_stamp(receive),
                              memory_order_release);
    return 1;
}

/* Messages usually arrive in their order, so that one test of the first missing message replaces MPI_Testsome
 * of all, which took most of the receiver's time with 64 messages. A wait for all messages needs no other
 * test. A question about one partition also needs tests of that partition's messages, which may overtake
 * others. */
static void test_messages(offbeat_partitioned_request *receive, int partition) {
    const int expected = receive->messages + receive->has_announcement;
    while (receive->ended < expected && has_ended(receive, receive->ended))
        receive->ended++;
    if (partition >= 0 && receive->drain == NULL) /* a partition is in no message of another size */
        for (int i = receive->first_of[partition]; i <= receive->last_of[partition]; i++)
            has_ended(receive, i);
    if (receive->arrived == expected)
        finish(receive);
}

void offbeat_partitioned_receive_progress(offbeat_partitioned_request *receive, int partition) {
    if (!receive->is_matched && !receive->is_null)
        test_setup(receive);
    if (!atomic_load_explicit(&receive->is_active, memory_order_acquire)) {
        answer(receive);
        return;
    }
    if (offbeat_partitioned_is_complete(receive))
        return;
    const int failure = atomic_load_explicit(&receive->failure, memory_order_relaxed);
    if (!offbeat_partitioned_receive_is_posted(receive) && failure > 0) {
        give_up(receive, failure); /* the setup could not be received: there is nothing to wait for */
        return;
    }
    if (receive->is_matched && !offbeat_partitioned_receive_is_posted(receive))
        post(receive);
    if (receive->is_matched && !offbeat_partitioned_is_complete(receive)) {
        test_messages(receive, partition);
        if (!offbeat_partitioned_is_complete(receive))
            answer(receive);
    }
}

int offbeat_partitioned_receive_has(offbeat_partitioned_request *receive, int partition) {
    if (offbeat_partitioned_is_complete(receive))
        return 1;
    if (!offbeat_partitioned_receive_is_posted(receive) || receive->staging != NULL || receive->drain != NULL)
        return 0;
    for (int i = receive->first_of[partition]; i <= receive->last_of[partition]; i++)
        if (atomic_load_explicit(&receive->message[i].stamp, memory_order_acquire) !=
            offbeat_partitioned_stamp(receive))
            return 0;
    return 1;
}

int offbeat_partitioned_receive_is_idle(offbeat_partitioned_request *receive) {
    int is_done = 1;
    if (receive->is_null)
        return 1;
    if (!receive->is_matched)
        test_setup(receive);
    if (!receive->is_matched)
        return 0;
    answer(receive);
    return PMPI_Test(&receive->reply_request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done;
}
