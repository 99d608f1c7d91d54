/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion of iterations: test, wait, and their forms for several requests; freeing requests.
 */
#define _POSIX_C_SOURCE 200809L
#include "partitioned/complete.h"

#include "partitioned/errors.h"
#include "partitioned/progress.h"

#include <sched.h>
#include <stdlib.h>

/* Rounds of tests without a completion, about 10 ms together, before a waiting process yields its core in
 * each further one; none where processes share cores (OFFBEAT_YIELD=1). If other programs run on the core, a
 * process that has yielded gets it back only after their time slices: most transfers must end before. */
enum { ROUNDS_BEFORE_YIELD = 50000 };

static int rounds_before_yield(void) {
    static atomic_int rounds = -1;
    int known_rounds = atomic_load_explicit(&rounds, memory_order_relaxed);
    if (known_rounds < 0) {
        const char *yield = getenv("OFFBEAT_YIELD");
        known_rounds = yield != NULL && *yield == '1' ? 0 : ROUNDS_BEFORE_YIELD;
        atomic_store_explicit(&rounds, known_rounds, memory_order_relaxed);
    }
    return known_rounds;
}

/* --- statuses --- */

static void set_status(MPI_Status *status, offbeat_partitioned_envelope envelope) {
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = envelope.source;
    status->MPI_TAG = envelope.tag;
    PMPI_Status_set_elements_x(status, MPI_BYTE, envelope.bytes);
    PMPI_Status_set_cancelled(status, 0);
}

void offbeat_partitioned_set_empty_status(MPI_Status *status) {
    set_status(status, (offbeat_partitioned_envelope){MPI_ANY_SOURCE, MPI_ANY_TAG, 0});
}

void offbeat_partitioned_set_status(const offbeat_partitioned_request *request, MPI_Status *status) {
    if (!offbeat_partitioned_is_active(request) || request->operations->envelope == NULL)
        offbeat_partitioned_set_empty_status(status);
    else
        set_status(status, request->operations->envelope(request));
}

/* --- one request --- */

int offbeat_partitioned_can_complete(offbeat_partitioned_request *request) {
    if (!offbeat_partitioned_is_active(request) || offbeat_partitioned_is_complete(request))
        return 1;
    request->operations->progress(request, -1);
    return offbeat_partitioned_is_complete(request);
}

int offbeat_partitioned_raise_failure(const offbeat_partitioned_request *request, int failure) {
    if (failure == OFFBEAT_PARTITIONED_MISMATCH)
        return request->operations->raise_mismatch(request);
    return offbeat_partitioned_raise(request->comm->user, failure);
}

/* Makes a request inactive that can be completed. @return the error of its iteration, which was raised */
static int complete(offbeat_partitioned_request *request, MPI_Status *status) {
    if (!offbeat_partitioned_is_active(request)) {
        offbeat_partitioned_set_empty_status(status);
        return MPI_SUCCESS;
    }
    offbeat_partitioned_set_status(request, status);
    offbeat_partitioned_remove_waiting(request);
    const int failure = atomic_load_explicit(&request->failure, memory_order_acquire);
    atomic_store_explicit(&request->is_active, 0, memory_order_release);
    if (!request->operations->is_settled(request))
        offbeat_partitioned_add_waiting(request);
    return offbeat_partitioned_raise_failure(request, failure);
}

static int check(const char *function, const void *requests, const void *result) {
    if (requests != NULL && result != NULL)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_ARG, "%s: a pointer is NULL", function);
}

void offbeat_partitioned_between_rounds(int *rounds) {
    offbeat_partitioned_progress();
    if (*rounds < rounds_before_yield())
        ++*rounds;
    else
        sched_yield();
}

int offbeat_ptest(offbeat_prequest *request, int *flag, MPI_Status *status) {
    int rc = check("offbeat_ptest", request, flag);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = offbeat_partitioned_can_complete(*request);
    if (*flag)
        return complete(*request, status);
    offbeat_partitioned_progress();
    return MPI_SUCCESS;
}

int offbeat_pwait(offbeat_prequest *request, MPI_Status *status) {
    int rounds = 0;
    int rc = check("offbeat_pwait", request, request);
    if (rc != MPI_SUCCESS)
        return rc;
    while (!offbeat_partitioned_can_complete(*request))
        offbeat_partitioned_between_rounds(&rounds);
    return complete(*request, status);
}

/* --- several requests --- */

static int check_list(const char *function, int count, const void *requests, const void *result) {
    if (count >= 0 && (requests != NULL || count == 0) && result != NULL)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_ARG,
                                    "%s: there is no list of %d requests, or no place for the result",
                                    function, count);
}

static MPI_Status *status_at(MPI_Status *statuses, int index) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/* Completes the listed requests; indices NULL: all. @return MPI_ERR_IN_STATUS when one has an error */
static int complete_list(int count, offbeat_prequest requests[], const int indices[], MPI_Status *statuses) {
    int result = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        MPI_Status *status = status_at(statuses, i);
        int rc = complete(requests[indices == NULL ? i : indices[i]], status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
        if (rc != MPI_SUCCESS)
            result = MPI_ERR_IN_STATUS;
    }
    return result;
}

