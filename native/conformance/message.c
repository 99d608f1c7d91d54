/* SPDX-License-Identifier: BSD-3-Clause */
#include "conformance/message.h"

#include <stdint.h>
#include <stdlib.h>

enum { GUARD = 0x5eed5eed, NOTHING = -1 };

int element_of(int seed, int index) {
    return (int)(((uint32_t)seed * 1000003U + (uint32_t)index) & 0x7fffffffU);
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): close_message frees the data; a launch ends after a failure.
message open_request(int is_send, int partitions, int count, int peer, int tag, MPI_Comm comm) {
    message one = {.is_send = is_send, .partitions = partitions, .count = count};
    const size_t length = (size_t)partitions * (size_t)count;
    one.data = malloc((length + 1) * sizeof *one.data);
    EXPECT(one.data, "no memory for %zu elements", length);
    one.data[length] = GUARD;
    if (is_send)
        MUST(MPI_Psend_init(one.data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL,
                            &one.request));
    else
        MUST(MPI_Precv_init(one.data, partitions, count, MPI_INT, peer, tag, comm, MPI_INFO_NULL,
                            &one.request));
    return one;
}
// NOLINTEND(clang-analyzer-unix.Malloc)

message open_message(int from, int to, int total, int tag) {
    const int is_send = world.rank == 0, partitions = is_send ? from : to;
    return open_request(is_send, partitions, partitions ? total / partitions : 0, world.peer, tag,
                        world.comm);
}

void fill_partition(message *one, int partition, int seed) {
    for (int i = partition * one->count; i < (partition + 1) * one->count; i++)
        one->data[i] = one->is_send ? element_of(seed, i) : NOTHING;
}

void fill(message *one, int seed) {
    for (int i = 0; i < one->partitions; i++)
        fill_partition(one, i, seed);
}

void start(message *one, int seed) {
    fill(one, seed);
    MUST(MPI_Start(&one->request));
}

void ready_all(message *one, int seed) {
    const long long step = 7919; /* a prime: every partition has its turn if there are fewer */
    if (!one->is_send)
        return;
    for (int i = 0; i < one->partitions; i++)
        MUST(MPI_Pready((int)((i * step + seed) % one->partitions), one->request));
}

void complete(message *one) {
    MPI_Status status;
    MUST(MPI_Wait(&one->request, &status));
}

void expect_elements(const message *one, int seed, int first, int last) {
    if (one->is_send)
        return;
    for (int i = first; i < last; i++)
        EXPECT(one->data[i] == element_of(seed, i), "element %d, in partition %d of %d, %s", i,
               i / one->count, one->partitions,
               one->data[i] == NOTHING ? "has not arrived" : "has a wrong value");
}

void expect_message(const message *one, int seed) {
    const int length = one->partitions * one->count;
    expect_elements(one, seed, 0, length);
    EXPECT(one->data[length] == GUARD, "the element behind the buffer was written");
}

void transfer(message *one, int seed) {
    start(one, seed);
    ready_all(one, seed);
    complete(one);
    expect_message(one, seed);
}

void close_message(message *one) {
    MUST(MPI_Request_free(&one->request));
    EXPECT(one->request == PARTITIONED_REQUEST_NULL, "MPI_Request_free does not set the request to null");
    free(one->data);
}
