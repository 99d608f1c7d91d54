/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partitioned_handles.h
 * What the Fortran bindings of partitioned communication call instead of public functions with handles or
 * statuses: see handles.h. Handles of MPI are int64_t. Fortran stores a request as an integer of 64 bits,
 * which has the size of the pointer that offbeat_prequest is. There are no statuses: all that they hold is
 * known from the initialisation.
 */
#ifndef OFFBEAT_FORTRAN_PARTITIONED_HANDLES_H
#define OFFBEAT_FORTRAN_PARTITIONED_HANDLES_H

#include <offbeat/partitioned.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

int offbeat_fortran_partitioned_attach(int64_t comm, int64_t info);
int offbeat_fortran_psend_init(const void *buffer, int partitions, int64_t count, int64_t datatype, int dest,
                               int tag, int64_t comm, int64_t info, offbeat_prequest *request);
int offbeat_fortran_precv_init(void *buffer, int partitions, int64_t count, int64_t datatype, int source,
                               int tag, int64_t comm, int64_t info, offbeat_prequest *request);
int offbeat_fortran_ptest(offbeat_prequest *request, int *flag);
int offbeat_fortran_pwait(offbeat_prequest *request);
int offbeat_fortran_pwaitall(int count, offbeat_prequest *requests);
int offbeat_fortran_ptestall(int count, offbeat_prequest *requests, int *flag);

/* Indices are those of Fortran: the first request is 1. */
int offbeat_fortran_ptestany(int count, offbeat_prequest *requests, int *index, int *flag);
int offbeat_fortran_pwaitany(int count, offbeat_prequest *requests, int *index);
int offbeat_fortran_ptestsome(int count, offbeat_prequest *requests, int *completed_count, int *indices);
int offbeat_fortran_pwaitsome(int count, offbeat_prequest *requests, int *completed_count, int *indices);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
