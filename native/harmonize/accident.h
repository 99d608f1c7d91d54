/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file accident.h
 * For the native tests: what happens to processes on a busy machine, on demand.
 *
 * The library's own receives go through PMPI: the test is linked with --wrap for PMPI_Recv and PMPI_Test.
 */
#ifndef OFFBEAT_HARMONIZE_ACCIDENT_H
#define OFFBEAT_HARMONIZE_ACCIDENT_H

#include <stdint.h>

/** Sleeps for so many nanoseconds, whatever signals arrive. */
void sleep_ns(int64_t length_ns);

/** This process falls asleep once, when it has received its next message. */
void sleep_on_receipt(int64_t length_ns);

/** A signal stops this process once, so long after it has received its next message, for another time. */
void be_interrupted(int64_t after_receipt_ns, int64_t length_ns);

#endif
