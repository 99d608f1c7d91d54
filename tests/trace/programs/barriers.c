/*
 * Arguments: COUNT SLEEP_US END. Calls MPI_Barrier COUNT times, each after a sleep of SLEEP_US times the rank
 * in microseconds, and MPI_Allreduce of 8 bytes before every tenth barrier. Then ends by END: finalize, exit,
 * _exit, abort, kill or segv; with kill-one, rank 1 is killed and the others wait for it in another
 * MPI_Barrier.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void end(const char *how, int rank) {
    if (strcmp(how, "kill-one") == 0 && rank == 1)
        raise(SIGKILL);
    if (strcmp(how, "kill-one") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    MPI_Finalize();
}

int main(int argc, char **argv) {
    int rank, count = argc > 1 ? atoi(argv[1]) : 1;
    double value = 1.0, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long delay_ns = argc > 2 ? atol(argv[2]) * 1000 * rank : 0;
    const struct timespec delay = {delay_ns / 1000000000, delay_ns % 1000000000};
    for (int i = 0; i < count; i++) {
        if (i % 10 == 0)
            MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (delay_ns > 0)
            nanosleep(&delay, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d is done\n", rank);
    fflush(stdout);
    end(argc > 3 ? argv[3] : "finalize", rank);
    return 0;
}
