/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's functions for several requests. A list with partitioned requests is divided: MPI tests its own
 * requests, offbeat's partitioned communication the others.
 */
#include "partitioned/complete.h"
#include "partitioned_preload/mixed.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/wait.h"

typedef offbeat_preload_mixed mixed_list;

int MPI_Startall(int count, MPI_Request requests[]) {
    mixed_list mixed;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Startall)(count, requests);
    int started = 0, rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < count; i++)
        if (mixed.own[i] != OFFBEAT_PREQUEST_NULL)
            mixed.own[started++] = mixed.own[i];
    rc = offbeat_pstartall(started, mixed.own);
    offbeat_preload_progress_started();
    if (rc == MPI_SUCCESS && mixed.other_count > 0)
        rc = NEXT(MPI_Startall)(mixed.other_count, mixed.others);
    offbeat_preload_merge(&mixed);
    return rc;
}

/* --- statuses and errors --- */

static int is_in_status(int rc) {
    int error_class = MPI_SUCCESS;
    return rc != MPI_SUCCESS && PMPI_Error_class(rc, &error_class) == MPI_SUCCESS &&
           error_class == MPI_ERR_IN_STATUS;
}

/* Copies a status but for its error, which MPI sets only if there is one in the list. */
static void copy_status(const MPI_Status *from, MPI_Status *to) {
    const int error = to->MPI_ERROR;
    *to = *from;
    to->MPI_ERROR = error;
}

static MPI_Status *status_at(MPI_Status *statuses, int index) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/* Sets the errors of completed requests if there is one. @return MPI_ERR_IN_STATUS or MPI_SUCCESS */
static int report_errors(int count, const int errors[], MPI_Status *statuses) {
    int first = 0;
    while (first < count && errors[first] == MPI_SUCCESS)
        first++;
    if (first == count)
        return MPI_SUCCESS;
    for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; i++)
        statuses[i].MPI_ERROR = errors[i];
    return MPI_ERR_IN_STATUS;
}

/* --- all --- */

static int own_can_complete(const mixed_list *mixed) {
    int can = 1;
    for (int i = 0; i < mixed->count; i++)
        can &= offbeat_partitioned_can_complete(mixed->own[i]);
    return can;
}

/* Tests MPI's requests of a list. @return an error that has no status */
static int test_others(mixed_list *mixed, int *flag) {
    *flag = 1;
    if (mixed->other_count == 0)
        return MPI_SUCCESS;
    int rc = NEXT(MPI_Testall)(mixed->other_count, mixed->others, flag, mixed->statuses);
    for (int i = 0; is_in_status(rc) && i < mixed->other_count; i++)
        mixed->errors[mixed->places[i]] = mixed->statuses[i].MPI_ERROR;
    *flag |= rc != MPI_SUCCESS;
    return is_in_status(rc) ? MPI_SUCCESS : rc;
}

/* Completes the partitioned requests, which can be completed, when MPI's are. */
static int complete_all(mixed_list *mixed, MPI_Status *statuses) {
    for (int i = 0; i < mixed->other_count && statuses != MPI_STATUSES_IGNORE; i++)
        copy_status(&mixed->statuses[i], &statuses[mixed->places[i]]);
    for (int i = 0; i < mixed->count; i++)
        if (mixed->own[i] != OFFBEAT_PREQUEST_NULL)
            mixed->errors[i] = offbeat_pwait(&mixed->own[i], status_at(statuses, i));
    return report_errors(mixed->count, mixed->errors, statuses);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses) {
    mixed_list mixed;
    int others_done = 0, own_done = 0, rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitall)(count, requests, statuses);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    while (rc == MPI_SUCCESS && !(others_done && own_done)) {
        if (!others_done)
            rc = test_others(&mixed, &others_done);
        own_done = own_can_complete(&mixed);
        if (!(others_done && own_done))
            offbeat_partitioned_between_rounds(&rounds);
    }
    if (rc == MPI_SUCCESS)
        rc = complete_all(&mixed, statuses);
    offbeat_preload_merge(&mixed);
    return rc;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses) {
    mixed_list mixed;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testall)(count, requests, flag, statuses);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = own_can_complete(&mixed);
    if (*flag)
        rc = test_others(&mixed, flag);
    if (*flag && rc == MPI_SUCCESS)
        rc = complete_all(&mixed, statuses);
    else
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&mixed);
    return rc;
}

/* --- any --- */

