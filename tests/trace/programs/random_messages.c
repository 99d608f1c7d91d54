/*
 * Random messages between all processes, in rounds: `random_messages SEED ROUNDS`. Message n of the run has
 * n + 3 integers: so the bytes that a receive states identify the message that it received. The payload is
 * the source, the tag and n, which the receiver checks. Every rank knows the plan of every round.
 *
 * A process receives in one of several ways in each round: by requests that it posts before the messages are
 * sent, with or without wildcards, or by blocking calls and probes after it has sent its own. Waiting calls
 * also get null and inactive requests, and one of a collective. A line with a checksum is printed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 24, TAGS = 3, MOST = 4096, WAYS = 9 };
enum { IRECV, IRECV_ANY_TAG, IRECV_ANY, PERSISTENT, RECV, RECV_ANY, PROBE, MPROBE, IMPROBE };

static int p, rank, first; /* of the round */
static int source[MESSAGES], destination[MESSAGES], tag[MESSAGES], way[64];
static int sent[MESSAGES][MOST], got[MESSAGES + 1][MOST];
static MPI_Request requests[2 * MESSAGES + 3], persistent[MESSAGES];
static MPI_Status statuses[2 * MESSAGES + 3];
static long checksum;
static MPI_Comm comm;

static int is_posted_first(int receiver) {
    return way[receiver] <= PERSISTENT;
}

static void plan(void) {
    for (int i = 0; i < p; i++)
        way[i] = rand() % WAYS;
    for (int i = 0; i < MESSAGES; i++) {
        source[i] = rand() % p;
        destination[i] = rand() % p;
        tag[i] = rand() % TAGS;
    }
}

static void check(const int *received, int count, const MPI_Status *status) {
    const int n = received[2] - first;
    if (n < 0 || n >= MESSAGES || received[0] != source[n] || received[1] != tag[n] ||
        destination[n] != rank || count != first + n + 3 ||
        (status != NULL && (status->MPI_SOURCE != source[n] || status->MPI_TAG != tag[n]))) {
        fprintf(stderr, "rank %d received a wrong message\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    checksum += count;
}

/* Posts the receives of the round; returns their number. */
static int post(void) {
    int count = 0;
    for (int i = 0; i < MESSAGES; i++) {
        if (destination[i] != rank || !is_posted_first(rank))
            continue;
        const int any = way[rank] == IRECV_ANY;
        const int from = any ? MPI_ANY_SOURCE : source[i];
        const int with = any || way[rank] == IRECV_ANY_TAG ? MPI_ANY_TAG : tag[i];
        if (way[rank] == PERSISTENT)
            MPI_Recv_init(got[count], MOST, MPI_INT, from, with, comm, &requests[count]);
        else
            MPI_Irecv(got[count], MOST, MPI_INT, from, with, comm, &requests[count]);
        count++;
    }
    if (way[rank] == PERSISTENT && count > 0)
        MPI_Startall(count, requests);
    return count;
}

static void send(int i, MPI_Request *request) {
    const int size = first + i + 3, to = destination[i];
    const int mode = rand() % (is_posted_first(to) ? 8 : 4);
    *request = MPI_REQUEST_NULL;
    sent[i][0] = rank;
    sent[i][1] = tag[i];
    sent[i][2] = first + i;
    if (mode == 0)
        MPI_Isend(sent[i], size, MPI_INT, to, tag[i], comm, request);
    else if (mode == 1)
        MPI_Issend(sent[i], size, MPI_INT, to, tag[i], comm, request);
    else if (mode == 2)
        MPI_Bsend(sent[i], size, MPI_INT, to, tag[i], comm);
    else if (mode == 3)
        MPI_Ibsend(sent[i], size, MPI_INT, to, tag[i], comm, request);
    else if (mode == 4)
        MPI_Send(sent[i], size, MPI_INT, to, tag[i], comm);
    else if (mode == 5 && to != rank)
        MPI_Ssend(sent[i], size, MPI_INT, to, tag[i], comm);
    else if (mode == 6)
        MPI_Rsend(sent[i], size, MPI_INT, to, tag[i], comm);
    else
        MPI_Irsend(sent[i], size, MPI_INT, to, tag[i], comm, request);
}

static void receive(int i) {
    int count, flag = 0;
    int *buffer = got[MESSAGES];
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    if (way[rank] == RECV) {
        MPI_Recv(buffer, MOST, MPI_INT, source[i], tag[i], comm, &status);
    } else if (way[rank] == RECV_ANY) {
        MPI_Recv(buffer, MOST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    } else if (way[rank] == PROBE) {
        MPI_Probe(MPI_ANY_SOURCE, tag[i], comm, &status);
        MPI_Recv(buffer, MOST, MPI_INT, status.MPI_SOURCE, tag[i], comm, &status);
    } else if (way[rank] == MPROBE) {
        MPI_Mprobe(source[i], MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer, MOST, MPI_INT, &message, &status);
    } else {
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(buffer, MOST, MPI_INT, &message, &request);
        MPI_Wait(&request, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    check(buffer, count, &status);
}

/* Waits for all requests in a random way. */
static void complete(int count) {
    int index, done, flag = 0, indices[2 * MESSAGES + 3];
    const int how = rand() % 6;
    for (int left = count; left > 0;) {
        if (how == 0) {
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
            left = 0;
        } else if (how == 1) {
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
            left = index == MPI_UNDEFINED ? 0 : left;
        } else if (how == 2) {
            MPI_Waitsome(count, requests, &done, indices, statuses);
            left = done == MPI_UNDEFINED ? 0 : left;
        } else if (how == 3) {
            MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
            left = flag ? 0 : left;
        } else if (how == 4) {
            MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
            left = flag && index == MPI_UNDEFINED ? 0 : left;
        } else {
            MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
            left = done == MPI_UNDEFINED ? 0 : left;
        }
    }
}

static void run_round(void) {
    plan();
    const int posted = post();
    int count = posted;
    for (int i = 0; i < posted; i++) /* kept, as waits do not set persistent requests to null */
        persistent[i] = requests[i];
    MPI_Barrier(comm);
    for (int i = 0; i < MESSAGES; i++)
        if (source[i] == rank)
            send(i, &requests[count++]);
    requests[count++] = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm, &requests[count++]);
    for (int i = 0; i < MESSAGES; i++)
        if (destination[i] == rank && !is_posted_first(rank))
            receive(i);
    complete(count);
    for (int i = 0; i < posted; i++)
        check(got[i], got[i][2] + 3, NULL);
    for (int i = 0; i < posted && way[rank] == PERSISTENT; i++)
        MPI_Request_free(&persistent[i]);
    first += MESSAGES;
}

int main(int argc, char **argv) {
    static char buffer[8 << 20];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, p - rank, &comm); /* its ranks are in reverse order */
    MPI_Comm_rank(comm, &rank);
    MPI_Buffer_attach(buffer, sizeof buffer);
    const int seed = argc > 2 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 0; i < rounds; i++) {
        MPI_Pcontrol(2);
        srand((unsigned)(1000 * seed + i)); /* the same plan on all ranks */
        run_round();
    }
    long total;
    MPI_Reduce(&checksum, &total, 1, MPI_LONG, MPI_SUM, 0, comm);
    if (rank == 0)
        printf("received %ld\n", total);
    MPI_Finalize();
    return 0;
}
