/* Four threads of each process call MPI_Allreduce 500 times, each on its own communicator. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, CALLS = 500, NO_THREADS = 77 };

static void *work(void *given) {
    MPI_Comm comm = *(MPI_Comm *)given, copy;
    int value = 1, sum;
    for (int i = 0; i < CALLS; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&copy);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return NO_THREADS;
    }
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
