/*
 * Times MPI_Allreduce of 8 bytes, or messages of 8 bytes: batches of calls, which a tracer records, alternate
 * with batches of the MPI library's own function, which a tracer does not record; in one process, so that
 * both use the same cores and the same memory.
 *
 * Usage: trace_overhead BATCHES CALLS [messages|sites]. Rank 0 prints a line a batch: "pair"
 * (MPI_COMM_WORLD), "alone" (MPI_COMM_SELF) or with messages the name of a kind of calls (MPI_COMM_SELF), and
 * the nanoseconds of a recorded call and of one that is not recorded. Of a kind, the nanoseconds are those
 * per record, and a batch has as many calls as give CALLS records.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The functions of the MPI library, or those that a tracer puts before them. */
#define FUNCTIONS(DO)                                                                                        \
    DO(Allreduce)                                                                                            \
    DO(Iallreduce)                                                                                           \
    DO(Send)                                                                                                 \
    DO(Bsend)                                                                                                \
    DO(Recv)                                                                                                 \
    DO(Probe)                                                                                                \
    DO(Isend)                                                                                                \
    DO(Irecv)                                                                                                \
    DO(Send_init)                                                                                            \
    DO(Recv_init)                                                                                            \
    DO(Request_free)                                                                                         \
    DO(Start)                                                                                                \
    DO(Wait)                                                                                                 \
    DO(Waitall)
#define POINTER(name) __typeof__(MPI_##name) *name;
typedef struct functions {
    FUNCTIONS(POINTER)
} functions;

#define RECORDED(name) MPI_##name,
static functions recorded = {FUNCTIONS(RECORDED)}, unrecorded;

/* The dlsym of the C library, because a tracer replaces this name, too. */
typedef void *lookup(void *, const char *);
static lookup *find_lookup(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *found = dlvsym(libc, "dlsym", "GLIBC_2.34");
    if (found == NULL) /* before glibc 2.34 it is in another library */
        found = dlvsym(dlopen("libdl.so.2", RTLD_LAZY), "dlsym", "GLIBC_2.2.5");
    if (found == NULL)
        abort();
    return (lookup *)found;
}

/* The library's own PMPI functions, because a tracer replaces the names PMPI_Allreduce and so on as well. */
static void find_unrecorded(void) {
    Dl_info library;
    lookup *look_up = find_lookup();
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_version"), &library) == 0)
        abort();
    void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
#define FIND(name) *(void **)&unrecorded.name = look_up(handle, "PMPI_" #name);
    FUNCTIONS(FIND)
}

static void reduce(const functions *by, MPI_Comm comm) {
    double value = 1.0, sum;
    by->Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* The same from 64 functions in turn: each call has another call path than the ones before it. */
#define SITE(n)                                                                                              \
    static __attribute__((noinline)) void site_##n(const functions *by, MPI_Comm comm) {                     \
        reduce(by, comm);                                                                                    \
        __asm__ volatile("");                                                                                \
    }
