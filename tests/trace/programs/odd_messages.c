/*
 * Rare cases on four processes, each of which prints what the program sees: `odd_messages CASE`. A tracer
 * must not change a line.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSTANDING = 20000, THREADS = 4, TURNS = 150 };

static int rank, size;

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Sends to this process, where MPI_Send of some libraries would wait for the receive. */
static void send_self(const int *sent, int tag) {
    MPI_Request request;
    MPI_Isend(sent, 4, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
}

/* A receive that is too short among others, with and without statuses; a status that must not be touched. */
static void fail(void) {
    int sent[4] = {1, 2, 3, 4}, got[2][4];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int is_ignored = 0; is_ignored < 2; is_ignored++) {
        MPI_Irecv(got[0], 4, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Irecv(got[1], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
        send_self(sent, 0);
        send_self(sent, 1);
        memset(statuses, 0x55, sizeof statuses);
        int code = MPI_Waitall(2, requests, is_ignored ? MPI_STATUSES_IGNORE : statuses);
        printf("waitall %d", class_of(code));
        if (!is_ignored)
            printf(", statuses %d %d", class_of(statuses[0].MPI_ERROR), class_of(statuses[1].MPI_ERROR));
        MPI_Irecv(got[1], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
        send_self(sent, 1);
        code = MPI_Wait(&requests[0], is_ignored ? MPI_STATUS_IGNORE : statuses);
        printf(", wait %d", class_of(code));
        send_self(sent, 2);
        code = MPI_Recv(got[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_SELF,
                        is_ignored ? MPI_STATUS_IGNORE : statuses);
        printf(", recv %d", class_of(code));
        code = MPI_Send(sent, -1, MPI_INT, 0, 2, MPI_COMM_SELF);
        printf(", send %d\n", class_of(code));
    }
    memset(statuses, 0x55, sizeof statuses);
    statuses[0].MPI_ERROR = 1234;
    MPI_Request null = MPI_REQUEST_NULL;
    int index = 7, flag = 0, count = 7, indices[1];
    MPI_Waitany(1, &null, &index, MPI_STATUS_IGNORE);
    MPI_Testany(1, &null, &count, &flag, MPI_STATUS_IGNORE);
    printf("null requests %d %d %d", index == MPI_UNDEFINED, count == MPI_UNDEFINED, flag);
    MPI_Waitsome(1, &null, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Wait(&null, &statuses[1]);
    printf(" %d %d\n", count == MPI_UNDEFINED, statuses[1].MPI_SOURCE == MPI_ANY_SOURCE);
}

/* As many messages outstanding as fit, completed one by one and by a window of a few. */
static void outstand(void) {
    static MPI_Request requests[OUTSTANDING];
    static int got[OUTSTANDING];
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < OUTSTANDING / 2; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, from, i % 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < OUTSTANDING / 2; i++)
        MPI_Isend(&i, 1, MPI_INT, to, i % 7, MPI_COMM_WORLD, &requests[OUTSTANDING / 2 + i]);
    int flag = 0, some = 0, indices[64];
    for (int i = 0; i < 100 && !flag; i++)
        MPI_Testall(OUTSTANDING, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 10 && !flag; i++)
        MPI_Waitsome(64, requests + 64 * i, &some, indices, MPI_STATUSES_IGNORE);
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    printf("%d requests\n", OUTSTANDING);
}

static void *exchange(void *number) {
    const int tag = (int)(size_t)number, to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < TURNS; i++) {
        int sent = 1000 * rank + i, got = -1, index;
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests[1]);
        if (i % 3 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 2 && i % 3 != 0; k++)
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        if (got != 1000 * from + i)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return NULL;
}

/* Threads that use the same communicator at the same time. */
static void use_threads(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d turns\n", THREADS * TURNS);
}

static int nothing(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = 0;
    return MPI_SUCCESS;
}
static int free_nothing(void *extra) {
    (void)extra;
    return MPI_SUCCESS;
}
static int cancel_nothing(void *extra, int is_complete) {
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

/* Requests of messages, collectives, generalized ones, inactive ones; an inter-communicator. */
static void mix(void) {
    int sent[4] = {rank, rank, rank, rank}, got[4] = {0}, sum = 0, flag;
    MPI_Request requests[6];
    MPI_Status statuses[6];
    MPI_Comm half, inter;
    const int other = rank ^ 1;
    MPI_Irecv(got, 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Grequest_start(nothing, free_nothing, cancel_nothing, NULL, &requests[2]);
    MPI_Grequest_complete(requests[2]);
    MPI_Recv_init(got, 4, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[3]);
    requests[4] = MPI_REQUEST_NULL;
    MPI_Isend(sent, 3, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Request inactive = requests[3];
    MPI_Waitall(6, requests, statuses);
    int count;
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    printf("mixed %d %d %d %d\n", got[0] == other, sum, count, statuses[0].MPI_SOURCE == other);
    MPI_Request_free(&inactive);
    MPI_Grequest_start(nothing, free_nothing, cancel_nothing, NULL, &requests[0]);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Grequest_complete(requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    MPI_Sendrecv(sent, 2, MPI_INT, rank / 2, 3, got, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter,
                 &statuses[0]);
    printf("inter %d %d\n", statuses[0].MPI_SOURCE == rank / 2, got[0] == other);
    MPI_Isend(sent, 1, MPI_INT, other, 77, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]); /* while it is active */
    MPI_Recv(got, 4, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Recording is paused while messages are in flight, differently on each rank. */
static void pause_recording(void) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    char got[300];
    MPI_Request requests[2];
    for (int i = 0; i < 60; i++) {
        if (i == 20 + rank)
            MPI_Pcontrol(0);
        if (i == 33 - rank)
            MPI_Pcontrol(1);
        if (i % 2)
            MPI_Irecv(got, sizeof got, MPI_BYTE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[0]);
        else
            MPI_Irecv(got, sizeof got, MPI_BYTE, from, 4, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend("a message of up to sixty bytes, of which only the length matters", i + 1, MPI_BYTE, to, 4,
                  MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    printf("paused\n");
}

int main(int argc, char **argv) {
    int provided;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "fail") == 0)
        fail();
    else if (strcmp(what, "outstanding") == 0)
        outstand();
    else if (strcmp(what, "threads") == 0 && provided == MPI_THREAD_MULTIPLE)
        use_threads();
    else if (strcmp(what, "mix") == 0)
        mix();
    else if (strcmp(what, "pause") == 0)
        pause_recording();
    MPI_Finalize();
    return 0;
}
