/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file exchange.h
 * An exchange of messages on MPI_COMM_WORLD: MPI_Irecv for each message that this process receives, a send
 * for each that it sends, in the order of the plan, and MPI_Waitall.
 */
#ifndef OFFBEAT_EXCHANGE_H
#define OFFBEAT_EXCHANGE_H

#include "programs/plan.h"

/** The buffers of an exchange, one for each message, and its requests. */
typedef struct program_exchange program_exchange;

/**
 * Allocates the buffers of a step and touches them. Local; the step must outlive the exchange.
 * @return NULL if there is no memory; free it with program_exchange_free
 */
program_exchange *program_exchange_create(const program_step *step);

/** Exchanges the messages once. MPI errors are fatal. */
void program_exchange_run(program_exchange *exchange);

/**
 * How much memory MPI_Ibsend needs for one run, in bytes; 0 for other sends.
 *
 * Several buffered exchanges share the memory that program_buffer_attach attaches.
 */
size_t program_exchange_buffered_bytes(const program_exchange *exchange);

void program_exchange_free(program_exchange *exchange);

/**
 * Attaches memory for buffered sends of @p bytes in an iteration. Local.
 *
 * The memory holds the messages of several iterations. When they could have filled it, program_buffer_reserve
 * waits until all of them have left: a process that receives nothing could otherwise be any number of
 * iterations ahead.
 * @return 0, or -1 if there is no memory
 */
int program_buffer_attach(size_t bytes);

/** Makes sure that @p bytes of buffered sends fit into the memory. */
void program_buffer_reserve(size_t bytes);

/** Waits until all buffered messages have left, and frees the memory. */
void program_buffer_detach(void);

#endif
