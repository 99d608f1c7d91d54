/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fault_injection.h
 * Delays that processes have on a busy machine, injected by native tests.
 *
 * The harmonised start receives through PMPI: link the test with --wrap for PMPI_Recv and PMPI_Test.
 */
#ifndef OFFBEAT_TESTING_FAULT_INJECTION_H
#define OFFBEAT_TESTING_FAULT_INJECTION_H

#include <stdint.h>

/** Sleeps for a time, also when signals arrive. */
void sleep_ns(int64_t length_ns);

/** Makes this process sleep once, after it has received its next message. */
void inject_sleep_after_receive(int64_t length_ns);

/** Interrupts this process once, a delay after it has received its next message, by a signal whose handler
 * sleeps. */
void inject_signal_after_receive(int64_t delay_ns, int64_t length_ns);

#endif
