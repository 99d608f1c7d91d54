/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran/partitioned_handles.h"

_Static_assert(sizeof(offbeat_prequest) == sizeof(int64_t), "Fortran stores a request in 64 bits");

int offbeat_fortran_partitioned_attach(int64_t comm, int64_t info) {
    return offbeat_partitioned_attach(PMPI_Comm_f2c((MPI_Fint)comm), PMPI_Info_f2c((MPI_Fint)info));
}

int offbeat_fortran_psend_init(const void *buffer, int partitions, int64_t count, int64_t datatype, int dest,
                               int tag, int64_t comm, int64_t info, offbeat_prequest *request) {
    return offbeat_psend_init(buffer, partitions, (MPI_Count)count, PMPI_Type_f2c((MPI_Fint)datatype), dest,
                              tag, PMPI_Comm_f2c((MPI_Fint)comm), PMPI_Info_f2c((MPI_Fint)info), request);
}

int offbeat_fortran_precv_init(void *buffer, int partitions, int64_t count, int64_t datatype, int source,
                               int tag, int64_t comm, int64_t info, offbeat_prequest *request) {
    return offbeat_precv_init(buffer, partitions, (MPI_Count)count, PMPI_Type_f2c((MPI_Fint)datatype), source,
                              tag, PMPI_Comm_f2c((MPI_Fint)comm), PMPI_Info_f2c((MPI_Fint)info), request);
}

int offbeat_fortran_ptest(offbeat_prequest *request, int *flag) {
    *flag = 0;
    return offbeat_ptest(request, flag, MPI_STATUS_IGNORE);
}

int offbeat_fortran_pwait(offbeat_prequest *request) {
    return offbeat_pwait(request, MPI_STATUS_IGNORE);
}

int offbeat_fortran_pwaitall(int count, offbeat_prequest *requests) {
    return offbeat_pwaitall(count, requests, MPI_STATUSES_IGNORE);
}

int offbeat_fortran_ptestall(int count, offbeat_prequest *requests, int *flag) {
    *flag = 0;
    return offbeat_ptestall(count, requests, flag, MPI_STATUSES_IGNORE);
}

/* Also after an error: requests whose iteration failed are completed. */
static void count_from_one(int completed_count, int *indices) {
    for (int i = 0; completed_count != MPI_UNDEFINED && i < completed_count; i++)
        indices[i] += indices[i] != MPI_UNDEFINED;
}

int offbeat_fortran_ptestany(int count, offbeat_prequest *requests, int *index, int *flag) {
    *index = MPI_UNDEFINED;
    *flag = 0;
    int rc = offbeat_ptestany(count, requests, index, flag, MPI_STATUS_IGNORE);
    count_from_one(*flag, index);
    return rc;
}

int offbeat_fortran_pwaitany(int count, offbeat_prequest *requests, int *index) {
    *index = MPI_UNDEFINED;
    int rc = offbeat_pwaitany(count, requests, index, MPI_STATUS_IGNORE);
    count_from_one(1, index);
    return rc;
}

int offbeat_fortran_ptestsome(int count, offbeat_prequest *requests, int *completed_count, int *indices) {
    *completed_count = 0;
    int rc = offbeat_ptestsome(count, requests, completed_count, indices, MPI_STATUSES_IGNORE);
    count_from_one(*completed_count, indices);
    return rc;
}

int offbeat_fortran_pwaitsome(int count, offbeat_prequest *requests, int *completed_count, int *indices) {
    *completed_count = 0;
    int rc = offbeat_pwaitsome(count, requests, completed_count, indices, MPI_STATUSES_IGNORE);
    count_from_one(*completed_count, indices);
    return rc;
}
