/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/collective.h"

#include "partitioned/send.h"
#include "partitioned/transfer.h"

#include <stdlib.h>

typedef offbeat_partitioned_collective collective;
typedef offbeat_partitioned_step step;

/* The parts of a message that travel. Each has a tag of its own. */
enum { RESULT, PARTIAL, PARTS };

/* What the end of an MPI request means: the arrival of a part, or nothing. */
enum { SENT = PARTS, PURPOSES };

/* --- the routes of messages --- */

static int left_of(const collective *of, int rank) {
    return (rank + of->size - 1) % of->size;
}

static int start_of(const collective *of, int message) {
    return offbeat_partitioned_ring_start(of->size, message, of->is_in_rank_order);
}

/* Whether the reduction of a message ends here. */
static int is_end(const collective *of, int message) {
    return left_of(of, start_of(of, message)) == of->rank;
}

static int has_contribution(const collective *of) {
    return of->is_allreduce || of->tree.parent < 0;
}

/* Whether this process forwards the result: of an allreduce, unless the reduction ended on the right. */
static int forwards(const collective *of, int message) {
    return !of->is_allreduce || of->tree.first_child != left_of(of, start_of(of, message));
}

/* --- memory --- */

int offbeat_partitioned_collective_allocate(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    const int steps = offbeat_partitioned_steps(of);
    of->capacity = steps * (PARTS + of->is_allreduce + of->tree.children);
    of->steps = calloc((size_t)steps, sizeof *of->steps);
    of->requests = malloc((size_t)of->capacity * sizeof(MPI_Request));
    of->purposes = malloc((size_t)of->capacity * sizeof *of->purposes);
    of->indices = malloc((size_t)of->capacity * sizeof *of->indices);
    of->statuses = request->statuses = malloc((size_t)of->capacity * sizeof *of->statuses);
    if (of->steps == NULL || of->requests == NULL || of->purposes == NULL || of->indices == NULL ||
        of->statuses == NULL)
        return MPI_ERR_NO_MEM;
    return MPI_SUCCESS;
}

void offbeat_partitioned_collective_free(collective *of) {
    if (of == NULL)
        return;
    offbeat_partitioned_reduction_free(&of->reduction);
    free(of->steps);
    free(of->requests);
    free(of->purposes);
    free(of->indices);
    free(of->statuses);
    free(of);
}

/* --- messages --- */

static offbeat_partitioned_elements elements_of(const offbeat_partitioned_request *request, char *array,
                                                int message) {
    const collective *of = request->collective;
    const int64_t first = offbeat_partitioned_first_unit(&of->layout, message) * of->unit_elements;
    const int64_t next = offbeat_partitioned_first_unit(&of->layout, message + 1) * of->unit_elements;
    return (offbeat_partitioned_elements){array + first * request->extent, next - first, request->datatype};
}

static MPI_Comm lane_of(const offbeat_partitioned_request *request, int message) {
    const int lane = (int)(((int64_t)request->first_lane + (int64_t)message * request->lane_step) %
                           request->comm->lane_count);
    return request->comm->lanes[lane];
}

static int tag_of(const collective *of, int first_tag, int message, int part) {
    return first_tag + part * offbeat_partitioned_steps(of) + message;
}

/* Posts the receive of a part into an array of all elements. */
static void receive(offbeat_partitioned_request *request, char *array, int message, int part) {
    collective *of = request->collective;
    int rc = offbeat_partitioned_irecv(elements_of(request, array, message), of->tree.parent,
                                       tag_of(of, of->parent_tag, message, part), lane_of(request, message),
                                       &of->requests[of->active]);
    offbeat_partitioned_note_failure(request, rc);
    of->purposes[of->active] = message * PURPOSES + part;
    of->active += rc == MPI_SUCCESS;
}

/* Sends a part of an array of all elements to a child. */
static void send(offbeat_partitioned_request *request, char *array, int message, int part, int child) {
    collective *of = request->collective;
    int rc = offbeat_partitioned_isend(
        elements_of(request, array, message), (of->tree.first_child + child) % of->size,
        tag_of(of, request->first_tag, message, part), lane_of(request, message), &of->requests[of->active]);
    offbeat_partitioned_note_failure(request, rc);
    of->purposes[of->active] = SENT;
    of->active += rc == MPI_SUCCESS;
}

/* --- steps --- */

