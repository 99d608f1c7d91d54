/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi_assert.h
 * Assertions of native MPI tests that abort the job. Link mpi_assert.c into the test.
 */
#ifndef OFFBEAT_TESTING_MPI_ASSERT_H
#define OFFBEAT_TESTING_MPI_ASSERT_H

#include <mpi.h>

/** When the condition is false, prints the rank and the message (printf style) on stderr and aborts the job
 * with status 1. */
__attribute__((format(printf, 2, 3))) void mpi_assert(int condition, const char *message, ...);

/** Aborts the job with status 1 unless an MPI call succeeded. */
void mpi_assert_success(int rc, const char *call);

#endif
