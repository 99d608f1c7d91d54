/*
 * Calls of MPI that are drawn from a seed, the same on all processes: `drawn_calls SEED CALLS END THREADS`.
 *
 * END is finalize, abort or exit. With THREADS > 0, MPI_THREAD_MULTIPLE is required, and so many threads make
 * calls at the same time, each on a communicator of its own. Each process prints a checksum of what it
 * received, and how often it called each function: both depend on the arguments alone. MPI_Pcontrol gets a
 * string and a number after the level, which tools may print.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 3, MOST_THREADS = 4, MOST_FUNCTIONS = 128 };

typedef struct function {
    const char *name;
    int calls;
} function;

static function functions[MOST_FUNCTIONS];

static void count_call(const char *name) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (functions[i].name != NULL && strcmp(functions[i].name, name) != 0)
        i++;
    functions[i].name = name;
    functions[i].calls++;
    pthread_mutex_unlock(&lock);
}

#define CALL(name, ...) (count_call(#name), name(__VA_ARGS__))

/* The state of one thread. */
typedef struct caller {
    MPI_Comm comm;
    uint64_t state;
    int calls, rank, size, creates_communicators;
    int64_t checksum;
} caller;

static unsigned draw(caller *of, unsigned below) {
    of->state = of->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(of->state >> 33) % below;
}

static void add(caller *of, const int *values, int count) {
    for (int i = 0; i < count; i++)
        of->checksum = of->checksum * 31 + values[i];
}

static void call_collective(caller *of) {
    int mine[64], others[64 * COUNT] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = of->comm;
    for (int i = 0; i < 64; i++)
        mine[i] = of->rank + (int)draw(of, 100);
    switch (draw(of, 12)) {
    case 0:
        CALL(MPI_Barrier, comm);
        break;
    case 1:
        CALL(MPI_Bcast, mine, COUNT, MPI_INT, 0, comm);
        add(of, mine, COUNT);
        break;
    case 2:
        CALL(MPI_Reduce, mine, others, COUNT, MPI_INT, MPI_SUM, 0, comm);
        break;
    case 3:
        CALL(MPI_Allreduce, mine, others, COUNT, MPI_INT, MPI_MAX, comm);
        break;
    case 4:
        CALL(MPI_Gather, mine, 1, MPI_INT, others, 1, MPI_INT, 0, comm);
        break;
    case 5:
        CALL(MPI_Allgather, mine, COUNT, MPI_INT, others, COUNT, MPI_INT, comm);
        break;
    case 6:
        CALL(MPI_Alltoall, mine, COUNT, MPI_INT, others, COUNT, MPI_INT, comm);
        break;
    case 7:
        CALL(MPI_Scan, mine, others, COUNT, MPI_INT, MPI_SUM, comm);
        break;
    case 8:
        CALL(MPI_Scatter, mine, 1, MPI_INT, others, 1, MPI_INT, 0, comm);
        break;
    case 9:
        CALL(MPI_Ibarrier, comm, &request);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
        break;
    case 10:
        CALL(MPI_Iallreduce, mine, others, COUNT, MPI_INT, MPI_SUM, comm, &request);
        CALL(MPI_Waitall, 1, &request, MPI_STATUSES_IGNORE);
        break;
    default:
        CALL(MPI_Reduce_scatter_block, mine, others, 1, MPI_INT, MPI_SUM, comm);
    }
    add(of, others, 64);
}

/* Completes a receive and a send. A completing call is made a number of times that does not depend on time.
 */
static void complete(caller *of, MPI_Request requests[2]) {
    MPI_Status statuses[2];
    int index, indices[2], flag;
    switch (draw(of, 5)) {
    case 0:
        CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        CALL(MPI_Waitall, 2, requests, statuses);
        add(of, &statuses[0].MPI_SOURCE, 1);
        break;
    case 2:
        CALL(MPI_Waitany, 2, requests, &index, MPI_STATUS_IGNORE);
        CALL(MPI_Waitany, 2, requests, &index, statuses);
        break;
    case 3:
        CALL(MPI_Waitsome, 1, requests, &index, indices, MPI_STATUSES_IGNORE);
        CALL(MPI_Wait, requests + 1, statuses);
        break;
    default:
        CALL(MPI_Wait, requests, statuses);
        CALL(MPI_Wait, requests + 1, MPI_STATUS_IGNORE);
    }
    CALL(MPI_Testall, 2, requests, &flag, MPI_STATUSES_IGNORE);
    CALL(MPI_Test, requests, &flag, statuses);
    add(of, &flag, 1);
}

