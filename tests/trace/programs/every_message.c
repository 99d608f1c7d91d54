/*
 * Calls every point-to-point function between two processes, which do the same: each sends to the other and
 * receives from it. Message k has 4 * k bytes. With LARGE, all functions with a count are those with large
 * counts; with EXCHANGE, MPI_Isendrecv and MPI_Isendrecv_replace are called as well.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LARGE
#define CALL(name) MPI_##name##_c
#else
#define CALL(name) MPI_##name
#endif

static int sent[1024], got[1024], other, next = 1;
static MPI_Request requests[4];
static MPI_Status status;

static void expect(int is_right, const char *what) {
    if (is_right)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Receives message `next` by MPI_Irecv, which was posted before it is sent. */
static void post(void) {
    CALL(Irecv)(got, 1024, MPI_INT, other, next, MPI_COMM_WORLD, &requests[0]);
}

#define BLOCKING(send)                                                                                       \
    post();                                                                                                  \
    MPI_Barrier(MPI_COMM_WORLD);                                                                             \
    CALL(send)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD);                                            \
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);                                                               \
    next++;
#define NONBLOCKING(send)                                                                                    \
    post();                                                                                                  \
    MPI_Barrier(MPI_COMM_WORLD);                                                                             \
    CALL(send)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);                              \
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                                                           \
    next++;
#define TWICE(send)                                                                                          \
    CALL(send##_init)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);                       \
    for (int i = 0; i < 2; i++) {                                                                            \
        post();                                                                                              \
        MPI_Barrier(MPI_COMM_WORLD);                                                                         \
        MPI_Start(&requests[1]);                                                                             \
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                                                       \
    }                                                                                                        \
    MPI_Request_free(&requests[1]);                                                                          \
    next++;

static void receive_in_all_ways(void) {
    MPI_Message message;
    int flag = 0;
    CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
    CALL(Recv)(got, 1024, MPI_INT, MPI_ANY_SOURCE, next, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    next++;
    CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
    CALL(Recv_init)(got, 1024, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Startall(1, requests);
    MPI_Wait(&requests[0], &status);
    expect(status.MPI_SOURCE == other && status.MPI_TAG == next, "the status of a persistent receive");
    MPI_Request_free(&requests[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    next++;
    CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
    MPI_Probe(other, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, next, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CALL(Recv)(got, 1024, MPI_INT, other, next, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == other, "the status of a receive");
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    next++;
    CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    CALL(Mrecv)(got, 1024, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    next++;
    CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
    for (flag = 0; !flag;)
        MPI_Improbe(other, next, MPI_COMM_WORLD, &flag, &message, &status);
    CALL(Imrecv)(got, 1024, MPI_INT, &message, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    next++;
}

static void exchange_in_all_ways(void) {
    CALL(Sendrecv)
    (sent, next, MPI_INT, other, next, got, 1024, MPI_INT, other, MPI_ANY_TAG, MPI_COMM_WORLD,
     MPI_STATUS_IGNORE);
    next++;
    CALL(Sendrecv_replace)(got, next, MPI_INT, other, next, MPI_ANY_SOURCE, next, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == other && status.MPI_TAG == next, "the status of MPI_Sendrecv_replace");
    next++;
#ifdef EXCHANGE
    CALL(Isendrecv)
    (sent, next, MPI_INT, other, next, got, 1024, MPI_INT, MPI_ANY_SOURCE, next, MPI_COMM_WORLD,
     &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    next++;
    CALL(Isendrecv_replace)
    (got, next, MPI_INT, other, next, other, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    next++;
#endif
}

static void complete_in_all_ways(void) {
    int flag = 0, index = -1, count = 0, indices[3];
    MPI_Status statuses[3];
    for (int way = 0; way < 6; way++) {
        post();
        CALL(Isend)(sent, next, MPI_INT, other, next, MPI_COMM_WORLD, &requests[1]);
        requests[2] = MPI_REQUEST_NULL;
        flag = 0;
        for (int left = 2; left > 0;) {
            if (way == 0)
                MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE), left--;
            else if (way == 1)
                MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE), left -= count;
            else if (way == 2)
                MPI_Test(&requests[left - 1], &flag, MPI_STATUS_IGNORE), left -= flag != 0;
            else if (way == 3)
                MPI_Testall(3, requests, &flag, statuses), left = flag ? 0 : 2;
            else if (way == 4)
                MPI_Testany(3, requests, &index, &flag, &status), left -= flag != 0;
            else
                MPI_Testsome(3, requests, &count, indices, statuses), left -= count;
        }
        next++;
    }
}

/* What has no message, or none that arrives. */
static void do_nothing(void) {
    int flag = 1;
    CALL(Send)(sent, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    CALL(Recv)(got, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "the status of a receive from MPI_PROC_NULL");
    MPI_Iprobe(MPI_ANY_SOURCE, 7777, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "a message with tag 7777");
    CALL(Irecv)(got, 1, MPI_INT, other, 7777, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, "a receive that is not cancelled");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CALL(Isend)(sent, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
}

int main(int argc, char **argv) {
    int rank;
    static char buffer[1 << 16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Pcontrol(2);
    BLOCKING(Send)
    BLOCKING(Bsend)
    BLOCKING(Ssend)
    BLOCKING(Rsend)
    NONBLOCKING(Isend)
    NONBLOCKING(Ibsend)
    NONBLOCKING(Issend)
    NONBLOCKING(Irsend)
    TWICE(Send)
    TWICE(Bsend)
    TWICE(Ssend)
    TWICE(Rsend)
    receive_in_all_ways();
    exchange_in_all_ways();
    complete_in_all_ways();
    do_nothing();
    MPI_Pcontrol(7);
    MPI_Barrier(MPI_COMM_WORLD);
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Finalize();
    printf("%d messages\n", next - 1);
    return 0;
}
