/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions of an iteration but for its completion: start, ready partitions, arrived partitions.
 */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/complete.h"
#include "partitioned/errors.h"
#include "partitioned/marks.h"
#include "partitioned/progress.h"

#include <sched.h>

typedef offbeat_partitioned_marked_request marked_request;

static MPI_Comm handler_of(const offbeat_partitioned_request *request) {
    return request->comm->user;
}

/* --- start --- */

/* Another thread may hold the request while it progresses waiting receives; it may need this core. */
static void enter(offbeat_partitioned_request *request) {
    while (!offbeat_partitioned_try_enter(request))
        sched_yield();
}

static void start(offbeat_partitioned_request *request) {
    enter(request);
    request->operations->start(request);
    offbeat_partitioned_leave(request);
    if (request->operations->is_settled(request))
        return;
    /* A receive is still listed if its reply failed after the last iteration. */
    offbeat_partitioned_remove_waiting(request);
    offbeat_partitioned_add_waiting(request);
}

static int check_start(const char *function, const offbeat_prequest *request) {
    if (request == NULL || *request == OFFBEAT_PREQUEST_NULL)
        return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_REQUEST, "%s: the request is null", function);
    if (offbeat_partitioned_is_active(*request))
        return offbeat_partitioned_fail(
            handler_of(*request), MPI_ERR_REQUEST,
            "%s: the request was started already; complete it before the next start", function);
    return MPI_SUCCESS;
}

int offbeat_pstart(offbeat_prequest *request) {
    int rc = check_start("offbeat_pstart", request);
    if (rc != MPI_SUCCESS)
        return rc;
    start(*request);
    offbeat_partitioned_progress_some();
    return MPI_SUCCESS;
}

int offbeat_pstartall(int count, offbeat_prequest requests[]) {
    if (count < 0 || (count > 0 && requests == NULL))
        return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_ARG,
                                        "offbeat_pstartall: there is no list of %d requests", count);
    for (int i = 0; i < count; i++) {
        int rc = check_start("offbeat_pstartall", &requests[i]);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    int rc = MPI_SUCCESS;
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        rc = check_start("offbeat_pstartall", &requests[i]); /* the list may have a request twice */
        if (rc == MPI_SUCCESS)
            start(requests[i]);
    }
    offbeat_partitioned_progress();
    return rc;
}

/* --- ready partitions --- */

static int check_partition(const char *function, const offbeat_partitioned_request *request, int partition) {
    if (partition >= 0 && partition < request->partitions)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(handler_of(request), MPI_ERR_ARG,
                                    "%s: partition %d does not exist; the request has partitions 0 to %d",
                                    function, partition, request->partitions - 1);
}

static int check_send(const char *function, const offbeat_partitioned_request *request) {
    if (request == OFFBEAT_PREQUEST_NULL)
        return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_REQUEST, "%s: the request is null", function);
    if (!request->can_be_ready)
        return offbeat_partitioned_fail(handler_of(request), MPI_ERR_REQUEST, "%s: %s", function,
                                        request->operations->ready_refusal);
    if (!offbeat_partitioned_is_active(request))
        return offbeat_partitioned_fail(
            handler_of(request), MPI_ERR_REQUEST,
            "%s: the request is not started; partitions can be ready after a start", function);
    return MPI_SUCCESS;
}

static int check_ready(const char *function, const offbeat_partitioned_request *request, int partition) {
    int rc = check_send(function, request);
    return rc == MPI_SUCCESS ? check_partition(function, request, partition) : rc;
}

/* Whether check_ready would succeed, in few instructions: programs mark many partitions. */
static inline int can_mark(const offbeat_partitioned_request *request, int partition) {
    return offbeat_partitioned_is_active(request) && request->can_be_ready && partition >= 0 &&
           partition < request->partitions;
}

static int partition_at(const int partitions[], int low, int index) {
    return partitions == NULL ? low + index : partitions[index];
}

static int fail_marked(const char *function, const offbeat_partitioned_request *request, int partition) {
    return offbeat_partitioned_fail(handler_of(request), MPI_ERR_ARG,
                                    "%s: partition %d was marked ready before in this iteration", function,
                                    partition);
}

/* Marks `length` existing partitions: those in the list, or if it is NULL, consecutive ones from low on. If
 * one of them was marked before, the call fails and marks none; but if another thread marks it at the same
 * time, the ones before it remain marked. */
