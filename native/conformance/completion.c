/* SPDX-License-Identifier: BSD-3-Clause */
/** @file completion.c  Start, readiness and completion: all functions, and what inactive requests do. */
#include "conformance/message.h"

enum { TAG = 4, N = 4, PAUSES = 20 };

static int test(message *msg) {
    int flag = 0;
    MPI_Status status;
    MUST(MPI_Test(&msg->request, &flag, &status));
    return flag;
}

/* The receiver tests as often as the sender; nothing can be complete until both have met. */
static void nothing_ready(void) {
    message msg = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&msg, seed);
        for (int i = 0; i < PAUSES; i++)
            EXPECT(!test(&msg), "MPI_Test says that the %s is complete, and no partition is ready",
                   msg.is_send ? "send" : "receive");
        meet();
        ready_all(&msg, seed);
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void test_without_last(void) {
    message msg = open_message(N, 2, 40, TAG);
    for (int missing_partition = 0; missing_partition < N; missing_partition++) {
        start(&msg, missing_partition);
        for (int i = 0; i < N && msg.is_send; i++)
            if (i != missing_partition)
                MUST(MPI_Pready(i, msg.request));
        meet();
        for (int i = 0; i < PAUSES; i++)
            EXPECT(!test(&msg), "MPI_Test says that the %s is complete, and partition %d is not ready",
                   msg.is_send ? "send" : "receive", missing_partition);
        meet();
        if (msg.is_send)
            MUST(MPI_Pready(missing_partition, msg.request));
        complete(&msg);
        expect_message(&msg, missing_partition);
    }
    close_message(&msg);
}

static void test_until_complete(void) {
    message msg = open_message(N, N, 4000, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&msg, seed);
        ready_all(&msg, seed);
        while (!test(&msg)) {
        }
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

/* Several messages, whose requests are in one array. */
typedef struct group {
    message messages[N];
    partitioned_request requests[N];
    MPI_Status statuses[N];
} group;

static group open_group(void) {
    group set;
    for (int i = 0; i < N; i++) {
        set.messages[i] = open_message(3, 3, 30 * (i + 1), TAG + i);
        set.requests[i] = set.messages[i].request;
    }
    return set;
}

static void start_group(group *set, int seed) {
    for (int i = 0; i < N; i++)
        fill(&set->messages[i], seed + i);
    MUST(MPI_Startall(N, set->requests));
}

static void ready_group(group *set, int seed) {
    for (int i = N - 1; i >= 0; i--)
        ready_all(&set->messages[i], seed + i);
}

static void end_group(group *set, int seed) {
    for (int i = 0; i < N; i++)
        expect_message(&set->messages[i], seed + i);
}

static void close_group(group *set) {
    for (int i = 0; i < N; i++)
        close_message(&set->messages[i]);
}

static void startall_and_waitall(void) {
    group set = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        start_group(&set, seed);
        ready_group(&set, seed);
        MUST(MPI_Waitall(N, set.requests, set.statuses));
        end_group(&set, seed);
    }
    close_group(&set);
}

/* A send and a receive of this process. */
static void startall_of_two(void) {
    message send_msg = open_request(1, N, 10, world.peer, TAG, world.comm);
    message receive_msg = open_request(0, N, 10, world.peer, TAG, world.comm);
    partitioned_request request_pair[] = {receive_msg.request, send_msg.request};
    MPI_Status statuses[2];
    for (int seed = 0; seed < 3; seed++) {
        fill(&send_msg, seed);
        fill(&receive_msg, seed);
        MUST(MPI_Startall(2, request_pair));
        ready_all(&send_msg, seed);
        MUST(MPI_Waitall(2, request_pair, statuses));
        expect_message(&receive_msg, seed);
    }
    close_message(&send_msg);
    close_message(&receive_msg);
}

