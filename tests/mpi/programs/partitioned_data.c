/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of partitioned messages: unequal counts, order, communicators, threads, the early bird. */
#include "partitioned.h"

#include <pthread.h>
#include <unistd.h>

enum { TAG = 7, MIB = 1 << 20 };

/* One request on each side, for some iterations; partitions become ready in descending order. */
static void transfer(int send_partitions, int receive_partitions, int elements, MPI_Comm comm, int salt) {
    int *data = calloc((size_t)elements, sizeof *data), here;
    MPI_Request request;
    MPI_Comm_rank(comm, &here);
    const int partitions = here == 0 ? send_partitions : receive_partitions, part = elements / partitions;
    if (here == 0)
        MPI_Psend_init(data, partitions, part, MPI_INT, 1, TAG, comm, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, partitions, part, MPI_INT, 0, TAG, comm, MPI_INFO_NULL, &request);
    for (int k = 0; k < 4; k++) {
        MPI_Status status;
        int has_arrived = 0, count;
        MPI_Start(&request);
        for (int i = partitions - 1; i >= 0 && here == 0; i--) {
            fill(data, i * part, part, salt, k);
            MPI_Pready(i, request);
        }
        for (int i = 0; i < partitions && here == 1; i++) {
            for (has_arrived = 0; !has_arrived;)
                MPI_Parrived(request, i, &has_arrived);
            CHECK(is_right(data, i * part, part, salt, k));
        }
        MPI_Wait(&request, &status);
        if (here == 0)
            continue;
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == TAG && count == elements);
    }
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    free(data);
}

static void unequal_counts(void) {
    static const int counts[][2] = {{6, 4}, {4, 6}, {3, 5}, {1, 12}, {12, 1}, {13, 11}, {5, 5}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        transfer(counts[i][0], counts[i][1], counts[i][0] * counts[i][1], MPI_COMM_WORLD, (int)i);
        transfer(counts[i][0], counts[i][1], counts[i][0] * counts[i][1] * 8192, MPI_COMM_WORLD, (int)i);
    }
}

/* Many requests of equal tags on one communicator match in the order of their initialisation. */
static void equal_tags(void) {
    enum { REQUESTS = 8, PARTITIONS = 4, PART = 16 };
    static int data[REQUESTS][PARTITIONS * PART];
    static const int all[PARTITIONS] = {3, 1, 2, 0};
    MPI_Request requests[REQUESTS];
    MPI_Status statuses[REQUESTS];
    for (int r = 0; r < REQUESTS; r++)
        if (rank == 0)
            MPI_Psend_init(data[r], PARTITIONS, PART, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[r]);
        else
            MPI_Precv_init(data[r], PARTITIONS, PART, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[r]);
    for (int k = 0; k < 5; k++) {
        MPI_Startall(REQUESTS, requests);
        for (int r = REQUESTS - 1; r >= 0 && rank == 0; r--) {
            fill(data[r], 0, PARTITIONS * PART, r, k);
            if (r % 2)
                MPI_Pready_range(0, PARTITIONS - 1, requests[r]);
            else
                MPI_Pready_list(PARTITIONS, (int *)all, requests[r]);
        }
        MPI_Waitall(REQUESTS, requests, statuses);
        for (int r = 0; r < REQUESTS && rank == 1; r++)
            CHECK(is_right(data[r], 0, PARTITIONS * PART, r, k));
    }
    for (int r = 0; r < REQUESTS; r++)
        MPI_Request_free(&requests[r]);
}

/* One message on each of several communicators that all have both processes; all messages are under way at
 * the same time, with one tag, and the receives are initialised in another order than the sends. */
