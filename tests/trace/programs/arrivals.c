/*
 * Each rank waits for its delay before MPI_Allreduce, and records when it really called, so that its true
 * arrivals are known.
 *
 * Usage: arrivals FOLDER CALLS DELAY_US... with one delay per rank. Rank 0 sets a time ahead, from which
 * every rank waits for its delay; FOLDER/RANK.txt has a line per call: the time at which the rank should
 * call, and readings of CLOCK_MONOTONIC just before the call and just after it.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const long long AHEAD_NS = 3000000;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_until(long long ns) {
    const struct timespec moment = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
}

int main(int argc, char **argv) {
    char path[4096];
    int rank;
    double value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d.txt", argv[1], rank);
    FILE *file = fopen(path, "w");
    if (file == NULL || argc < rank + 4)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < atoi(argv[2]); i++) {
        long long moment_ns = now_ns() + AHEAD_NS;
        MPI_Bcast(&moment_ns, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
        moment_ns += atoll(argv[rank + 3]) * 1000;
        sleep_until(moment_ns);
        const long long before_ns = now_ns();
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        fprintf(file, "%lld %lld %lld\n", moment_ns, before_ns, now_ns());
    }
    fclose(file);
    MPI_Finalize();
    return 0;
}
