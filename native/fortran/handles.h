/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handles.h
 * The C functions that the Fortran bindings call: the public functions, with handles that Fortran can store.
 *
 * They are part of the C library, as only MPI's C interface translates communicator handles. A communicator
 * handle is an int64_t, whatever Fortran's default integer is; so is the address of a clock, where 0 means no
 * clock. Each function is the public one of its name: offbeat_fortran_harmonize is MPIX_Harmonize,
 * offbeat_fortran_clock_create is offbeat_clock_create.
 */
#ifndef OFFBEAT_FORTRAN_HANDLES_H
#define OFFBEAT_FORTRAN_HANDLES_H

#include <offbeat/harmonize.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

int offbeat_fortran_harmonize(int64_t comm, int *flag);
int offbeat_fortran_harmonize_delayed(int64_t comm, int64_t delay_ns, offbeat_start *start);
int64_t offbeat_fortran_harmonize_clock(int64_t comm);
int offbeat_fortran_clock_create(int64_t comm, int64_t *clock);
int offbeat_fortran_clock_sync(int64_t clock);
int offbeat_fortran_clock_free(int64_t *clock);
void offbeat_fortran_clock_at(int64_t clock, int64_t local_ns, offbeat_instant *instant);
int64_t offbeat_fortran_clock_local_ns(int64_t clock);
int64_t offbeat_fortran_clock_to_local_ns(int64_t clock, int64_t global_ns);
int offbeat_fortran_clock_is_shared(int64_t clock);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