static void communicators(void) {
    enum { COMMS = 12, PART = 32 };
    static int data[COMMS][2 * PART];
    MPI_Comm comms[COMMS], half;
    MPI_Request requests[COMMS], idup;
    MPI_Status statuses[COMMS];
    MPI_Group group;
    const int one = size, zero = 0;
    int reversed[2] = {1, 0};
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &zero, 0, &comms[3]);
    MPI_Comm_idup(comms[2], &comms[4], &idup);
    MPI_Wait(&idup, MPI_STATUS_IGNORE);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(comms[1], group, &comms[5]);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comms[6]);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comms[7]);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 3, &comms[8]);
    MPI_Intercomm_merge(comms[8], rank == 0, &comms[9]);
    MPI_Comm_dup(comms[8], &comms[10]);
    MPI_Dist_graph_create_adjacent(comms[3], 0, &zero, MPI_UNWEIGHTED, 0, &zero, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comms[11]);
    for (int j = 0; j < COMMS; j++) {
        int c = rank == 0 ? j : COMMS - 1 - j, is_inter, here;
        MPI_Comm_test_inter(comms[c], &is_inter);
        MPI_Comm_rank(comms[c], &here);
        const int peer = is_inter ? 0 : reversed[here];
        if (rank == 0)
            MPI_Psend_init(data[c], 2, PART, MPI_INT, peer, TAG, comms[c], MPI_INFO_NULL, &requests[c]);
        else
            MPI_Precv_init(data[c], 2, PART, MPI_INT, peer, TAG, comms[c], MPI_INFO_NULL, &requests[c]);
    }
    for (int k = 0; k < 3; k++) {
        MPI_Startall(COMMS, requests);
        for (int c = 0; c < COMMS && rank == 0; c++) {
            fill(data[c], 0, 2 * PART, c, k);
            MPI_Pready_range(0, 1, requests[c]);
        }
        MPI_Waitall(COMMS, requests, statuses);
        for (int c = 0; c < COMMS && rank == 1; c++)
            CHECK(is_right(data[c], 0, 2 * PART, c, k));
    }
    for (int c = 0; c < COMMS; c++) {
        MPI_Request_free(&requests[c]);
        if (c > 0)
            MPI_Comm_free(&comms[c]);
    }
    MPI_Comm_free(&half);
    MPI_Group_free(&group);
}

/* Communicators come and go, more of them than an MPI library has context ids. */
static void many_communicators(void) {
    enum { LIVE = 300 };
    MPI_Comm comms[LIVE];
    for (int c = 0; c < LIVE; c++)
        MPI_Comm_dup(c == 0 ? MPI_COMM_WORLD : comms[c - 1], &comms[c]);
    for (int c = 0; c < LIVE; c++)
        transfer(2, 2, 8, comms[c], c);
    for (int c = 0; c < LIVE; c++)
        MPI_Comm_free(&comms[c]);
}

/* --- threads --- */

enum { THREADS = 4, EACH = 16, PART = 64 };
static int threads_data[THREADS * EACH * PART];
static MPI_Request threads_request;
static int threads_iteration;

static void *mark(void *argument) {
    const int first = *(int *)argument;
    for (int i = EACH - 1; i >= 0; i--) {
        const int partition = first + i * THREADS; /* neighbours belong to different threads */
        if (rank == 0) {
            fill(threads_data, partition * PART, PART, 1, threads_iteration);
            MPI_Pready(partition, threads_request);
            continue;
        }
        for (int has_arrived = 0; !has_arrived;)
            MPI_Parrived(threads_request, partition, &has_arrived);
        CHECK(is_right(threads_data, partition * PART, PART, 1, threads_iteration));
    }
    return NULL;
}

