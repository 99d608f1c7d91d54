/* SPDX-License-Identifier: BSD-3-Clause */
#include "conformance/message.h"

#include <stdint.h>
#include <stdlib.h>

enum { GUARD = 0x5eed5eed, NO_VALUE = -1 };

int element_of(int seed, int index) {
    return (int)(((uint32_t)seed * 1000003U + (uint32_t)index) & 0x7fffffffU);
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): close_message frees the data; a launch ends after a failure.
message open_request(int is_send, int partitions, int count, int peer, int tag, MPI_Comm comm) {
    message msg = {.is_send = is_send, .partitions = partitions, .count = count};
    const size_t length = (size_t)partitions * (size_t)count;
    msg.data = malloc((length + 1) * sizeof *msg.data);
    EXPECT(msg.data, "no memory for %zu elements", length);
    msg.data[length] = GUARD;
    if (is_send)
        MUST(MPI_Psend_init(msg.data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL,
                            &msg.request));
    else
        MUST(MPI_Precv_init(msg.data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL,
                            &msg.request));
    return msg;
}
// NOLINTEND(clang-analyzer-unix.Malloc)

message open_message(int send_parts, int receive_parts, int total, int tag) {
    const int is_send = world.rank == 0, partitions = is_send ? send_parts : receive_parts;
    return open_request(is_send, partitions, partitions ? total / partitions : 0, world.peer, tag,
                        world.comm);
}

void fill_partition(message *msg, int partition, int seed) {
    for (int i = partition * msg->count; i < (partition + 1) * msg->count; i++)
        msg->data[i] = msg->is_send ? element_of(seed, i) : NO_VALUE;
}

void fill(message *msg, int seed) {
    for (int i = 0; i < msg->partitions; i++)
        fill_partition(msg, i, seed);
}

void start(message *msg, int seed) {
    fill(msg, seed);
    MUST(MPI_Start(&msg->request));
}

void ready_all(message *msg, int seed) {
    const long long step = 7919; /* a prime: every partition has its turn if there are fewer */
    if (!msg->is_send)
        return;
    for (int i = 0; i < msg->partitions; i++)
        MUST(MPI_Pready((int)((i * step + seed) % msg->partitions), msg->request));
}

void complete(message *msg) {
    MPI_Status status;
    MUST(MPI_Wait(&msg->request, &status));
}

void expect_elements(const message *msg, int seed, int first, int last) {
    if (msg->is_send)
        return;
    for (int i = first; i < last; i++)
        EXPECT(msg->data[i] == element_of(seed, i), "element %d, in partition %d of %d, %s", i,
               i / msg->count, msg->partitions,
               msg->data[i] == NO_VALUE ? "has not arrived" : "has a wrong value");
}

void expect_message(const message *msg, int seed) {
    const int length = msg->partitions * msg->count;
    expect_elements(msg, seed, 0, length);
    EXPECT(msg->data[length] == GUARD, "the element behind the buffer was written");
}

void transfer(message *msg, int seed) {
    start(msg, seed);
    ready_all(msg, seed);
    complete(msg);
    expect_message(msg, seed);
}

void close_message(message *msg) {
    MUST(MPI_Request_free(&msg->request));
    EXPECT(msg->request == PARTITIONED_REQUEST_NULL, "MPI_Request_free does not set the request to null");
    free(msg->data);
}