#define EIGHT(do, n)                                                                                         \
    do                                                                                                       \
    (n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define ALL(do)                                                                                              \
    EIGHT(do, 0) EIGHT(do, 1) EIGHT(do, 2) EIGHT(do, 3) EIGHT(do, 4) EIGHT(do, 5) EIGHT(do, 6) EIGHT(do, 7)
ALL(SITE)
#define ADDRESS(n) site_##n,
static void (*const sites[])(const functions *, MPI_Comm) = {ALL(ADDRESS)};

static void reduce_in_turn(const functions *by, MPI_Comm comm) {
    static unsigned next;
    sites[next++ % (sizeof sites / sizeof *sites)](by, comm);
}

/* A message from rank 0 to rank 1 and one back. */
static void pass(const functions *by, MPI_Comm comm) {
    static int rank = -1;
    double sent = 1.0, got;
    if (rank < 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        by->Send(&sent, 1, MPI_DOUBLE, 1, 0, comm);
        by->Recv(&got, 1, MPI_DOUBLE, 1, 0, comm, MPI_STATUS_IGNORE);
    } else {
        by->Recv(&got, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
        by->Send(&sent, 1, MPI_DOUBLE, 0, 0, comm);
    }
}

/* --- kinds of calls of one process alone --- */

static double out = 1.0, in;
static MPI_Request requests[2];
static MPI_Status *ignored; /* MPI_STATUSES_IGNORE, whose address gcc warns of where it is a constant */

static void reduce_nonblocking(const functions *by, MPI_Comm comm) {
    by->Iallreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, comm, requests);
    by->Wait(requests, MPI_STATUS_IGNORE);
}

static void send_buffered(const functions *by, MPI_Comm comm) {
    by->Bsend(&out, 1, MPI_DOUBLE, 0, 0, comm);
    by->Recv(&in, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
}

static void probe(const functions *by, MPI_Comm comm) {
    by->Bsend(&out, 1, MPI_DOUBLE, 0, 0, comm);
    by->Probe(0, 0, comm, MPI_STATUS_IGNORE);
    by->Recv(&in, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
}

static void post(const functions *by, MPI_Comm comm) {
    by->Irecv(&in, 1, MPI_DOUBLE, 0, 0, comm, &requests[0]);
    by->Isend(&out, 1, MPI_DOUBLE, 0, 0, comm, &requests[1]);
}

static void post_and_wait(const functions *by, MPI_Comm comm) {
    post(by, comm);
    by->Wait(&requests[0], MPI_STATUS_IGNORE);
    by->Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void post_and_wait_for_all(const functions *by, MPI_Comm comm) {
    post(by, comm);
    by->Waitall(2, requests, ignored);
}

static MPI_Request persistent[2][2]; /* of unrecorded and recorded calls: a receive and a send */

static void create_persistent(const functions *by, MPI_Comm comm) {
    MPI_Request *own = persistent[by == &recorded];
    by->Recv_init(&in, 1, MPI_DOUBLE, 0, 0, comm, &own[0]);
    by->Send_init(&out, 1, MPI_DOUBLE, 0, 0, comm, &own[1]);
}

static void free_persistent(const functions *by) {
    by->Request_free(&persistent[by == &recorded][0]);
    by->Request_free(&persistent[by == &recorded][1]);
}

static void start_and_wait(const functions *by, MPI_Comm comm) {
    (void)comm;
    MPI_Request *own = persistent[by == &recorded];
    by->Start(&own[0]);
    by->Start(&own[1]);
    by->Wait(&own[0], MPI_STATUS_IGNORE);
    by->Wait(&own[1], MPI_STATUS_IGNORE);
}

static const struct kind {
    const char *name;
    void (*work)(const functions *, MPI_Comm);
    int records;
} kinds[] = {{"collective", reduce, 1},         {"nonblocking_collective", reduce_nonblocking, 2},
             {"blocking", send_buffered, 2},    {"probe", probe, 3},
             {"nonblocking", post_and_wait, 4}, {"nonblocking_all", post_and_wait_for_all, 4},
             {"persistent", start_and_wait, 4}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void (*work)(const functions *, MPI_Comm) = reduce;

static double time_ns(const functions *by, int calls, MPI_Comm comm) {
    const double began_ns = now_ns();
    for (int i = 0; i < calls; i++)
        work(by, comm);
    return (now_ns() - began_ns) / calls;
}

/* Warm-up: the processor's frequency, the library and the tracer reach a steady state. A tracer that fits its
 * clock needs milliseconds for that. */
enum { CALLS_BEFORE = 200000 };

/* A batch of both; their order alternates. */
static void measure_batch(const char *name, int i, int calls, int records, MPI_Comm comm, int prints) {
    double recorded_ns = i % 2 ? time_ns(&recorded, calls, comm) : 0.0;
    const double unrecorded_ns = time_ns(&unrecorded, calls, comm);
    if (i % 2 == 0)
        recorded_ns = time_ns(&recorded, calls, comm);
    if (i >= 0 && prints)
        printf("%s %.2f %.2f\n", name, recorded_ns / records, unrecorded_ns / records);
}

static void measure(const char *name, int batches, int calls, MPI_Comm comm, int prints) {
    for (int i = -CALLS_BEFORE / calls; i < batches; i++)
        measure_batch(name, i, calls, 1, comm, prints);
}

/* Batches of all kinds alternate. */
static void measure_kinds(int batches, int calls, int prints) {
    create_persistent(&unrecorded, MPI_COMM_SELF);
    create_persistent(&recorded, MPI_COMM_SELF);
    for (int i = -CALLS_BEFORE / calls; i < batches; i++)
        for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
            work = kind->work;
            measure_batch(kind->name, i, calls / kind->records, kind->records, MPI_COMM_SELF, prints);
        }
    free_persistent(&unrecorded);
    free_persistent(&recorded);
}

int main(int argc, char **argv) {
    static char buffer[1 << 16]; /* of buffered sends */
    int rank;
    MPI_Init(&argc, &argv);
    find_unrecorded();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int batches = argc > 1 ? atoi(argv[1]) : 200, calls = argc > 2 ? atoi(argv[2]) : 1000;
    const int has_messages = argc > 3 && strcmp(argv[3], "messages") == 0;
    ignored = MPI_STATUSES_IGNORE;
    MPI_Buffer_attach(buffer, sizeof buffer);
    if (has_messages)
        work = pass;
    if (argc > 3 && strcmp(argv[3], "sites") == 0)
        work = reduce_in_turn;
    measure("pair", batches, calls, MPI_COMM_WORLD, rank == 0);
    if (has_messages)
        measure_kinds(batches, calls, rank == 0);
    else
        measure("alone", batches, calls, MPI_COMM_SELF, rank == 0);
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Finalize();
    return 0;
}
