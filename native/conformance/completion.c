/* SPDX-License-Identifier: BSD-3-Clause */
/** @file completion.c  Start, readiness and completion: all functions, and what inactive requests do. */
#include "conformance/message.h"

enum { TAG = 4, N = 4, PAUSES = 20 };

static int test(message *one) {
    int flag = 0;
    MPI_Status status;
    MUST(MPI_Test(&one->request, &flag, &status));
    return flag;
}

/* The receiver tests as often as the sender; nothing can be complete until both have met. */
static void nothing_ready(void) {
    message one = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&one, seed);
        for (int i = 0; i < PAUSES; i++)
            EXPECT(!test(&one), "MPI_Test says that the %s is complete, and no partition is ready",
                   one.is_send ? "send" : "receive");
        meet();
        ready_all(&one, seed);
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

static void one_missing(void) {
    message one = open_message(N, 2, 40, TAG);
    for (int missing = 0; missing < N; missing++) {
        start(&one, missing);
        for (int i = 0; i < N && one.is_send; i++)
            if (i != missing)
                MUST(MPI_Pready(i, one.request));
        meet();
        for (int i = 0; i < PAUSES; i++)
            EXPECT(!test(&one), "MPI_Test says that the %s is complete, and partition %d is not ready",
                   one.is_send ? "send" : "receive", missing);
        meet();
        if (one.is_send)
            MUST(MPI_Pready(missing, one.request));
        complete(&one);
        expect_message(&one, missing);
    }
    close_message(&one);
}

static void test_until_complete(void) {
    message one = open_message(N, N, 4000, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&one, seed);
        ready_all(&one, seed);
        while (!test(&one)) {
        }
        expect_message(&one, seed);
    }
    close_message(&one);
}

/* Several messages, whose requests are in one array. */
typedef struct group {
    message of[N];
    partitioned_request requests[N];
    MPI_Status statuses[N];
} group;

static group open_group(void) {
    group all;
    for (int i = 0; i < N; i++) {
        all.of[i] = open_message(3, 3, 30 * (i + 1), TAG + i);
        all.requests[i] = all.of[i].request;
    }
    return all;
}

static void start_group(group *all, int seed) {
    for (int i = 0; i < N; i++)
        fill(&all->of[i], seed + i);
    MUST(MPI_Startall(N, all->requests));
}

static void ready_group(group *all, int seed) {
    for (int i = N - 1; i >= 0; i--)
        ready_all(&all->of[i], seed + i);
}

static void end_group(group *all, int seed) {
    for (int i = 0; i < N; i++)
        expect_message(&all->of[i], seed + i);
}

static void close_group(group *all) {
    for (int i = 0; i < N; i++)
        close_message(&all->of[i]);
}

static void startall_and_waitall(void) {
    group all = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        start_group(&all, seed);
        ready_group(&all, seed);
        MUST(MPI_Waitall(N, all.requests, all.statuses));
        end_group(&all, seed);
    }
    close_group(&all);
}

/* A send and a receive of this process. */
static void startall_of_two(void) {
    message out = open_request(1, N, 10, world.peer, TAG, world.comm);
    message in = open_request(0, N, 10, world.peer, TAG, world.comm);
    partitioned_request both[] = {in.request, out.request};
    MPI_Status statuses[2];
    for (int seed = 0; seed < 3; seed++) {
        fill(&out, seed);
        fill(&in, seed);
        MUST(MPI_Startall(2, both));
        ready_all(&out, seed);
        MUST(MPI_Waitall(2, both, statuses));
        expect_message(&in, seed);
    }
    close_message(&out);
    close_message(&in);
}

static void testall(void) {
    group all = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int flag = 0;
        start_group(&all, seed);
        ready_all(&all.of[0], seed);
        for (int i = 0; i < PAUSES && !flag; i++)
            MUST(MPI_Testall(N, all.requests, &flag, all.statuses));
        EXPECT(!flag, "MPI_Testall says that %d messages are complete, and 1 is ready", N);
        meet();
        for (int i = 1; i < N; i++)
            ready_all(&all.of[i], seed + i);
        while (!flag)
            MUST(MPI_Testall(N, all.requests, &flag, all.statuses));
        end_group(&all, seed);
    }
    close_group(&all);
}

static void waitany(void) {
    group all = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int index, seen = 0;
        MPI_Status status;
        start_group(&all, seed);
        ready_group(&all, seed);
        for (int i = 0; i < N; i++) {
            MUST(MPI_Waitany(N, all.requests, &index, &status));
            EXPECT(index >= 0 && index < N && !(seen >> index & 1), "MPI_Waitany gives the index %d", index);
            seen |= 1 << index;
            expect_message(&all.of[index], seed + index);
        }
        MUST(MPI_Waitany(N, all.requests, &index, &status));
        EXPECT(index == MPI_UNDEFINED, "MPI_Waitany of inactive requests gives the index %d", index);
    }
    close_group(&all);
}