static void testall(void) {
    group set = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int flag = 0;
        start_group(&set, seed);
        ready_all(&set.messages[0], seed);
        for (int i = 0; i < PAUSES && !flag; i++)
            MUST(MPI_Testall(N, set.requests, &flag, set.statuses));
        EXPECT(!flag, "MPI_Testall says that %d messages are complete, and 1 is ready", N);
        meet();
        for (int i = 1; i < N; i++)
            ready_all(&set.messages[i], seed + i);
        while (!flag)
            MUST(MPI_Testall(N, set.requests, &flag, set.statuses));
        end_group(&set, seed);
    }
    close_group(&set);
}

static void waitany(void) {
    group set = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int index, index_mask = 0;
        MPI_Status status;
        start_group(&set, seed);
        ready_group(&set, seed);
        for (int i = 0; i < N; i++) {
            MUST(MPI_Waitany(N, set.requests, &index, &status));
            EXPECT(index >= 0 && index < N && !(index_mask >> index & 1), "MPI_Waitany gives the index %d",
                   index);
            index_mask |= 1 << index;
            expect_message(&set.messages[index], seed + index);
        }
        MUST(MPI_Waitany(N, set.requests, &index, &status));
        EXPECT(index == MPI_UNDEFINED, "MPI_Waitany of inactive requests gives the index %d", index);
    }
    close_group(&set);
}

static void testany(void) {
    group set = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int index = 0, flag = 0, index_mask = 0;
        MPI_Status status;
        start_group(&set, seed);
        for (int i = 0; i < PAUSES && !flag; i++)
            MUST(MPI_Testany(N, set.requests, &index, &flag, &status));
        EXPECT(!flag, "MPI_Testany completes request %d, and no partition is ready", index);
        meet();
        ready_group(&set, seed);
        for (int done_count = 0; done_count < N; done_count += flag) {
            MUST(MPI_Testany(N, set.requests, &index, &flag, &status));
            EXPECT(!flag || (index >= 0 && index < N && !(index_mask >> index & 1)),
                   "MPI_Testany gives the index %d", index);
            index_mask |= flag ? 1 << index : 0;
        }
        end_group(&set, seed);
    }
    close_group(&set);
}

static void complete_some(int waits) {
    group set = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int count = 0, indices[N], index_mask = 0;
        start_group(&set, seed);
        ready_group(&set, seed);
        for (int done_count = 0; done_count < N; done_count += count) {
            if (waits)
                MUST(MPI_Waitsome(N, set.requests, &count, indices, set.statuses));
            else
                MUST(MPI_Testsome(N, set.requests, &count, indices, set.statuses));
            EXPECT(count >= waits && count <= N - done_count, "%d requests are complete, of %d", count,
                   N - done_count);
            for (int i = 0; i < count; i++) {
                EXPECT(indices[i] >= 0 && indices[i] < N && !(index_mask >> indices[i] & 1),
                       "request %d is complete twice", indices[i]);
                index_mask |= 1 << indices[i];
            }
        }
        end_group(&set, seed);
    }
    close_group(&set);
}

static void waitsome(void) {
    complete_some(1);
}

static void testsome(void) {
    complete_some(0);
}

#if !defined(CONFORMANCE_NAME)
/* Partitioned requests are requests: one call completes them with others. */
static void mixed_requests(void) {
    message msg = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        int own_value = seed, peer_value = -1;
        MPI_Status statuses[3];
        MPI_Request requests[3] = {[0] = msg.request};
        start(&msg, seed);
        MUST(MPI_Irecv(&peer_value, 1, MPI_INT, world.peer, TAG, world.comm, &requests[1]));
        MUST(MPI_Isend(&own_value, 1, MPI_INT, world.peer, TAG, world.comm, &requests[2]));
        ready_all(&msg, seed);
        MUST(MPI_Waitall(3, requests, statuses));
        EXPECT(peer_value == own_value, "the program's message has the value %d", peer_value);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}
#endif