static int all_can_complete(int count, offbeat_prequest requests[]) {
    int are_complete = 1;
    for (int i = 0; i < count; i++)
        are_complete &= offbeat_partitioned_can_complete(requests[i]);
    return are_complete;
}

int offbeat_ptestall(int count, offbeat_prequest requests[], int *flag, MPI_Status *statuses) {
    int rc = check_list("offbeat_ptestall", count, requests, flag);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = all_can_complete(count, requests);
    if (*flag)
        return complete_list(count, requests, NULL, statuses);
    offbeat_partitioned_progress();
    return MPI_SUCCESS;
}

int offbeat_pwaitall(int count, offbeat_prequest requests[], MPI_Status *statuses) {
    int rounds = 0;
    int rc = check_list("offbeat_pwaitall", count, requests, &rounds);
    if (rc != MPI_SUCCESS)
        return rc;
    while (!all_can_complete(count, requests))
        offbeat_partitioned_between_rounds(&rounds);
    return complete_list(count, requests, NULL, statuses);
}

/* Lists active requests that can be completed, at most `most`. @return -1 when no request is active */
static int find_some(int count, offbeat_prequest requests[], int limit, int indices[]) {
    int found_count = 0, active = 0;
    for (int i = 0; i < count && found_count < limit; i++) {
        if (!offbeat_partitioned_is_active(requests[i]))
            continue;
        active++;
        if (offbeat_partitioned_can_complete(requests[i]))
            indices[found_count++] = i;
    }
    return active == 0 ? -1 : found_count;
}

int offbeat_ptestany(int count, offbeat_prequest requests[], int *index, int *flag, MPI_Status *status) {
    int rc = check_list("offbeat_ptestany", count, requests, index);
    if (rc == MPI_SUCCESS)
        rc = check("offbeat_ptestany", index, flag);
    if (rc != MPI_SUCCESS)
        return rc;
    int found_count = find_some(count, requests, 1, index);
    *flag = found_count != 0;
    if (found_count <= 0)
        *index = MPI_UNDEFINED;
    if (found_count < 0)
        offbeat_partitioned_set_empty_status(status);
    if (found_count == 0)
        offbeat_partitioned_progress();
    return found_count > 0 ? complete(requests[*index], status) : MPI_SUCCESS;
}

int offbeat_pwaitany(int count, offbeat_prequest requests[], int *index, MPI_Status *status) {
    int rounds = 0, found_count;
    int rc = check_list("offbeat_pwaitany", count, requests, index);
    if (rc != MPI_SUCCESS)
        return rc;
    while ((found_count = find_some(count, requests, 1, index)) == 0)
        offbeat_partitioned_between_rounds(&rounds);
    if (found_count > 0)
        return complete(requests[*index], status);
    *index = MPI_UNDEFINED;
    offbeat_partitioned_set_empty_status(status);
    return MPI_SUCCESS;
}

int offbeat_ptestsome(int count, offbeat_prequest requests[], int *completed_count, int indices[],
                      MPI_Status *statuses) {
    int rc = check_list("offbeat_ptestsome", count, requests, completed_count);
    if (rc == MPI_SUCCESS)
        rc = check_list("offbeat_ptestsome", count, indices, completed_count);
    if (rc != MPI_SUCCESS)
        return rc;
    int found_count = find_some(count, requests, count, indices);
    *completed_count = found_count < 0 ? MPI_UNDEFINED : found_count;
    if (found_count == 0)
        offbeat_partitioned_progress();
    return found_count > 0 ? complete_list(found_count, requests, indices, statuses) : MPI_SUCCESS;
}

int offbeat_pwaitsome(int count, offbeat_prequest requests[], int *completed_count, int indices[],
                      MPI_Status *statuses) {
    int rounds = 0;
    for (;;) {
        int rc = offbeat_ptestsome(count, requests, completed_count, indices, statuses);
        if (rc != MPI_SUCCESS || *completed_count != 0)
            return rc;
        offbeat_partitioned_between_rounds(&rounds);
    }
}

/* --- freeing and cancelling --- */

static int check_request(const char *function, const offbeat_prequest *request) {
    if (request != NULL && *request != OFFBEAT_PREQUEST_NULL)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_REQUEST, "%s: the request is null", function);
}

int offbeat_pcancel(offbeat_prequest *request) {
    const char *function = "offbeat_pcancel";
    int rc = check_request(function, request);
    if (rc != MPI_SUCCESS || !offbeat_partitioned_is_active(*request) ||
        offbeat_partitioned_is_complete(*request))
        return rc;
    return offbeat_partitioned_fail(
        (*request)->comm->user, MPI_ERR_REQUEST,
        "%s: MPI does not allow to cancel an active partitioned request; complete it", function);
}

int offbeat_prequest_free(offbeat_prequest *request) {
    const char *function = "offbeat_prequest_free";
    int rc = check_request(function, request);
    if (rc != MPI_SUCCESS)
        return rc;
    if (offbeat_partitioned_is_active(*request))
        return offbeat_partitioned_fail((*request)->comm->user, MPI_ERR_REQUEST,
                                        "%s: the request is active; complete it first", function);
    offbeat_partitioned_remove_waiting(*request);
    offbeat_partitioned_add_freed(*request);
    *request = OFFBEAT_PREQUEST_NULL;
    offbeat_partitioned_progress_some();
    return MPI_SUCCESS;
}
