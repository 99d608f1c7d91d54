/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* setitimer */
#include "testing/fault_injection.h"

#include <mpi.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

/* The injected faults; 0: none. */
static int64_t sleep_after_receive_ns, signal_delay_ns, handler_sleep_ns;

void sleep_ns(int64_t length_ns) {
    struct timespec remaining_time = {.tv_sec = length_ns / SECOND, .tv_nsec = length_ns % SECOND};
    while (nanosleep(&remaining_time, &remaining_time) != 0)
        ;
}

/* Sleeps once. */
static void inject(int64_t *fault_ns) {
    int64_t length_ns = *fault_ns;
    *fault_ns = 0;
    if (length_ns > 0)
        sleep_ns(length_ns);
}

void inject_sleep_after_receive(int64_t length_ns) {
    sleep_after_receive_ns = length_ns;
}

static void handle_alarm(int number) {
    (void)number;
    inject(&handler_sleep_ns);
}

void inject_signal_after_receive(int64_t delay_ns, int64_t length_ns) {
    struct sigaction action = {.sa_handler = handle_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    handler_sleep_ns = length_ns;
    signal_delay_ns = delay_ns;
}

static void after_receive(void) {
    struct itimerval alarm = {
        .it_value = {.tv_sec = signal_delay_ns / SECOND, .tv_usec = signal_delay_ns % SECOND / 1000}};
    if (signal_delay_ns > 0)
        setitimer(ITIMER_REAL, &alarm, NULL);
    signal_delay_ns = 0;
    inject(&sleep_after_receive_ns);
}

int __real_PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int __wrap_PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int __real_PMPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_PMPI_Test(MPI_Request *, int *, MPI_Status *);

int __wrap_PMPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status) {
    int rc = __real_PMPI_Recv(buffer, count, type, source, tag, comm, status);
    after_receive();
    return rc;
}

int __wrap_PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int rc = __real_PMPI_Test(request, flag, status);
    if (*flag)
        after_receive();
    return rc;
}