static void testany(void) {
    group all = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int index = 0, flag = 0, seen = 0;
        MPI_Status status;
        start_group(&all, seed);
        for (int i = 0; i < PAUSES && !flag; i++)
            MUST(MPI_Testany(N, all.requests, &index, &flag, &status));
        EXPECT(!flag, "MPI_Testany completes request %d, and no partition is ready", index);
        meet();
        ready_group(&all, seed);
        for (int done = 0; done < N; done += flag) {
            MUST(MPI_Testany(N, all.requests, &index, &flag, &status));
            EXPECT(!flag || (index >= 0 && index < N && !(seen >> index & 1)),
                   "MPI_Testany gives the index %d", index);
            seen |= flag ? 1 << index : 0;
        }
        end_group(&all, seed);
    }
    close_group(&all);
}

static void some(int waits) {
    group all = open_group();
    for (int seed = 0; seed < 30; seed += 10) {
        int count = 0, indices[N], seen = 0;
        start_group(&all, seed);
        ready_group(&all, seed);
        for (int done = 0; done < N; done += count) {
            if (waits)
                MUST(MPI_Waitsome(N, all.requests, &count, indices, all.statuses));
            else
                MUST(MPI_Testsome(N, all.requests, &count, indices, all.statuses));
            EXPECT(count >= waits && count <= N - done, "%d requests are complete, of %d", count, N - done);
            for (int i = 0; i < count; i++) {
                EXPECT(indices[i] >= 0 && indices[i] < N && !(seen >> indices[i] & 1),
                       "request %d is complete twice", indices[i]);
                seen |= 1 << indices[i];
            }
        }
        end_group(&all, seed);
    }
    close_group(&all);
}

static void waitsome(void) {
    some(1);
}

static void testsome(void) {
    some(0);
}

#if !defined(CONFORMANCE_NAME)
/* Partitioned requests are requests: one call completes them with others. */
static void mixed_requests(void) {
    message one = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        int mine = seed, theirs = -1;
        MPI_Status statuses[3];
        MPI_Request all[3] = {[0] = one.request};
        start(&one, seed);
        MUST(MPI_Irecv(&theirs, 1, MPI_INT, world.peer, TAG, world.comm, &all[1]));
        MUST(MPI_Isend(&mine, 1, MPI_INT, world.peer, TAG, world.comm, &all[2]));
        ready_all(&one, seed);
        MUST(MPI_Waitall(3, all, statuses));
        EXPECT(theirs == mine, "the program's message has the value %d", theirs);
        expect_message(&one, seed);
    }
    close_message(&one);
}
#endif

static void contents_of_the_status(void) {
    message one = open_message(6, 4, 48, TAG);
    for (int seed = 0; seed < 3; seed++) {
        MPI_Status status = {.MPI_SOURCE = -77, .MPI_TAG = -77};
        int count = 0;
        start(&one, seed);
        ready_all(&one, seed);
        MUST(MPI_Wait(&one.request, &status));
        if (!one.is_send) {
            EXPECT(status.MPI_SOURCE == 0, "the status has the source %d instead of 0", status.MPI_SOURCE);
            EXPECT(status.MPI_TAG == TAG, "the status has the tag %d instead of %d", status.MPI_TAG, TAG);
            MUST(MPI_Get_count(&status, MPI_INT, &count));
            EXPECT(count == 48, "MPI_Get_count gives %d elements instead of 48", count);
        }
    }
    close_message(&one);
}

static void inactive_requests(void) {
    message one = open_message(N, N, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        MPI_Status status;
        EXPECT(test(&one), "MPI_Test of an inactive request is false");
        MUST(MPI_Wait(&one.request, &status));
        EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
               "MPI_Wait of an inactive request gives a status with source %d and tag %d instead of "
               "MPI_ANY_SOURCE and MPI_ANY_TAG",
               status.MPI_SOURCE, status.MPI_TAG);
        transfer(&one, seed);
    }
    EXPECT(one.request != PARTITIONED_REQUEST_NULL, "MPI_Wait frees the request");
    close_message(&one);
}

/* Requests that are never started take part in matching. */
static void free_unstarted(void) {
    for (int seed = 0; seed < 5; seed++) {
        message unused = open_message(N, N, 40, TAG), used = open_message(N, N, 80, TAG);
        close_message(&unused);
        transfer(&used, seed);
        close_message(&used);
    }
}

static void ready_in_ranges(void) {
    message one = open_message(10, 5, 100, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&one, seed);
        if (one.is_send) {
            MUST(MPI_Pready_range(4, 8, one.request));
            MUST(MPI_Pready_range(9, 9, one.request));
            MUST(MPI_Pready_range(0, 3, one.request));
        }
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

static void ready_in_lists(void) {
    static int odd[] = {9, 1, 7, 5, 3}, even[] = {0, 8, 2, 4, 6}; /* not const in MPI 4.0 */
    message one = open_message(10, 5, 100, TAG);
    for (int seed = 0; seed < 3; seed++) {
        start(&one, seed);
        if (one.is_send) {
            MUST(MPI_Pready_list(5, odd, one.request));
            MUST(MPI_Pready_list(5, even, one.request));
        }
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

const conformance_case completion_cases[] = {
    {"test-not-ready", "4.2.2", "Nothing is complete before a partition is ready.", nothing_ready, 0},
    {"test-one-missing", "4.2.2", "Nothing is complete before the last partition is ready.", one_missing, 0},
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
