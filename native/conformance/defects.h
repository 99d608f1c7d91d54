/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file defects.h
 * offbeat's library with a defect, to test the cases. CONFORMANCE_DEFECT names it:
 *
 *     swapped   two partitions of a receive change places
 *     early     MPI_Test says that a started send is complete before a partition is ready
 *     arrived   MPI_Parrived is always true
 *     never     MPI_Parrived is never true for the last of several partitions
 *     tags      neighbouring tags are the same tag
 *     wildcard  a message is sent on the program's communicator, too
 *     status    the status of a receive has no source
 *     error     MPI_Pready_range returns an error
 *     hang      MPI_Startall of several requests never returns
 *     crash     MPI_Pready_list ends with a signal
 *     worn      MPI_Pready_list returns an error after three initialisations in a launch
 *     silent    wrong calls and messages of other sizes are no errors
 */
#ifndef CONFORMANCE_DEFECTS_H
#define CONFORMANCE_DEFECTS_H

#include <offbeat/partitioned.h>

int defective_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                         int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request);
int defective_precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                         int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request);
int defective_pstartall(int count, offbeat_prequest requests[]);
int defective_pready(int partition, offbeat_prequest request);
int defective_pready_range(int low, int high, offbeat_prequest request);
int defective_pready_list(int length, const int partitions[], offbeat_prequest request);
int defective_parrived(offbeat_prequest request, int partition, int *flag);
int defective_ptest(offbeat_prequest *request, int *flag, MPI_Status *status);
int defective_pwait(offbeat_prequest *request, MPI_Status *status);
int defective_pcancel(offbeat_prequest *request);

/* These have no defects. */
#define defective_pstart offbeat_pstart
#define defective_ptestall offbeat_ptestall
#define defective_ptestany offbeat_ptestany
#define defective_ptestsome offbeat_ptestsome
#define defective_pwaitall offbeat_pwaitall
#define defective_pwaitany offbeat_pwaitany
#define defective_pwaitsome offbeat_pwaitsome
#define defective_prequest_free offbeat_prequest_free

#endif
