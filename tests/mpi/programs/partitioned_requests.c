/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned requests in MPI's functions for requests, alone and beside requests of other kinds. */
#include "partitioned.h"

enum { TAG = 7, PARTITIONS = 4, PART = 32, ELEMENTS = PARTITIONS * PART, LIST = 5 };

/* A list with a partitioned request, a nonblocking one, a null one, a persistent one and another partitioned
 * one. */
static int data[LIST][ELEMENTS];
static MPI_Request requests[LIST];

static int is_partitioned(int i) {
    return i == 0 || i == 4;
}

static void init(void) {
    for (int i = 0; i < LIST; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < LIST; i += 4)
        if (rank == 0)
            MPI_Psend_init(data[i], PARTITIONS, PART, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[i]);
        else
            MPI_Precv_init(data[i], PARTITIONS, PART, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[i]);
    if (rank == 0)
        MPI_Send_init(data[3], ELEMENTS, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[3]);
    else
        MPI_Recv_init(data[3], ELEMENTS, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[3]);
}

static void start(int k) {
    MPI_Request starting[3] = {requests[0], requests[3], requests[4]};
    for (int i = 0; i < LIST && rank == 0; i++)
        fill(data[i], 0, ELEMENTS, i, k);
    MPI_Startall(3, starting);
    if (rank == 0)
        MPI_Isend(data[1], ELEMENTS, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Irecv(data[1], ELEMENTS, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]);
}

static void ready(void) {
    if (rank == 1)
        return;
    MPI_Pready_range(0, PARTITIONS - 1, requests[4]);
    MPI_Pready_range(0, PARTITIONS - 1, requests[0]);
}

static int is_empty(const MPI_Status *status) {
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0;
}

/* Whether a status describes request i of the list. */
static void check_completed(int i, const MPI_Status *status, int k) {
    int count;
    CHECK(is_right(data[i], 0, ELEMENTS, i, k));
    if (rank == 0)
        return;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(status->MPI_SOURCE == 0 && count == ELEMENTS);
    CHECK(status->MPI_TAG == (is_partitioned(i) ? TAG : i));
}

static void check_all(const MPI_Status *statuses, int k) {
    for (int i = 0; i < LIST; i++)
        if (i == 2)
            CHECK(is_empty(&statuses[i]));
        else
            check_completed(i, &statuses[i], k);
    CHECK(requests[1] == MPI_REQUEST_NULL && requests[3] != MPI_REQUEST_NULL);
}

static void end(void) {
    for (int i = 0; i < LIST; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
}

static void waitall(void) {
    MPI_Status statuses[LIST];
    init();
    for (int k = 0; k < 3; k++) {
        start(k);
        ready();
        MPI_Waitall(LIST, requests, statuses);
        check_all(statuses, k);
    }
    start(3);
    ready();
    MPI_Waitall(LIST, requests, MPI_STATUSES_IGNORE);
    end();
}

static void testall(void) {
    MPI_Status statuses[LIST];
    int flag;
    init();
    for (int k = 0; k < 3; k++) {
        start(k);
        for (int i = 0; i < 100 && rank == 0; i++) {
            MPI_Testall(LIST, requests, &flag, statuses);
            CHECK(!flag && requests[1] != MPI_REQUEST_NULL);
        }
        ready();
        for (flag = 0; !flag;)
            MPI_Testall(LIST, requests, &flag, statuses);
        check_all(statuses, k);
    }
    end();
}

/* Completes the list one by one, by waiting or testing. */
static void any(int is_waiting) {
    init();
    for (int k = 0; k < 3; k++) {
        int completed[LIST] = {0}, index, flag;
        MPI_Status status;
        start(k);
        ready();
        for (int n = 0; n < LIST - 1; n++) {
            if (is_waiting)
                MPI_Waitany(LIST, requests, &index, &status);
            else
                for (flag = 0; !flag;)
                    MPI_Testany(LIST, requests, &index, &flag, &status);
            CHECK(index >= 0 && index < LIST && index != 2 && !completed[index]);
            completed[index] = 1;
            check_completed(index, &status, k);
        }
        MPI_Testany(LIST, requests, &index, &flag, &status);
        CHECK(flag && index == MPI_UNDEFINED && is_empty(&status));
        MPI_Waitany(LIST, requests, &index, &status);
        CHECK(index == MPI_UNDEFINED && is_empty(&status));
    }
    end();
}

static void waitany(void) {
    any(1);
}

static void testany(void) {
    any(0);
}

static void some(int is_waiting) {
    init();
    for (int k = 0; k < 3; k++) {
        int indices[LIST], number, done = 0;
        MPI_Status statuses[LIST];
        start(k);
        ready();
        while (done < LIST - 1) {
            if (is_waiting)
                MPI_Waitsome(LIST, requests, &number, indices, statuses);
            else
                MPI_Testsome(LIST, requests, &number, indices, statuses);
            CHECK(number != MPI_UNDEFINED && number >= is_waiting);
            for (int n = 0; n < number; n++)
                check_completed(indices[n], &statuses[n], k);
            done += number;
        }
        CHECK(done == LIST - 1);
        MPI_Testsome(LIST, requests, &number, indices, statuses);
        CHECK(number == MPI_UNDEFINED);
        MPI_Waitsome(LIST, requests, &number, indices, statuses);
        CHECK(number == MPI_UNDEFINED);
    }
    end();
}

static void waitsome(void) {
    some(1);
}

static void testsome(void) {
    some(0);
}

/* A started send is not complete before all of its partitions are ready, nor is its receive. */
static void test_before_ready(void) {
    MPI_Status status;
    int flag, token = 0;
    init();
    for (int k = 0; k < 3; k++) {
        MPI_Start(&requests[0]);
        for (int i = 0; i < 1000; i++) {
            MPI_Test(&requests[0], &flag, &status);
            CHECK(!flag);
            MPI_Request_get_status(requests[0], &flag, &status);
            CHECK(!flag);
        }
        MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - rank, 5, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) {
            fill(data[0], 0, ELEMENTS, 0, k);
            MPI_Pready_range(0, PARTITIONS - 1, requests[0]);
        }
        for (flag = 0; !flag;)
            MPI_Request_get_status(requests[0], &flag, &status);
        check_completed(0, &status, k);
        MPI_Test(&requests[0], &flag, &status);
        CHECK(flag);
        check_completed(0, &status, k);
    }
    end();
}