static int mark_several(const char *function, marked_request *request, const int partitions[], int low,
                        int length) {
    for (int i = 0; i < length; i++) {
        const int partition = partition_at(partitions, low, i);
        if (offbeat_partitioned_claim(request, partition))
            continue;
        while (i-- > 0)
            offbeat_partitioned_unclaim(request, partition_at(partitions, low, i));
        return fail_marked(function, &request->head, partition);
    }
    for (int i = 0; i < length; i++) {
        const int partition = partition_at(partitions, low, i);
        const offbeat_partitioned_mark mark = offbeat_partitioned_try_mark(request, partition);
        if (mark == OFFBEAT_PARTITIONED_MARK_DONE ||
            offbeat_partitioned_finish_mark(request, partition, mark))
            continue;
        while (++i < length)
            offbeat_partitioned_unclaim(request, partition_at(partitions, low, i));
        return fail_marked(function, &request->head, partition);
    }
    return MPI_SUCCESS;
}

/* offbeat_pready ends with a call of one of these two functions, or with none. If they were inlined, it would
 * save registers for every mark. */
static __attribute__((noinline)) int finish_ready(marked_request *request, int partition,
                                                  offbeat_partitioned_mark mark) {
    return offbeat_partitioned_finish_mark(request, partition, mark)
               ? MPI_SUCCESS
               : fail_marked("offbeat_pready", &request->head, partition);
}

static __attribute__((noinline)) int refuse_ready(const offbeat_partitioned_request *request, int partition) {
    return check_ready("offbeat_pready", request, partition);
}

int offbeat_pready(int partition, offbeat_prequest request) {
    if (!can_mark(request, partition))
        return refuse_ready(request, partition);
    marked_request *marks = (marked_request *)request;
    const offbeat_partitioned_mark mark = offbeat_partitioned_try_mark(marks, partition);
    return mark == OFFBEAT_PARTITIONED_MARK_DONE ? MPI_SUCCESS : finish_ready(marks, partition, mark);
}

int offbeat_pready_range(int partition_low, int partition_high, offbeat_prequest request) {
    const char *function = "offbeat_pready_range";
    int rc = check_ready(function, request, partition_low);
    if (rc == MPI_SUCCESS)
        rc = check_partition(function, request, partition_high);
    if (rc == MPI_SUCCESS && partition_low > partition_high)
        return offbeat_partitioned_fail(
            handler_of(request), MPI_ERR_ARG,
            "%s: the range %d to %d is empty; the first number must not be larger", function, partition_low,
            partition_high);
    if (rc != MPI_SUCCESS)
        return rc;
    return mark_several(function, (marked_request *)request, NULL, partition_low,
                        partition_high - partition_low + 1);
}

int offbeat_pready_list(int length, const int partitions[], offbeat_prequest request) {
    const char *function = "offbeat_pready_list";
    int rc = check_send(function, request);
    if (rc == MPI_SUCCESS && (length < 0 || (length > 0 && partitions == NULL)))
        return offbeat_partitioned_fail(handler_of(request), MPI_ERR_ARG,
                                        "%s: there is no list of %d partitions", function, length);
    for (int i = 0; i < length && rc == MPI_SUCCESS; i++)
        rc = check_partition(function, request, partitions[i]);
    return rc == MPI_SUCCESS ? mark_several(function, (marked_request *)request, partitions, 0, length) : rc;
}

/* --- arrived partitions --- */

static int has_arrived(const offbeat_partitioned_request *request, int partition) {
    return offbeat_partitioned_is_complete(request) || request->operations->has_arrived(request, partition);
}

int offbeat_parrived(offbeat_prequest request, int partition, int *flag) {
    const char *function = "offbeat_parrived";
    if (flag == NULL)
        return offbeat_partitioned_fail(request == NULL ? MPI_COMM_NULL : handler_of(request), MPI_ERR_ARG,
                                        "%s: there is no place for the flag", function);
    *flag = 1;
    if (request == OFFBEAT_PREQUEST_NULL)
        return MPI_SUCCESS;
    if (request->operations->arrival_refusal != NULL)
        return offbeat_partitioned_fail(handler_of(request), MPI_ERR_REQUEST, "%s: %s", function,
                                        request->operations->arrival_refusal);
    int rc = check_partition(function, request, partition);
    if (rc != MPI_SUCCESS || !offbeat_partitioned_is_active(request))
        return rc;
    *flag = has_arrived(request, partition);
    if (!*flag) {
        request->operations->progress(request, partition);
        offbeat_partitioned_progress();
        *flag = has_arrived(request, partition);
    }
    const int failure = atomic_load_explicit(&request->failure, memory_order_relaxed);
    if (failure == MPI_SUCCESS)
        return MPI_SUCCESS;
    *flag = 1; /* a loop that waits for the partition ends also if it ignores errors */
    return offbeat_partitioned_raise_failure(request, failure);
}