static void threads(void) {
    pthread_t started[THREADS];
    int firsts[THREADS];
    if (rank == 0)
        MPI_Psend_init(threads_data, THREADS * EACH, PART, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &threads_request);
    else
        MPI_Precv_init(threads_data, THREADS * EACH, PART, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &threads_request);
    for (threads_iteration = 0; threads_iteration < 20; threads_iteration++) {
        MPI_Start(&threads_request);
        for (int t = 0; t < THREADS; t++) {
            firsts[t] = t;
            pthread_create(&started[t], NULL, mark, &firsts[t]);
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(started[t], NULL);
        MPI_Wait(&threads_request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&threads_request);
}

/* --- the program's own messages, and order in time --- */

/* Receives with MPI_ANY_TAG and neighbouring tags get the program's own messages only. */
static void other_messages(void) {
    static int data[4 * 16];
    int own[3] = {0};
    MPI_Request requests[4];
    if (rank == 0)
        MPI_Psend_init(data, 4, 16, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    else
        MPI_Precv_init(data, 4, 16, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    for (int k = 0; k < 5; k++) {
        MPI_Start(&requests[0]);
        if (rank == 0) {
            fill(data, 0, 4 * 16, 1, k);
            MPI_Pready_range(0, 3, requests[0]);
        }
        for (int i = 0; i < 3; i++) {
            const int number = 100 * k + i;
            if (rank == 0)
                MPI_Send(&number, 1, MPI_INT, 1, TAG - 1 + i, MPI_COMM_WORLD);
            else
                MPI_Irecv(&own[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1 + i]);
        }
        MPI_Waitall(rank == 0 ? 1 : 4, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 3 && rank == 1; i++)
            CHECK(own[i] == 100 * k + i);
        CHECK(is_right(data, 0, 4 * 16, 1, k));
    }
    MPI_Request_free(&requests[0]);
}

/* Partitions arrive while the last one is not ready. Prints how many; 0 after two seconds. */
static void early(void) {
    enum { PARTITIONS = 4 };
    int *data = malloc(PARTITIONS * MIB), arrived = 0;
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(data, PARTITIONS, MIB / 4, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, PARTITIONS, MIB / 4, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0) {
        fill(data, 0, PARTITIONS * MIB / 4, 1, 0);
        MPI_Pready_range(0, PARTITIONS - 2, request);
        MPI_Recv(&arrived, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pready(PARTITIONS - 1, request);
    } else {
        for (double end = MPI_Wtime() + 2; arrived < PARTITIONS - 1 && MPI_Wtime() < end;) {
            arrived = 0;
            for (int i = 0; i < PARTITIONS; i++) {
                int flag;
                MPI_Parrived(request, i, &flag);
                arrived += flag;
            }
        }
        MPI_Send(&arrived, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("%d partitions arrived early\n", arrived);
    MPI_Request_free(&request);
    free(data);
}

/* The receive is started before the send exists; then the receiver waits in calls that have nothing to do
 * with it, and that end after the send only. */
static void blocked(void (*wait_for_sender)(void)) {
    int *data = malloc(4 * MIB);
    MPI_Request request;
    if (rank == 1) {
        MPI_Precv_init(data, 2, MIB / 2, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
        wait_for_sender();
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Psend_init(data, 2, MIB / 2, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        fill(data, 0, MIB, 1, 0);
        MPI_Pready_range(0, 1, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        wait_for_sender();
    CHECK(is_right(data, 0, MIB, 1, 0));
    MPI_Request_free(&request);
    free(data);
}

static void exchange_blocking(void) {
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_nonblocking(void) {
    MPI_Request request;
    if (rank == 0)
        MPI_Isend(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void probe(void) {
    if (rank == 1)
        MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchange_blocking();
}

static void exchange_matched(void) {
    MPI_Message message;
    if (rank == 0) {
        MPI_Ssend(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
        return;
    }
    MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* Every other element is replaced, and the elements between them remain. */
static void replace(void) {
    enum { N = 6 };
    int values[N];
    MPI_Datatype every_other;
    MPI_Status status;
    for (int i = 0; i < N; i++)
        values[i] = 100 * rank + i;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Sendrecv_replace(values, 1, every_other, 1 - rank, 2 + rank, 1 - rank, 3 - rank, MPI_COMM_WORLD,
                         &status);
    CHECK(status.MPI_SOURCE == 1 - rank && status.MPI_TAG == 3 - rank);
    for (int i = 0; i < N; i++)
        CHECK(values[i] == 100 * (i % 2 ? rank : 1 - rank) + i);
    MPI_Type_free(&every_other);
}

static void collective(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static void create_group(void) {
    MPI_Group all;
    MPI_Comm created;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 2, &created);
    MPI_Comm_free(&created);
    MPI_Group_free(&all);
}

static void create_window(void) {
    MPI_Win window;
    void *memory;
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&memory, &window);
    MPI_Win_free(&window);
}

static void create_intercomm(void) {
    MPI_Comm created;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 2, &created);
    MPI_Comm_free(&created);
}

static void blocked_calls(void) {
    blocked(exchange_nonblocking);
    blocked(exchange_blocking);
    blocked(probe);
    blocked(exchange_matched);
    blocked(replace);
    blocked(collective);
    blocked(create_group);
    blocked(create_window);
}

static void blocked_in_intercomm_create(void) {
    blocked(create_intercomm);
}

static pthread_t receiver;

static void *receive(void *unused) {
    exchange_blocking();
    return unused;
}

static void join_receiver(void) {
    if (rank == 0)
        exchange_blocking();
    else
        pthread_join(receiver, NULL);
}

/* A thread is in MPI_Recv before another thread starts the partitioned receive and then waits for the first
 * one, without a call of MPI. */
static void blocked_before_the_start(void) {
    if (rank == 1) {
        pthread_create(&receiver, NULL, receive, NULL);
        usleep(100000);
    }
    blocked(join_receiver);
}

const struct named_scenario scenarios[] = {
    {"unequal_counts", unequal_counts},
    {"equal_tags", equal_tags},
    {"communicators", communicators},
    {"many_communicators", many_communicators},
    {"threads", threads},
    {"other_messages", other_messages},
    {"early", early},
    {"blocked_calls", blocked_calls},
    {"blocked_in_intercomm_create", blocked_in_intercomm_create},
    {"blocked_before_the_start", blocked_before_the_start},
    {NULL, NULL},
};