/* Requests that were not started: empty statuses, partitions that have arrived; and requests that are freed
 * unused. */
static void inactive(void) {
    MPI_Status status;
    int flag;
    init();
    MPI_Wait(&requests[0], &status);
    CHECK(is_empty(&status));
    MPI_Test(&requests[0], &flag, &status);
    CHECK(flag && is_empty(&status));
    MPI_Request_get_status(requests[0], &flag, &status);
    CHECK(flag && is_empty(&status));
    if (rank == 1) {
        MPI_Parrived(requests[0], 2, &flag);
        CHECK(flag);
        MPI_Parrived(MPI_REQUEST_NULL, 0, &flag);
        CHECK(flag);
    }
    end();
    for (int n = 0; n < 3000; n++) {
        init();
        CHECK(requests[0] != requests[4]);
        end();
    }
    init();
    start(0);
    ready();
    MPI_Waitall(LIST, requests, MPI_STATUSES_IGNORE);
    end();
}

static int class_of(int rc) {
    int error_class;
    MPI_Error_class(rc, &error_class);
    return error_class;
}

/* Wrong calls fail with a class and a sentence, and the request remains usable. */
static void errors(void) {
    char sentence[MPI_MAX_ERROR_STRING];
    MPI_Request refused;
    int flag, length;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Precv_init(data[0], 1, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &refused)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Precv_init(data[0], 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &refused)) == MPI_ERR_TAG);
    init();
    CHECK(class_of(MPI_Pready(0, requests[0])) == MPI_ERR_REQUEST);
    MPI_Start(&requests[0]);
    CHECK(class_of(MPI_Start(&requests[0])) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Request_free(&requests[0])) == MPI_ERR_REQUEST);
    const int cancelled = MPI_Cancel(&requests[0]); /* what rank 1 receives may be complete already */
    CHECK(class_of(cancelled) == MPI_ERR_REQUEST || (rank == 1 && cancelled == MPI_SUCCESS));
    CHECK(class_of(MPI_Parrived(requests[3], 0, &flag)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Pready(0, requests[3])) == MPI_ERR_REQUEST);
    if (rank == 0) {
        fill(data[0], 0, ELEMENTS, 0, 0);
        CHECK(class_of(MPI_Pready(PARTITIONS, requests[0])) == MPI_ERR_ARG);
        MPI_Pready(1, requests[0]);
        const int rc = MPI_Pready(1, requests[0]);
        CHECK(class_of(rc) == MPI_ERR_ARG);
        MPI_Error_string(rc, sentence, &length);
        puts(sentence);
        MPI_Pready(0, requests[0]);
        MPI_Pready_range(2, PARTITIONS - 1, requests[0]);
    } else {
        CHECK(class_of(MPI_Pready(0, requests[0])) == MPI_ERR_REQUEST);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(is_right(data[0], 0, ELEMENTS, 0, 0));
    end();
}

/* A list in which one receive describes other data than its send. */
static void error_in_status(void) {
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Psend_init(data[0], 2, PART, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    else
        MPI_Precv_init(data[0], 2, PART + 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Start(&requests[0]);
    if (rank == 0) {
        MPI_Isend(data[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Pready_range(0, 1, requests[0]);
    } else {
        MPI_Irecv(data[1], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]);
    }
    const int rc = MPI_Waitall(2, requests, statuses);
    if (rank == 1) {
        CHECK(class_of(rc) == MPI_ERR_IN_STATUS);
        CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    }
    CHECK(requests[1] == MPI_REQUEST_NULL);
    MPI_Request_free(&requests[0]);
}

const struct named_scenario scenarios[] = {
    {"waitall", waitall},
    {"testall", testall},
    {"waitany", waitany},
    {"testany", testany},
    {"waitsome", waitsome},
    {"testsome", testsome},
    {"test_before_ready", test_before_ready},
    {"inactive", inactive},
    {"errors", errors},
    {"error_in_status", error_in_status},
    {NULL, NULL},
};
