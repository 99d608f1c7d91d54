/* SPDX-License-Identifier: BSD-3-Clause */
/** @file progress.c  Whether partitions move before the last one is ready, which the standard does not
 * require. */
#define _POSIX_C_SOURCE 200809L
#include "conformance/message.h"

#include <time.h>

enum { TAG = 9, N = 4 };

static const double longest_s = 1.0;

static int arrives_in_time(const message *msg, int partition) {
    const double end_s = MPI_Wtime() + longest_s;
    int flag = 0;
    while (!flag && MPI_Wtime() < end_s)
        MUST(MPI_Parrived(msg->request, partition, &flag));
    return flag;
}

/* The first partition is ready long before the others. The sender waits inside MPI, in which it makes
 * progress, or outside, until the receiver has seen it or given up. */
static void first_partition_arrives(int total, int sender_in_mpi) {
    message msg = open_message(N, N, total, TAG);
    for (int seed = 0; seed < 2; seed++) {
        int early = 0;
        start(&msg, seed);
        meet(); /* the request has found its receive, at the latest in the second iteration */
        if (msg.is_send) {
            const struct timespec pause = {.tv_sec = 1, .tv_nsec = 200000000};
            MUST(MPI_Pready(0, msg.request));
            if (!sender_in_mpi && seed > 0)
                nanosleep(&pause, NULL);
            MUST(MPI_Recv(&early, 1, MPI_INT, 1, TAG, world.comm, MPI_STATUS_IGNORE));
            MUST(MPI_Pready_range(1, N - 1, msg.request));
        } else {
            early = seed == 0 || arrives_in_time(&msg, 0);
            MUST(MPI_Send(&early, 1, MPI_INT, 0, TAG, world.comm));
        }
        complete(&msg);
        EXPECT(early, "partition 0 of %d has not arrived %.0f s after it was ready, as others are not ready",
               N, longest_s);
    }
    close_message(&msg);
}

static void small_partitions_are_early(void) {
    first_partition_arrives(40, 1);
}

static void large_partitions_are_early(void) {
    first_partition_arrives(N << 18, 1);
}

static void large_partitions_are_early_without_the_sender(void) {
    first_partition_arrives(N << 18, 0);
}

const conformance_case progress_cases[] = {
    {"early-small", "4.2.1", "A small partition arrives before the others are ready.",
     small_partitions_are_early, CASE_QUALITY},
    {"early-large", "4.2.1", "A partition of 1 MiB arrives before the others are ready.",
     large_partitions_are_early, CASE_QUALITY},
    {"early-computing", "4.2.1", "The same holds while the sender computes, outside of MPI.",
     large_partitions_are_early_without_the_sender, CASE_QUALITY},
    {0},
};
