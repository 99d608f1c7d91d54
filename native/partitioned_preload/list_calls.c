/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's functions for several requests. A list with partitioned requests is divided: MPI tests its own
 * requests, offbeat's partitioned communication the others.
 */
#include "partitioned/complete.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/split_list.h"
#include "partitioned_preload/wait.h"

typedef offbeat_preload_split_list split_list;

int MPI_Startall(int count, MPI_Request requests[]) {
    split_list list;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Startall)(count, requests);
    int start_count = 0, rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    for (int i = 0; i < count; i++)
        if (list.prequests[i] != OFFBEAT_PREQUEST_NULL)
            list.prequests[start_count++] = list.prequests[i];
    rc = offbeat_pstartall(start_count, list.prequests);
    offbeat_preload_progress_started();
    if (rc == MPI_SUCCESS && list.other_count > 0)
        rc = NEXT(MPI_Startall)(list.other_count, list.mpi_requests);
    offbeat_preload_merge(&list);
    return rc;
}

/* --- statuses and errors --- */

static int is_in_status(int rc) {
    int error_class = MPI_SUCCESS;
    return rc != MPI_SUCCESS && PMPI_Error_class(rc, &error_class) == MPI_SUCCESS &&
           error_class == MPI_ERR_IN_STATUS;
}

/* Copies a status but for its error, which MPI sets only if there is one in the list. */
static void copy_status(const MPI_Status *source, MPI_Status *target) {
    const int error = target->MPI_ERROR;
    *target = *source;
    target->MPI_ERROR = error;
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

static int own_can_complete(const split_list *list) {
    int can = 1;
    for (int i = 0; i < list->count; i++)
        can &= offbeat_partitioned_can_complete(list->prequests[i]);
    return can;
}

/* Tests MPI's requests of a list. @return an error that has no status */
static int test_others(split_list *list, int *flag) {
    *flag = 1;
    if (list->other_count == 0)
        return MPI_SUCCESS;
    int rc = NEXT(MPI_Testall)(list->other_count, list->mpi_requests, flag, list->statuses);
    for (int i = 0; is_in_status(rc) && i < list->other_count; i++)
        list->errors[list->indices_of_mpi[i]] = list->statuses[i].MPI_ERROR;
    *flag |= rc != MPI_SUCCESS;
    return is_in_status(rc) ? MPI_SUCCESS : rc;
}

/* Completes the partitioned requests, which can be completed, when MPI's are. */
static int complete_all(split_list *list, MPI_Status *statuses) {
    for (int i = 0; i < list->other_count && statuses != MPI_STATUSES_IGNORE; i++)
        copy_status(&list->statuses[i], &statuses[list->indices_of_mpi[i]]);
    for (int i = 0; i < list->count; i++)
        if (list->prequests[i] != OFFBEAT_PREQUEST_NULL)
            list->errors[i] = offbeat_pwait(&list->prequests[i], status_at(statuses, i));
    return report_errors(list->count, list->errors, statuses);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses) {
    split_list list;
    int are_others_done = 0, are_own_done = 0, rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitall)(count, requests, statuses);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    while (rc == MPI_SUCCESS && !(are_others_done && are_own_done)) {
        if (!are_others_done)
            rc = test_others(&list, &are_others_done);
        are_own_done = own_can_complete(&list);
        if (!(are_others_done && are_own_done))
            offbeat_partitioned_between_rounds(&rounds);
    }
    if (rc == MPI_SUCCESS)
        rc = complete_all(&list, statuses);
    offbeat_preload_merge(&list);
    return rc;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses) {
    split_list list;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testall)(count, requests, flag, statuses);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = own_can_complete(&list);
    if (*flag)
        rc = test_others(&list, flag);
    if (*flag && rc == MPI_SUCCESS)
        rc = complete_all(&list, statuses);
    else
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&list);
    return rc;
}

/* --- any --- */

/* Completes one partitioned request. @param[out] index -1: none can be completed; MPI_UNDEFINED: none is
 * active
 */