static void contents_of_the_status(void) {
    message msg = open_message(6, 4, 48, TAG);
    for (int seed = 0; seed < 3; seed++) {
        MPI_Status status = {.MPI_SOURCE = -77, .MPI_TAG = -77};
        int count = 0;
        start(&msg, seed);
        ready_all(&msg, seed);
        MUST(MPI_Wait(&msg.request, &status));
        if (!msg.is_send) {
            EXPECT(status.MPI_SOURCE == 0, "the status has the source %d instead of 0", status.MPI_SOURCE);
            EXPECT(status.MPI_TAG == TAG, "the status has the tag %d instead of %d", status.MPI_TAG, TAG);
            MUST(MPI_Get_count(&status, MPI_INT, &count));
            EXPECT(count == 48, "MPI_Get_count gives %d elements instead of 48", count);
        }
    }
    close_message(&msg);
}

static void inactive_requests(void) {
    message msg = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        MPI_Status status;
        EXPECT(test(&msg), "MPI_Test of an inactive request is false");
        MUST(MPI_Wait(&msg.request, &status));
        EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
               "MPI_Wait of an inactive request gives a status with source %d and tag %d instead of "
               "MPI_ANY_SOURCE and MPI_ANY_TAG",
               status.MPI_SOURCE, status.MPI_TAG);
        transfer(&msg, seed);
    }
    EXPECT(msg.request != PARTITIONED_REQUEST_NULL, "MPI_Wait frees the request");
    close_message(&msg);
}

/* Requests that are never started take part in matching. */
static void free_unstarted(void) {
    for (int seed = 0; seed < 5; seed++) {
        message idle_msg = open_message(N, N, 40, TAG), used_msg = open_message(N, N, 80, TAG);
        close_message(&idle_msg);
        transfer(&used_msg, seed);
        close_message(&used_msg);
    }
}

static void ready_in_ranges(void) {
    message msg = open_message(10, 5, 100, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&msg, seed);
        if (msg.is_send) {
            MUST(MPI_Pready_range(4, 8, msg.request));
            MUST(MPI_Pready_range(9, 9, msg.request));
            MUST(MPI_Pready_range(0, 3, msg.request));
        }
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void ready_in_lists(void) {
    static int odd[] = {9, 1, 7, 5, 3}, even[] = {0, 8, 2, 4, 6}; /* not const in MPI 4.0 */
    message msg = open_message(10, 5, 100, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&msg, seed);
        if (msg.is_send) {
            MUST(MPI_Pready_list(5, odd, msg.request));
            MUST(MPI_Pready_list(5, even, msg.request));
        }
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

const conformance_case completion_cases[] = {
    {"test-not-ready", "4.2.2", "Nothing is complete before a partition is ready.", nothing_ready, 0},
    {"test-one-missing", "4.2.2", "Nothing is complete before the last partition is ready.",
     test_without_last, 0},
    {"test", "4.2.2", "MPI_Test completes requests.", test_until_complete, 0},
    {"startall-two", "4.2.1", "MPI_Startall starts a send and a receive.", startall_of_two, 0},
    {"startall-waitall", "4.2.2", "MPI_Startall and MPI_Waitall take several requests.", startall_and_waitall,
     0},
    {"testall", "4.2.2", "MPI_Testall completes all requests or none.", testall, 0},
    {"waitany", "4.2.2", "MPI_Waitany completes each request once.", waitany, 0},
    {"testany", "4.2.2", "MPI_Testany completes each request once.", testany, 0},
    {"waitsome", "4.2.2", "MPI_Waitsome completes each request once.", waitsome, 0},
    {"testsome", "4.2.2", "MPI_Testsome completes each request once.", testsome, 0},
#if !defined(CONFORMANCE_NAME)
    {"mixed-requests", "4.2.2", "MPI_Waitall takes partitioned and other requests.", mixed_requests, 0},
#endif
    {"status", "4.2.2", "The status of a receive has source, tag and number of elements.",
     contents_of_the_status, 0},
    {"inactive", "3.7.3", "Test and wait of an inactive request return at once with an empty status.",
     inactive_requests, 0},
    {"free-unstarted", "4.2.1", "A request may be freed unstarted, and has taken part in matching.",
     free_unstarted, 0},
    {"pready-range", "4.2.1", "MPI_Pready_range marks both ends, in any order of ranges.", ready_in_ranges,
     0},
    {"pready-list", "4.2.1", "MPI_Pready_list marks partitions in any order.", ready_in_lists, 0},
    {0},
};