/* The result of a message is in the buffer. */
static void finish(offbeat_partitioned_request *request, int message) {
    collective *of = request->collective;
    of->steps[message].waits_for = OFFBEAT_PARTITIONED_FINISHED;
    of->finished++;
    for (int i = 0; i < of->tree.children && forwards(of, message); i++)
        send(request, request->buffer, message, RESULT, i);
    atomic_store_explicit(&of->steps[message].finished, offbeat_partitioned_stamp(request),
                          memory_order_release);
}

/* Adds the own contribution of an allreduce. The receive of the result is posted before the sum leaves, and
 * not earlier, as the result's buffer may hold the contribution. */
static void add(offbeat_partitioned_request *request, int message) {
    collective *of = request->collective;
    const offbeat_partitioned_elements all = elements_of(request, request->buffer, message);
    const int64_t first = offbeat_partitioned_first_unit(&of->layout, message);
    const int is_first = start_of(of, message) == of->rank;
    char *sum = NULL;
    if (is_end(of, message)) {
        offbeat_partitioned_note_failure(
            request, offbeat_partitioned_reduction_end(&of->reduction, first, all.count, is_first));
        finish(request, message);
        return;
    }
    offbeat_partitioned_note_failure(
        request, offbeat_partitioned_reduction_pass(&of->reduction, first, all.count, is_first, &sum));
    of->steps[message].waits_for = OFFBEAT_PARTITIONED_RESULT;
    receive(request, request->buffer, message, RESULT);
    send(request, sum, message, PARTIAL, 0);
}

/* Contributes to a message if all that it waits for is here. */
static void contribute(offbeat_partitioned_request *request, int message) {
    const collective *of = request->collective;
    const step *at = &of->steps[message];
    const atomic_uint *ready = &request->message[message / of->layout.blocks].stamp;
    if (at->waits_for != OFFBEAT_PARTITIONED_CONTRIBUTION ||
        atomic_load_explicit(ready, memory_order_acquire) != offbeat_partitioned_stamp(request))
        return;
    if (!of->is_allreduce)
        finish(request, message);
    else if (at->has_partial || start_of(of, message) == of->rank)
        add(request, message);
}

static void contribute_ready(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    const unsigned ready = atomic_load_explicit(&of->groups_ready, memory_order_acquire);
    if (ready == of->groups_checked)
        return;
    of->groups_checked = ready;
    for (int i = 0; i < offbeat_partitioned_steps(of); i++)
        contribute(request, i);
}

static void arrive(offbeat_partitioned_request *request, int purpose) {
    const int message = purpose / PURPOSES, part = purpose % PURPOSES;
    if (part == RESULT)
        finish(request, message);
    if (part != PARTIAL)
        return;
    request->collective->steps[message].has_partial = 1;
    contribute(request, message);
}

/* --- progress --- */

static void remove_ended(collective *of) {
    int kept = 0;
    for (int i = 0; i < of->active; i++) {
        if (of->requests[i] == MPI_REQUEST_NULL)
            continue;
        of->requests[kept] = of->requests[i];
        of->purposes[kept++] = of->purposes[i];
    }
    of->active = kept;
}

static void test_messages(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    int count = 0;
    int rc = PMPI_Testsome(of->active, of->requests, &count, of->indices, request->statuses);
    offbeat_partitioned_note_failures(request, rc, count == MPI_UNDEFINED ? 0 : count);
    if (rc != MPI_SUCCESS || count == MPI_UNDEFINED || count == 0)
        return;
    for (int i = 0; i < count; i++)
        arrive(request, of->purposes[of->indices[i]]);
    remove_ended(of);
}

static int has_failed(const offbeat_partitioned_request *request) {
    return atomic_load_explicit(&request->failure, memory_order_relaxed) != MPI_SUCCESS;
}

static void test_often(offbeat_partitioned_request *request, int tests) {
    for (; tests > 0 && request->collective->active > 0 && !has_failed(request); tests--)
        test_messages(request);
}

/* MPI failed: no message may arrive in the caller's buffer after the iteration. Messages that are on their
 * way remain. Later iterations fail, too: they would receive the messages of this one. */
static void give_up(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    request->match_failure = atomic_load_explicit(&request->failure, memory_order_relaxed);
    for (int i = 0; i < of->active; i++)
        if (of->purposes[i] != SENT)
            offbeat_partitioned_cancel(&of->requests[i]);
    remove_ended(of);
}

