/* SPDX-License-Identifier: BSD-3-Clause */
/* The size that is read from a status is the one that the library has written. */
#include "trace/message_status.h"

#include "testing/assert.h"

static const MPI_Count SIZES[] = {0, 1, 8, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789ab};

/* MPI_Status_set_elements_x writes it as a receive does. */
static void test_every_size_is_read(void) {
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
            MPI_Status status;
            MPI_Status_set_cancelled(&status, is_cancelled);
            MPI_Status_set_elements_x(&status, MPI_BYTE, SIZES[i]);
            const uint64_t bytes = offbeat_tracer_received_bytes(&status);
            test_assert(bytes == (uint64_t)SIZES[i], "%lld bytes are read as %llu", (long long)SIZES[i],
                        (unsigned long long)bytes);
        }
    }
}

static void test_the_size_of_a_message_is_read(void) {
    double send_buffer[5] = {0}, receive_buffer[9];
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(send_buffer, 5, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Recv(receive_buffer, 9, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    test_assert(offbeat_tracer_received_bytes(&status) == sizeof send_buffer,
                "5 doubles are read as %llu bytes",
                (unsigned long long)offbeat_tracer_received_bytes(&status));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    test_every_size_is_read();
    test_the_size_of_a_message_is_read();
    MPI_Finalize();
    return 0;
}
