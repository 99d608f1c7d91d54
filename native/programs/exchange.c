/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/exchange.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 17 };

/* Iterations whose buffered messages the attached memory holds. */
enum { BUFFERED_ITERATIONS = 16 };

struct program_exchange {
    const program_step *step;
    unsigned char **buffers; /* of each message */
    MPI_Request *requests;
    MPI_Status *statuses; /* not MPI_STATUSES_IGNORE: MPICH 4 declares it so that compilers warn */
};

program_exchange *program_exchange_create(const program_step *step) {
    const size_t count = (size_t)step->message_count;
    program_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    *exchange = (program_exchange){
        .step = step,
        .buffers = calloc(count + 1, sizeof *exchange->buffers),
        .requests = calloc(count + 1, sizeof(MPI_Request)),
        .statuses = calloc(count + 1, sizeof *exchange->statuses),
    };
    int has_memory = exchange->buffers && exchange->requests && exchange->statuses;
    for (size_t i = 0; has_memory && i < count; i++) {
        const size_t bytes = (size_t)step->messages[i].bytes;
        exchange->buffers[i] = malloc(bytes + 1);
        has_memory = exchange->buffers[i] != NULL;
        if (has_memory)
            memset(exchange->buffers[i], 1, bytes + 1);
    }
    if (has_memory)
        return exchange;
    program_exchange_free(exchange);
    return NULL;
}

void program_exchange_free(program_exchange *exchange) {
    if (!exchange)
        return;
    for (int i = 0; exchange->buffers && i < exchange->step->message_count; i++)
        free(exchange->buffers[i]);
    free(exchange->buffers);
    free(exchange->requests);
    free(exchange->statuses);
    free(exchange);
}

size_t program_exchange_buffered_bytes(const program_exchange *exchange) {
    const program_step *step = exchange->step;
    size_t bytes = 0;
    for (int i = 0; step->sends == PROGRAM_BUFFERED && i < step->message_count; i++)
        if (step->messages[i].is_sent)
            bytes += (size_t)step->messages[i].bytes + MPI_BSEND_OVERHEAD;
    return bytes;
}

/* Sends a message. @return whether @p request must be waited for */
static int send_message(program_sends sends, const unsigned char *data, const program_message *message,
                        MPI_Request *request) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    switch (sends) {
    case PROGRAM_NONBLOCKING:
        MPI_Isend(data, message->bytes, MPI_BYTE, message->partner, TAG, comm, request);
        return 1;
    case PROGRAM_SYNCHRONOUS:
        MPI_Issend(data, message->bytes, MPI_BYTE, message->partner, TAG, comm, request);
        return 1;
    case PROGRAM_BUFFERED:
        MPI_Ibsend(data, message->bytes, MPI_BYTE, message->partner, TAG, comm, request);
        return 1;
    case PROGRAM_BLOCKING:
        MPI_Send(data, message->bytes, MPI_BYTE, message->partner, TAG, comm);
        break;
    }
    return 0;
}

void program_exchange_run(program_exchange *exchange) {
    const program_step *step = exchange->step;
    int requests = 0;
    if (step->sends == PROGRAM_BUFFERED)
        program_buffer_reserve(program_exchange_buffered_bytes(exchange));
    for (int i = 0; i < step->message_count; i++) {
        const program_message *message = &step->messages[i];
        if (!message->is_sent)
            MPI_Irecv(exchange->buffers[i], message->bytes, MPI_BYTE, message->partner, TAG, MPI_COMM_WORLD,
                      &exchange->requests[requests++]);
    }
    for (int i = 0; i < step->message_count; i++) {
        const program_message *message = &step->messages[i];
        if (message->is_sent)
            requests +=
                send_message(step->sends, exchange->buffers[i], message, &exchange->requests[requests]);
    }
    MPI_Waitall(requests, exchange->requests, exchange->statuses);
}

/* --- the memory of buffered sends ------------------------------------------------------------------------
 */

static struct {
    void *memory;
    size_t bytes, used_bytes; /* used_bytes: of messages that may not have left */
} send_buffer;

int program_buffer_attach(size_t bytes) {
    if (bytes == 0)
        return 0;
    if (bytes > INT_MAX)
        return -1;
    send_buffer.bytes = bytes < INT_MAX / BUFFERED_ITERATIONS ? bytes * BUFFERED_ITERATIONS : INT_MAX;
    send_buffer.memory = malloc(send_buffer.bytes);
    if (!send_buffer.memory)
        return -1;
    memset(send_buffer.memory, 0, send_buffer.bytes);
    MPI_Buffer_attach(send_buffer.memory, (int)send_buffer.bytes);
    return 0;
}

void program_buffer_reserve(size_t bytes) {
    if (send_buffer.used_bytes + bytes > send_buffer.bytes) {
        void *memory;
        int size;
        MPI_Buffer_detach(&memory, &size);
        MPI_Buffer_attach(memory, size);
        send_buffer.used_bytes = 0;
    }
    send_buffer.used_bytes += bytes;
}

void program_buffer_detach(void) {
    void *memory;
    int size;
    if (!send_buffer.memory)
        return;
    MPI_Buffer_detach(&memory, &size);
    free(send_buffer.memory);
    send_buffer.memory = NULL;
}