/* Whether no thread can still mark a partition: after a failure, the program may free the request. */
static int are_all_marked(const offbeat_partitioned_request *request) {
    const collective *of = request->collective;
    for (int i = 0; i < of->layout.groups && has_contribution(of); i++)
        if (atomic_load_explicit(&request->message[i].stamp, memory_order_acquire) !=
            offbeat_partitioned_stamp(request))
            return 0;
    return 1;
}

static void progress(offbeat_partitioned_request *request, int tests) {
    collective *of = request->collective;
    if (!atomic_load_explicit(&request->is_active, memory_order_acquire) ||
        offbeat_partitioned_is_complete(request))
        return;
    if (request->match_failure == MPI_SUCCESS) {
        contribute_ready(request);
        test_often(request, tests);
    }
    const int is_failed = has_failed(request);
    if (is_failed)
        give_up(request);
    const int is_done = is_failed ? are_all_marked(request)
                                  : of->finished == offbeat_partitioned_steps(of) && of->active == 0;
    if (is_done && atomic_load_explicit(&of->markers, memory_order_acquire) == 0)
        atomic_store_explicit(&request->complete, offbeat_partitioned_stamp(request), memory_order_release);
}

/* A thread that finds the request entered leaves new ready groups to the thread inside, which checks for them
 * after it left. Additions of 0 order the checks: either that thread sees the new groups, or the other thread
 * sees that it left. */
static void progress_often(offbeat_partitioned_request *request, int tests) {
    collective *of = request->collective;
    unsigned seen;
    do {
        if (!offbeat_partitioned_try_enter(request))
            return;
        seen = atomic_load(&of->groups_ready);
        progress(request, tests);
        offbeat_partitioned_leave(request);
    } while (atomic_fetch_add(&of->groups_ready, 0) != seen);
}

void offbeat_partitioned_collective_progress(offbeat_partitioned_request *request) {
    progress_often(request, 1);
}

/* --- the caller's side --- */

void offbeat_partitioned_collective_start(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    if (request->match_failure != MPI_SUCCESS) {
        offbeat_partitioned_send_start(request);
        offbeat_partitioned_note_failure(request, request->match_failure);
        return;
    }
    of->finished = 0;
    of->active = 0;
    for (int i = 0; i < offbeat_partitioned_steps(of); i++) {
        of->steps[i].waits_for =
            has_contribution(of) ? OFFBEAT_PARTITIONED_CONTRIBUTION : OFFBEAT_PARTITIONED_RESULT;
        of->steps[i].has_partial = 0;
    }
    offbeat_partitioned_send_start(request);
    for (int i = 0; i < offbeat_partitioned_steps(of); i++) {
        if (!has_contribution(of))
            receive(request, request->buffer, i, RESULT);
        else if (of->is_allreduce && start_of(of, i) != of->rank)
            receive(request, of->reduction.partial, i, PARTIAL);
    }
}

/* How often the messages are tested after a group is ready; `ready` counts the groups of all iterations.
 * After the last group of an iteration, the program waits, which tests them. */
static int tests_after(const offbeat_partitioned_request *request, int group, unsigned ready) {
    const int is_last = ready % (unsigned)request->collective->layout.groups == 0;
    const int tests = is_last ? 1 : offbeat_partitioned_tests_after(request, group);
    return tests > 1 ? tests : 1;
}

void offbeat_partitioned_collective_ready(offbeat_partitioned_request *request, int group) {
    collective *of = request->collective;
    atomic_fetch_add(&of->markers, 1);
    atomic_store_explicit(&request->message[group].stamp, offbeat_partitioned_stamp(request),
                          memory_order_release);
    const unsigned ready = atomic_fetch_add(&of->groups_ready, 1) + 1;
    progress_often(request, tests_after(request, group, ready));
    /* The last access: when the count is 0, another thread may complete and free the request. */
    atomic_fetch_sub(&of->markers, 1);
}

int offbeat_partitioned_collective_is_idle(offbeat_partitioned_request *request) {
    collective *of = request->collective;
    int is_done = 1;
    return PMPI_Testall(of->active, of->requests, &is_done, of->statuses) == MPI_SUCCESS && is_done;
}

int offbeat_partitioned_collective_has(offbeat_partitioned_request *request, int partition) {
    const collective *of = request->collective;
    const int first = request->first_of[partition] * of->layout.blocks;
    if (offbeat_partitioned_is_complete(request))
        return 1;
    for (int i = first; i < first + of->layout.blocks; i++)
        if (atomic_load_explicit(&of->steps[i].finished, memory_order_acquire) !=
            offbeat_partitioned_stamp(request))
            return 0;
    return 1;
}