/* Completes one partitioned request. @param[out] index -1: none can be completed; MPI_UNDEFINED: none is
 * active
 */
static int complete_own(mixed_list *mixed, int *index, MPI_Status *status) {
    int active = 0;
    for (int i = 0; i < mixed->count; i++) {
        if (!offbeat_partitioned_is_active(mixed->own[i]))
            continue;
        active = 1;
        if (offbeat_partitioned_can_complete(mixed->own[i])) {
            *index = i;
            return offbeat_pwait(&mixed->own[i], status);
        }
    }
    *index = active ? -1 : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int test_any(mixed_list *mixed, int *index, int *flag, MPI_Status *status) {
    int own, other = MPI_UNDEFINED, rc = complete_own(mixed, &own, status);
    *flag = 1;
    *index = own;
    if (rc != MPI_SUCCESS || (own >= 0 && own != MPI_UNDEFINED))
        return rc;
    if (mixed->other_count > 0)
        rc = NEXT(MPI_Testany)(mixed->other_count, mixed->others, &other, flag, status);
    *index = *flag && other != MPI_UNDEFINED && other >= 0 ? mixed->places[other] : MPI_UNDEFINED;
    if (rc != MPI_SUCCESS || *index != MPI_UNDEFINED)
        return rc;
    *flag = *flag && own == MPI_UNDEFINED; /* no request is active */
    if (*flag)
        offbeat_partitioned_set_empty_status(status);
    return rc;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    mixed_list mixed;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testany)(count, requests, index, flag, status);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = test_any(&mixed, index, flag, status);
    if (!*flag)
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&mixed);
    return rc;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    mixed_list mixed;
    int flag = 0, rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitany)(count, requests, index, status);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    for (;;) {
        rc = test_any(&mixed, index, &flag, status);
        if (flag || rc != MPI_SUCCESS)
            break;
        offbeat_partitioned_between_rounds(&rounds);
    }
    offbeat_preload_merge(&mixed);
    return rc;
}

/* --- some --- */

/* Completes what can be completed; number: MPI_UNDEFINED if no request is active. */
static int test_some(mixed_list *mixed, int *number, int indices[], MPI_Status *statuses) {
    int found = 0, active = 0, others = MPI_UNDEFINED, rc = MPI_SUCCESS;
    for (int i = 0; i < mixed->count; i++) {
        if (!offbeat_partitioned_is_active(mixed->own[i]))
            continue;
        active = 1;
        if (!offbeat_partitioned_can_complete(mixed->own[i]))
            continue;
        mixed->errors[found] = offbeat_pwait(&mixed->own[i], status_at(statuses, found));
        indices[found++] = i;
    }
    if (mixed->other_count > 0)
        rc =
            NEXT(MPI_Testsome)(mixed->other_count, mixed->others, &others, mixed->completed, mixed->statuses);
    *number = active ? found : MPI_UNDEFINED;
    if (rc != MPI_SUCCESS && !is_in_status(rc))
        return rc;
    for (int i = 0; others != MPI_UNDEFINED && i < others; i++) {
        if (statuses != MPI_STATUSES_IGNORE)
            copy_status(&mixed->statuses[i], &statuses[found]);
        mixed->errors[found] = is_in_status(rc) ? mixed->statuses[i].MPI_ERROR : MPI_SUCCESS;
        indices[found++] = mixed->places[mixed->completed[i]];
    }
    *number = active || others != MPI_UNDEFINED ? found : MPI_UNDEFINED;
    return report_errors(found, mixed->errors, statuses);
}

int MPI_Testsome(int count, MPI_Request requests[], int *number, int indices[], MPI_Status *statuses) {
    mixed_list mixed;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testsome)(count, requests, number, indices, statuses);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = test_some(&mixed, number, indices, statuses);
    if (rc == MPI_SUCCESS && *number == 0)
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&mixed);
    return rc;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *number, int indices[], MPI_Status *statuses) {
    mixed_list mixed;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitsome)(count, requests, number, indices, statuses);
    int rc = offbeat_preload_split(count, requests, &mixed);
    if (rc != MPI_SUCCESS)
        return rc;
    for (;;) {
        rc = test_some(&mixed, number, indices, statuses);
        if (rc != MPI_SUCCESS || *number != 0)
            break;
        offbeat_partitioned_between_rounds(&rounds);
    }
    offbeat_preload_merge(&mixed);
    return rc;
}
