/*
 * A program with handlers of its own for faults: `fault_handlers WHEN KIND FILE`. It installs them before or
 * after MPI_Init (WHEN is `before` or `after`), as KIND `plain`, `information` (SA_SIGINFO), `once`
 * (SA_RESETHAND, and installed again after each signal) or `ending` (the second SIGBUS ends the program).
 * Then it reads behind the end of a mapped FILE (SIGBUS) and where nothing is mapped (SIGSEGV), between
 * collectives, and also sends itself SIGBUS. It prints each signal that a handler gets.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static sigjmp_buf place;
static const volatile char *volatile fault;

static void handle(int number) {
    siglongjmp(place, number);
}

static void handle_with_information(int number, siginfo_t *information, void *context) {
    (void)context;
    const int is_fault = information->si_code > 0;
    siglongjmp(place, is_fault && information->si_addr == fault ? 100 + number : number);
}

static void install(const char *kind) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    if (strcmp(kind, "information") == 0) {
        action.sa_sigaction = handle_with_information;
        action.sa_flags = SA_SIGINFO;
    } else if (strcmp(kind, "plain") != 0) {
        action.sa_flags = (int)SA_RESETHAND;
    }
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

static void reduce(const char *text, int number) {
    int sum = 0;
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%s: %d\n", text, sum);
    fflush(stdout);
}

/* Reads an address that raises a signal, or sends SIGBUS if it is NULL. */
static void cause(const char *text, const volatile char *address) {
    fault = address;
    const int number = sigsetjmp(place, 1);
    if (number == 0 && address != NULL)
        (void)*address;
    else if (number == 0)
        raise(SIGBUS);
    reduce(text, number);
}

int main(int argc, char **argv) {
    const int is_before = strcmp(argv[1], "before") == 0, is_once = strcmp(argv[2], "once") == 0;
    const int file = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *mapped = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, file, 0);
    char *missing = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (is_before)
        install(argv[2]);
    MPI_Init(&argc, &argv);
    if (!is_before)
        install(argv[2]);
    cause("bus", mapped);
    cause("segmentation", missing);
    if (strcmp(argv[2], "ending") == 0)
        cause("bus again", mapped);
    if (is_once)
        install(argv[2]);
    cause("raised", NULL);
    if (is_once)
        install(argv[2]);
    MPI_Finalize();
    fault = mapped;
    const int number = sigsetjmp(place, 1);
    if (number == 0)
        (void)*fault;
    printf("after MPI_Finalize: %d\n", number);
    fflush(stdout);
    if (is_once) /* now the program ends by the signal */
        (void)*fault;
    return 0;
}
