/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/collective.h"

#include "partitioned/transfer.h"

#include <stdlib.h>

typedef offbeat_partitioned_request request;
typedef offbeat_partitioned_collective collective;
typedef offbeat_partitioned_step step;

static request *head_of(collective *call) {
    return &call->marks.head;
}

static unsigned stamp_of(const collective *call) {
    return offbeat_partitioned_stamp(&call->marks.head);
}

/* The parts of a message that travel. Each has a tag of its own. */
enum { RESULT, PARTIAL, PARTS };

/* What the end of an MPI request means: the arrival of a part, or nothing. */
enum { SEND_END = PARTS, PURPOSES };

/* --- the routes of messages --- */

static int left_of(const collective *call, int rank) {
    return (rank + call->size - 1) % call->size;
}

static int start_of(const collective *call, int message) {
    return offbeat_partitioned_ring_start(call->size, message, call->is_in_rank_order);
}

/* Whether the reduction of a message ends here. */
static int is_end(const collective *call, int message) {
    return left_of(call, start_of(call, message)) == call->rank;
}

static int has_contribution(const collective *call) {
    return call->is_allreduce || call->tree.parent < 0;
}

/* Whether this process forwards the result: of an allreduce, unless the reduction ended on the right. */
static int forwards(const collective *call, int message) {
    return !call->is_allreduce || call->tree.first_child != left_of(call, start_of(call, message));
}

/* --- memory --- */

int offbeat_partitioned_collective_allocate(collective *call) {
    const int steps = offbeat_partitioned_steps(call);
    call->capacity = steps * (PARTS + call->is_allreduce + call->tree.children);
    call->steps = calloc((size_t)steps, sizeof *call->steps);
    call->requests = malloc((size_t)call->capacity * sizeof(MPI_Request));
    call->purposes = malloc((size_t)call->capacity * sizeof *call->purposes);
    call->indices = malloc((size_t)call->capacity * sizeof *call->indices);
    call->statuses = malloc((size_t)call->capacity * sizeof *call->statuses);
    if (call->steps == NULL || call->requests == NULL || call->purposes == NULL || call->indices == NULL ||
        call->statuses == NULL)
        return MPI_ERR_NO_MEM;
    return MPI_SUCCESS;
}

/* --- messages --- */

static offbeat_partitioned_elements elements_of(const collective *call, char *array, int message) {
    const int64_t first = offbeat_partitioned_first_unit(&call->layout, message) * call->unit_elements;
    const int64_t next = offbeat_partitioned_first_unit(&call->layout, message + 1) * call->unit_elements;
    return (offbeat_partitioned_elements){array + first * call->marks.head.extent, next - first,
                                          call->marks.head.datatype};
}

static MPI_Comm lane_of(const collective *call, int message) {
    const int lane =
        (int)(((int64_t)call->marks.messages.first_lane + (int64_t)message * call->marks.messages.lane_step) %
              call->marks.head.comm->lane_count);
    return call->marks.head.comm->lanes[lane];
}

static int tag_of(const collective *call, int first_tag, int message, int part) {
    return first_tag + part * offbeat_partitioned_steps(call) + message;
}

/* Posts the receive of a part into an array of all elements. */
static void receive(collective *call, char *array, int message, int part) {
    int rc = offbeat_partitioned_irecv(elements_of(call, array, message), call->tree.parent,
                                       tag_of(call, call->parent_tag, message, part), lane_of(call, message),
                                       &call->requests[call->request_count]);
    offbeat_partitioned_note_failure(head_of(call), rc);
    call->purposes[call->request_count] = message * PURPOSES + part;
    call->request_count += rc == MPI_SUCCESS;
}

/* Sends a part of an array of all elements to a child. */
static void send(collective *call, char *array, int message, int part, int child) {
    int rc = offbeat_partitioned_isend(elements_of(call, array, message),
                                       (call->tree.first_child + child) % call->size,
                                       tag_of(call, call->marks.messages.first_tag, message, part),
                                       lane_of(call, message), &call->requests[call->request_count]);
    offbeat_partitioned_note_failure(head_of(call), rc);
    call->purposes[call->request_count] = SEND_END;
    call->request_count += rc == MPI_SUCCESS;
}

/* --- steps --- */

/* The result of a message is in the buffer. */
static void finish(collective *call, int message) {
    call->steps[message].waits_for = OFFBEAT_PARTITIONED_NO_MESSAGE;
    call->finished_count++;
    for (int i = 0; i < call->tree.children && forwards(call, message); i++)
        send(call, call->marks.head.buffer, message, RESULT, i);
    atomic_store_explicit(&call->steps[message].finished_stamp, stamp_of(call), memory_order_release);
}

/* Adds the own contribution of an allreduce. The receive of the result is posted before the sum leaves, and
 * not earlier, as the result's buffer may hold the contribution. */
