/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's functions for partitions, and the functions for any single request.
 */
#include "partitioned/complete.h"
#include "partitioned/errors.h"
#include "partitioned/progress.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/wait.h"

/* --- partitions --- */

/* The partitioned request of a handle, or NULL for MPI_REQUEST_NULL. @return an error for other requests */
static int find(const char *function, MPI_Request request, offbeat_prequest *prequest) {
    *prequest = offbeat_preload_partitioned_request(request);
    if (*prequest != OFFBEAT_PREQUEST_NULL || request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(MPI_COMM_NULL, MPI_ERR_REQUEST,
                                    "%s: the request is not a partitioned one", function);
}

int MPI_Pready(int partition, MPI_Request request) {
    offbeat_prequest prequest;
    int rc = find("MPI_Pready", request, &prequest);
    return rc == MPI_SUCCESS ? offbeat_pready(partition, prequest) : rc;
}

int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request) {
    offbeat_prequest prequest;
    int rc = find("MPI_Pready_range", request, &prequest);
    return rc == MPI_SUCCESS ? offbeat_pready_range(partition_low, partition_high, prequest) : rc;
}

/* The partitions are const in the headers of some libraries only: this function has a name of its own for the
 * compiler. */
int offbeat_preload_pready_list(int length, const int partitions[],
                                MPI_Request request) __asm__("MPI_Pready_list");

int offbeat_preload_pready_list(int length, const int partitions[], MPI_Request request) {
    offbeat_prequest prequest;
    int rc = find("MPI_Pready_list", request, &prequest);
    return rc == MPI_SUCCESS ? offbeat_pready_list(length, partitions, prequest) : rc;
}

int MPI_Parrived(MPI_Request request, int partition, int *flag) {
    offbeat_prequest prequest;
    int rc = find("MPI_Parrived", request, &prequest);
    return rc == MPI_SUCCESS ? offbeat_parrived(prequest, partition, flag) : rc;
}

/* --- functions for any request --- */

/* The partitioned request that a pointer from the program leads to, or NULL. */
static offbeat_prequest prequest_at(const MPI_Request *request) {
    return request == NULL ? OFFBEAT_PREQUEST_NULL : offbeat_preload_partitioned_request(*request);
}

int MPI_Start(MPI_Request *request) {
    offbeat_prequest prequest = prequest_at(request);
    if (prequest == OFFBEAT_PREQUEST_NULL)
        return NEXT(MPI_Start)(request);
    int rc = offbeat_pstart(&prequest);
    offbeat_preload_progress_started();
    return rc;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    offbeat_prequest prequest = prequest_at(request);
    return prequest != OFFBEAT_PREQUEST_NULL ? offbeat_pwait(&prequest, status)
                                             : offbeat_preload_wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    offbeat_prequest prequest = prequest_at(request);
    if (prequest != OFFBEAT_PREQUEST_NULL)
        return offbeat_ptest(&prequest, flag, status);
    offbeat_partitioned_progress();
    return NEXT(MPI_Test)(request, flag, status);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    offbeat_prequest prequest = offbeat_preload_partitioned_request(request);
    offbeat_partitioned_progress();
    if (prequest == OFFBEAT_PREQUEST_NULL)
        return NEXT(MPI_Request_get_status)(request, flag, status);
    *flag = offbeat_partitioned_can_complete(prequest);
    if (*flag)
        offbeat_partitioned_set_status(prequest, status);
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request) {
    offbeat_prequest prequest = prequest_at(request);
    if (prequest == OFFBEAT_PREQUEST_NULL)
        return NEXT(MPI_Request_free)(request);
    int rc = offbeat_prequest_free(&prequest);
    return rc == MPI_SUCCESS ? offbeat_preload_handle_free(request) : rc;
}

int MPI_Cancel(MPI_Request *request) {
    offbeat_prequest prequest = prequest_at(request);
    return prequest != OFFBEAT_PREQUEST_NULL ? offbeat_pcancel(&prequest) : NEXT(MPI_Cancel)(request);
}