/* A message to the next process in a ring, and one from the process before. */
static void exchange(caller *of) {
    const int next = (of->rank + 1) % of->size, last = (of->rank + of->size - 1) % of->size;
    const int tag = (int)draw(of, 9), kind = (int)draw(of, 8);
    int sent[COUNT] = {of->rank, tag, kind}, received[COUNT] = {0}, count = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    if (kind == 0) {
        CALL(MPI_Sendrecv, sent, COUNT, MPI_INT, next, tag, received, COUNT, MPI_INT, last, tag, of->comm,
             &status);
    } else if (kind == 1) {
        CALL(MPI_Sendrecv_replace, sent, COUNT, MPI_INT, next, tag, MPI_ANY_SOURCE, tag, of->comm,
             MPI_STATUS_IGNORE);
        memcpy(received, sent, sizeof received);
    } else if (kind <= 3) {
        const int source = kind == 2 ? last : MPI_ANY_SOURCE;
        CALL(MPI_Irecv, received, COUNT, MPI_INT, source, tag, of->comm, &requests[0]);
        CALL(MPI_Isend, sent, COUNT, MPI_INT, next, tag, of->comm, &requests[1]);
        complete(of, requests);
    } else if (kind == 4) {
        CALL(MPI_Recv_init, received, COUNT, MPI_INT, last, tag, of->comm, &requests[0]);
        CALL(MPI_Send_init, sent, COUNT, MPI_INT, next, tag, of->comm, &requests[1]);
        CALL(MPI_Startall, 2, requests);
        CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        CALL(MPI_Request_free, &requests[0]);
        CALL(MPI_Request_free, &requests[1]);
    } else {
        CALL(MPI_Isend, sent, COUNT, MPI_INT, next, tag, of->comm, &requests[1]);
        if (kind == 5) {
            CALL(MPI_Recv, received, COUNT, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, of->comm,
                 MPI_STATUS_IGNORE);
        } else if (kind == 6) {
            CALL(MPI_Probe, MPI_ANY_SOURCE, tag, of->comm, &status);
            CALL(MPI_Get_count, &status, MPI_INT, &count);
            CALL(MPI_Recv, received, count, MPI_INT, status.MPI_SOURCE, tag, of->comm, &status);
        } else {
            CALL(MPI_Mprobe, last, tag, of->comm, &message, &status);
            CALL(MPI_Mrecv, received, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
        }
        CALL(MPI_Wait, &requests[1], MPI_STATUS_IGNORE);
    }
    add(of, received, COUNT);
}

static void use_communicator(caller *of) {
    const int sides[1] = {of->size}, periods[1] = {1};
    MPI_Comm made;
    int size = 0;
    switch (draw(of, 3)) {
    case 0:
        CALL(MPI_Comm_dup, of->comm, &made);
        break;
    case 1:
        CALL(MPI_Comm_split, of->comm, 0, -of->rank, &made);
        break;
    default:
        CALL(MPI_Cart_create, of->comm, 1, sides, periods, 0, &made);
    }
    CALL(MPI_Comm_size, made, &size);
    CALL(MPI_Barrier, made);
    CALL(MPI_Comm_free, &made);
    add(of, &size, 1);
}

static void *call(void *argument) {
    caller *of = argument;
    for (int i = 0; i < of->calls; i++) {
        const unsigned kind = draw(of, 20);
        if (kind < 9)
            call_collective(of);
        else if (kind < 17)
            exchange(of);
        else if (kind < 19 && of->creates_communicators)
            use_communicator(of);
        else
            CALL(MPI_Pcontrol, 7, "a string", 2.5);
    }
    return NULL;
}

/* Open MPI 4.1 ends some programs by SIGSEGV whose threads create communicators at the same time. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
enum { THREADS_CREATE_COMMUNICATORS = 0 };
#else
enum { THREADS_CREATE_COMMUNICATORS = 1 };
#endif

static void call_in_threads(caller *main_caller, int threads) {
    caller callers[MOST_THREADS];
    pthread_t started[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        callers[i] = *main_caller;
        callers[i].state += (uint64_t)(i + 1) * 7919;
        callers[i].creates_communicators = THREADS_CREATE_COMMUNICATORS;
        CALL(MPI_Comm_dup, main_caller->comm, &callers[i].comm);
    }
    for (int i = 0; i < threads; i++)
        pthread_create(&started[i], NULL, call, &callers[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(started[i], NULL);
        main_caller->checksum += callers[i].checksum;
        CALL(MPI_Comm_free, &callers[i].comm);
    }
}

static int compare_names(const void *left, const void *right) {
    return strcmp(((const function *)left)->name, ((const function *)right)->name);
}

/* Prints a line by one system call, so that the lines of processes are not mixed. */
static void print(const caller *of) {
    char text[8192];
    int bytes = snprintf(text, sizeof text, "rank %d: checksum %lld", of->rank, (long long)of->checksum);
    int count = 0;
    while (functions[count].name != NULL)
        count++;
    qsort(functions, (size_t)count, sizeof *functions, compare_names); /* threads called them in any order */
    for (int i = 0; i < count; i++)
        bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, " %s=%d", functions[i].name,
                          functions[i].calls);
    text[bytes++] = '\n';
    if (write(1, text, (size_t)bytes) != bytes)
        exit(98);
}

int main(int argc, char **argv) {
    const int threads = atoi(argv[4]);
    caller of = {.comm = MPI_COMM_WORLD,
                 .state = (uint64_t)atoll(argv[1]),
                 .calls = atoi(argv[2]),
                 .creates_communicators = 1};
    int provided = MPI_THREAD_SINGLE;
    if (threads > 0 || draw(&of, 2) == 0)
        CALL(MPI_Init_thread, &argc, &argv, threads > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
             &provided);
    else
        CALL(MPI_Init, &argc, &argv);
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &of.rank);
    CALL(MPI_Comm_size, MPI_COMM_WORLD, &of.size);
    call(&of);
    if (threads > 0 && provided == MPI_THREAD_MULTIPLE)
        call_in_threads(&of, threads);
    print(&of);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    if (strcmp(argv[3], "abort") == 0)
        CALL(MPI_Abort, MPI_COMM_WORLD, 5);
    if (strcmp(argv[3], "exit") == 0)
        exit(6);
    CALL(MPI_Finalize, );
    return 0;
}