static void add(collective *call, int message) {
    const int64_t count = elements_of(call, call->marks.head.buffer, message).count;
    const int64_t first = offbeat_partitioned_first_unit(&call->layout, message);
    const int is_first = start_of(call, message) == call->rank;
    char *sum = NULL;
    if (is_end(call, message)) {
        offbeat_partitioned_note_failure(
            head_of(call), offbeat_partitioned_reduction_end(&call->reduction, first, count, is_first));
        finish(call, message);
        return;
    }
    offbeat_partitioned_note_failure(
        head_of(call), offbeat_partitioned_reduction_pass(&call->reduction, first, count, is_first, &sum));
    call->steps[message].waits_for = OFFBEAT_PARTITIONED_RESULT;
    receive(call, call->marks.head.buffer, message, RESULT);
    send(call, sum, message, PARTIAL, 0);
}

/* Contributes to a message if all that it waits for is here. */
static void contribute(collective *call, int message) {
    const step *current = &call->steps[message];
    const atomic_uint *ready = &call->marks.messages.message[message / call->layout.blocks].stamp;
    if (current->waits_for != OFFBEAT_PARTITIONED_CONTRIBUTION ||
        atomic_load_explicit(ready, memory_order_acquire) != stamp_of(call))
        return;
    if (!call->is_allreduce)
        finish(call, message);
    else if (current->has_partial || start_of(call, message) == call->rank)
        add(call, message);
}

static void contribute_ready(collective *call) {
    const unsigned ready = atomic_load_explicit(&call->ready_groups, memory_order_acquire);
    if (ready == call->checked_groups)
        return;
    call->checked_groups = ready;
    for (int i = 0; i < offbeat_partitioned_steps(call); i++)
        contribute(call, i);
}

static void arrive(collective *call, int purpose) {
    const int message = purpose / PURPOSES, part = purpose % PURPOSES;
    if (part == RESULT)
        finish(call, message);
    if (part != PARTIAL)
        return;
    call->steps[message].has_partial = 1;
    contribute(call, message);
}

/* --- progress --- */

static void remove_ended(collective *call) {
    int count = 0;
    for (int i = 0; i < call->request_count; i++) {
        if (call->requests[i] == MPI_REQUEST_NULL)
            continue;
        call->requests[count] = call->requests[i];
        call->purposes[count++] = call->purposes[i];
    }
    call->request_count = count;
}

static void test_messages(collective *call) {
    int count = 0;
    int rc = PMPI_Testsome(call->request_count, call->requests, &count, call->indices, call->statuses);
    offbeat_partitioned_note_failures(head_of(call), rc, call->statuses, count == MPI_UNDEFINED ? 0 : count);
    if (rc != MPI_SUCCESS || count == MPI_UNDEFINED || count == 0)
        return;
    for (int i = 0; i < count; i++)
        arrive(call, call->purposes[call->indices[i]]);
    remove_ended(call);
}

static int has_failed(const collective *call) {
    return atomic_load_explicit(&call->marks.head.failure, memory_order_relaxed) != MPI_SUCCESS;
}

static void test_often(collective *call, int tests) {
    for (; tests > 0 && call->request_count > 0 && !has_failed(call); tests--)
        test_messages(call);
}

/* MPI failed: no message may arrive in the caller's buffer after the iteration. Messages that are on their
 * way remain. Later iterations fail, too: they would receive the messages of this one. */
static void give_up(collective *call) {
    call->lasting_failure = atomic_load_explicit(&call->marks.head.failure, memory_order_relaxed);
    for (int i = 0; i < call->request_count; i++)
        if (call->purposes[i] != SEND_END)
            offbeat_partitioned_cancel(&call->requests[i]);
    remove_ended(call);
}

/* Whether no thread can still mark a partition: after a failure, the program may free the request. */
static int are_all_marked(const collective *call) {
    for (int i = 0; i < call->layout.groups && has_contribution(call); i++)
        if (atomic_load_explicit(&call->marks.messages.message[i].stamp, memory_order_acquire) !=
            stamp_of(call))
            return 0;
    return 1;
}

static void progress_inside(collective *call, int tests) {
    if (!offbeat_partitioned_is_active(&call->marks.head) ||
        offbeat_partitioned_is_complete(&call->marks.head))
        return;
    if (call->lasting_failure == MPI_SUCCESS) {
        contribute_ready(call);
        test_often(call, tests);
    }
    const int is_failed = has_failed(call);
    if (is_failed)
        give_up(call);
    const int is_done =
        is_failed ? are_all_marked(call)
                  : call->finished_count == offbeat_partitioned_steps(call) && call->request_count == 0;
    if (is_done && atomic_load_explicit(&call->markers, memory_order_acquire) == 0)
        offbeat_partitioned_set_complete(head_of(call));
}