static int complete_own(split_list *list, int *index, MPI_Status *status) {
    int active = 0;
    for (int i = 0; i < list->count; i++) {
        if (!offbeat_partitioned_is_active(list->prequests[i]))
            continue;
        active = 1;
        if (offbeat_partitioned_can_complete(list->prequests[i])) {
            *index = i;
            return offbeat_pwait(&list->prequests[i], status);
        }
    }
    *index = active ? -1 : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int test_any(split_list *list, int *index, int *flag, MPI_Status *status) {
    int prequest_index, mpi_index = MPI_UNDEFINED, rc = complete_own(list, &prequest_index, status);
    *flag = 1;
    *index = prequest_index;
    if (rc != MPI_SUCCESS || (prequest_index >= 0 && prequest_index != MPI_UNDEFINED))
        return rc;
    if (list->other_count > 0)
        rc = NEXT(MPI_Testany)(list->other_count, list->mpi_requests, &mpi_index, flag, status);
    *index = *flag && mpi_index != MPI_UNDEFINED && mpi_index >= 0 ? list->indices_of_mpi[mpi_index]
                                                                   : MPI_UNDEFINED;
    if (rc != MPI_SUCCESS || *index != MPI_UNDEFINED)
        return rc;
    *flag = *flag && prequest_index == MPI_UNDEFINED; /* no request is active */
    if (*flag)
        offbeat_partitioned_set_empty_status(status);
    return rc;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    split_list list;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testany)(count, requests, index, flag, status);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = test_any(&list, index, flag, status);
    if (!*flag)
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&list);
    return rc;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    split_list list;
    int flag = 0, rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitany)(count, requests, index, status);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    for (;;) {
        rc = test_any(&list, index, &flag, status);
        if (flag || rc != MPI_SUCCESS)
            break;
        offbeat_partitioned_between_rounds(&rounds);
    }
    offbeat_preload_merge(&list);
    return rc;
}

/* --- some --- */

/* Completes what can be completed; number: MPI_UNDEFINED if no request is active. */
static int test_some(split_list *list, int *number, int indices[], MPI_Status *statuses) {
    int found_count = 0, active = 0, mpi_count = MPI_UNDEFINED, rc = MPI_SUCCESS;
    for (int i = 0; i < list->count; i++) {
        if (!offbeat_partitioned_is_active(list->prequests[i]))
            continue;
        active = 1;
        if (!offbeat_partitioned_can_complete(list->prequests[i]))
            continue;
        list->errors[found_count] = offbeat_pwait(&list->prequests[i], status_at(statuses, found_count));
        indices[found_count++] = i;
    }
    if (list->other_count > 0)
        rc = NEXT(MPI_Testsome)(list->other_count, list->mpi_requests, &mpi_count, list->completed_indices,
                                list->statuses);
    *number = active ? found_count : MPI_UNDEFINED;
    if (rc != MPI_SUCCESS && !is_in_status(rc))
        return rc;
    for (int i = 0; mpi_count != MPI_UNDEFINED && i < mpi_count; i++) {
        if (statuses != MPI_STATUSES_IGNORE)
            copy_status(&list->statuses[i], &statuses[found_count]);
        list->errors[found_count] = is_in_status(rc) ? list->statuses[i].MPI_ERROR : MPI_SUCCESS;
        indices[found_count++] = list->indices_of_mpi[list->completed_indices[i]];
    }
    *number = active || mpi_count != MPI_UNDEFINED ? found_count : MPI_UNDEFINED;
    return report_errors(found_count, list->errors, statuses);
}

int MPI_Testsome(int count, MPI_Request requests[], int *number, int indices[], MPI_Status *statuses) {
    split_list list;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Testsome)(count, requests, number, indices, statuses);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = test_some(&list, number, indices, statuses);
    if (rc == MPI_SUCCESS && *number == 0)
        offbeat_partitioned_between_rounds(&rounds);
    offbeat_preload_merge(&list);
    return rc;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *number, int indices[], MPI_Status *statuses) {
    split_list list;
    int rounds = 0;
    if (!offbeat_preload_intervenes(count, requests))
        return NEXT(MPI_Waitsome)(count, requests, number, indices, statuses);
    int rc = offbeat_preload_split(count, requests, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    for (;;) {
        rc = test_some(&list, number, indices, statuses);
        if (rc != MPI_SUCCESS || *number != 0)
            break;
        offbeat_partitioned_between_rounds(&rounds);
    }
    offbeat_preload_merge(&list);
    return rc;
}
