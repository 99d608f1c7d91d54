/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* setitimer */
#include "harmonize/accident.h"

#include <mpi.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static const int64_t SECOND = 1000000000;
static int64_t on_receipt_ns, alarm_ns, interruption_ns;

void sleep_ns(int64_t length_ns) {
    struct timespec rest = {.tv_sec = length_ns / SECOND, .tv_nsec = length_ns % SECOND};
    while (nanosleep(&rest, &rest) != 0)
        ;
}

static void have(int64_t *accident_ns) {
    int64_t length_ns = *accident_ns;
    *accident_ns = 0;
    if (length_ns > 0)
        sleep_ns(length_ns);
}

void sleep_on_receipt(int64_t length_ns) {
    on_receipt_ns = length_ns;
}

static void interrupt(int number) {
    (void)number;
    have(&interruption_ns);
}

void be_interrupted(int64_t after_receipt_ns, int64_t length_ns) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    interruption_ns = length_ns;
    alarm_ns = after_receipt_ns;
}

static void receipt(void) {
    struct itimerval alarm = {.it_value = {.tv_sec = alarm_ns / SECOND, .tv_usec = alarm_ns % SECOND / 1000}};
    if (alarm_ns > 0)
        setitimer(ITIMER_REAL, &alarm, NULL);
    alarm_ns = 0;
    have(&on_receipt_ns);
}

int __real_PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int __wrap_PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int __real_PMPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_PMPI_Test(MPI_Request *, int *, MPI_Status *);

int __wrap_PMPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status) {
    int rc = __real_PMPI_Recv(buffer, count, type, source, tag, comm, status);
    receipt();
    return rc;
}

int __wrap_PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int rc = __real_PMPI_Test(request, flag, status);
    if (*flag)
        receipt();
    return rc;
}