/* A thread that finds the request entered leaves new ready groups to the thread inside, which checks for them
 * after it left. Additions of 0 order the checks: either that thread sees the new groups, or the other thread
 * sees that it left. */
static void progress_often(collective *call, int tests) {
    unsigned groups;
    do {
        if (!offbeat_partitioned_try_enter(head_of(call)))
            return;
        groups = atomic_load(&call->ready_groups);
        progress_inside(call, tests);
        offbeat_partitioned_leave(head_of(call));
    } while (atomic_fetch_add(&call->ready_groups, 0) != groups);
}

static void progress(request *head, int partition) {
    (void)partition;
    progress_often((collective *)head, 1);
}

/* --- the caller's side --- */

/* How often the messages are tested after a group is ready; `ready_count` counts the groups of all
 * iterations. After the last group of an iteration, the program waits, which tests them. */
static int tests_after(const collective *call, int group, unsigned ready_count) {
    const int is_last = ready_count % (unsigned)call->layout.groups == 0;
    const int tests = is_last ? 1 : offbeat_partitioned_tests_after(&call->marks.messages, group);
    return tests > 1 ? tests : 1;
}

/* All partitions of a group are ready: its messages leave, inside this call or inside the call of a thread
 * that progresses the request at the moment. */
static void send_group(request *head, int group) {
    collective *call = (collective *)head;
    atomic_fetch_add(&call->markers, 1);
    atomic_store_explicit(&call->marks.messages.message[group].stamp, stamp_of(call), memory_order_release);
    const unsigned ready_count = atomic_fetch_add(&call->ready_groups, 1) + 1;
    progress_often(call, tests_after(call, group, ready_count));
    /* The last access: when the count is 0, another thread may complete and free the request. */
    atomic_fetch_sub(&call->markers, 1);
}

/* Posts the first receives of an iteration. */
static void post(collective *call) {
    for (int i = 0; i < offbeat_partitioned_steps(call); i++) {
        if (!has_contribution(call))
            receive(call, call->marks.head.buffer, i, RESULT);
        else if (call->is_allreduce && start_of(call, i) != call->rank)
            receive(call, call->reduction.partial, i, PARTIAL);
    }
}

static void start(request *head) {
    collective *call = (collective *)head;
    const int can_post = call->lasting_failure == MPI_SUCCESS;
    for (int i = 0; i < offbeat_partitioned_steps(call) && can_post; i++) {
        call->steps[i].waits_for =
            has_contribution(call) ? OFFBEAT_PARTITIONED_CONTRIBUTION : OFFBEAT_PARTITIONED_RESULT;
        call->steps[i].has_partial = 0;
    }
    if (can_post)
        call->finished_count = call->request_count = 0;
    offbeat_partitioned_marks_begin(&call->marks);
    if (head->partitions == 0)
        send_group(head, 0);
    atomic_store_explicit(&head->is_active, 1, memory_order_release);
    offbeat_partitioned_note_failure(head, call->lasting_failure);
    if (can_post)
        post(call);
}

static int has_arrived(const request *head, int partition) {
    const collective *call = (const collective *)head;
    const int first = call->marks.messages.first_of[partition] * call->layout.blocks;
    for (int i = first; i < first + call->layout.blocks; i++)
        if (atomic_load_explicit(&call->steps[i].finished_stamp, memory_order_acquire) != stamp_of(call))
            return 0;
    return 1;
}

/* Other processes wait for what this one forwards. */
static int is_settled(const request *head) {
    return !offbeat_partitioned_is_active(head) || offbeat_partitioned_is_complete(head);
}

/* --- the end --- */

/* The last iteration may have failed. */
static int is_idle(request *head) {
    collective *call = (collective *)head;
    int is_done = 1;
    return PMPI_Testall(call->request_count, call->requests, &is_done, call->statuses) == MPI_SUCCESS &&
           is_done;
}

/* MPI still sends from its memory: it failed. */
static int abandon(request *head) {
    (void)head;
    return 0;
}

static void free_collective(request *head) {
    collective *call = (collective *)head;
    offbeat_partitioned_reduction_free(&call->reduction);
    offbeat_partitioned_marks_free(&call->marks);
    free(call->steps);
    free(call->requests);
    free(call->purposes);
    free(call->indices);
    free(call->statuses);
    free(call);
}

const offbeat_partitioned_operations offbeat_partitioned_collective_operations = {
    .size_bytes = sizeof(collective),
    .ready_refusal = "the request is a broadcast from another rank; only the root's partitions can be ready",
    .start = start,
    .send = send_group,
    .progress = progress,
    .has_arrived = has_arrived,
    .is_settled = is_settled,
    .is_idle = is_idle,
    .abandon = abandon,
    .free = free_collective,
};
