/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handles.h
 * The C functions that the Fortran bindings call: the public functions, with handles that Fortran can store.
 *
 * They are part of the C library, as only MPI's C interface translates communicator handles. A communicator
 * handle is an int64_t, whatever Fortran's default integer is; so is the address of a clock, where 0 means no
 * clock.
 */
#ifndef OFFBEAT_FORTRAN_HANDLES_H
#define OFFBEAT_FORTRAN_HANDLES_H

#include <offbeat/harmonize.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** MPIX_Harmonize. */
int offbeat_fortran_harmonize(int64_t comm, int *flag);

/** MPIX_Harmonize_delayed. */
int offbeat_fortran_harmonize_delayed(int64_t comm, int64_t delay_ns, offbeat_start *start);

/** MPIX_Harmonize_clock. */
int64_t offbeat_fortran_harmonize_clock(int64_t comm);

/** offbeat_clock_create. */
int offbeat_fortran_clock_create(int64_t comm, int64_t *clock);

/** offbeat_clock_sync. */
int offbeat_fortran_clock_sync(int64_t clock);

/** offbeat_clock_free. */
int offbeat_fortran_clock_free(int64_t *clock);

/** offbeat_clock_at. */
void offbeat_fortran_clock_at(int64_t clock, int64_t local_ns, offbeat_instant *instant);

/** offbeat_clock_local_ns. */
int64_t offbeat_fortran_clock_local_ns(int64_t clock);

/** offbeat_clock_to_local_ns. */
int64_t offbeat_fortran_clock_to_local_ns(int64_t clock, int64_t global_ns);

/** offbeat_clock_is_shared. */
int offbeat_fortran_clock_is_shared(int64_t clock);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
