/*
 * What the wrappers of a PMPI tool share (tool_sources.py writes the wrappers): it counts calls, and prints
 * the numbers when the process ends. TOOL is the tool's name. Calls of functions that begin and end MPI are
 * printed at once. A line is written by one system call, so that lines of processes are not mixed.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

enum { MOST_FUNCTIONS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[MOST_FUNCTIONS];
static int calls[MOST_FUNCTIONS];

static void print(const char *text, int number) {
    char line[256];
    const int bytes = snprintf(line, sizeof line, "%s: %s %d\n", TOOL, text, number);
    if (write(1, line, (size_t)bytes) != bytes)
        _exit(99);
}

HIDDEN void count_call(const char *name) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    if (names[i] == NULL)
        names[i] = strdup(name);
    calls[i]++;
    pthread_mutex_unlock(&lock);
    if (strstr(name, "MPI_Init") != NULL || strcmp(name, "MPI_Finalize") == 0 ||
        strcmp(name, "MPI_Abort") == 0)
        print(name, calls[i]);
}

/* For tools in Fortran, which pass the length of a string after it; the string ends with a zero. */
HIDDEN void count_call_of_fortran_(const char *name, size_t length) {
    (void)length;
    count_call(name);
}

HIDDEN void print_arguments(const char *text, double number) {
    print(text, (int)(1000 * number));
}

__attribute__((destructor)) static void print_numbers(void) {
    for (int i = 0; names[i] != NULL; i++)
        print(names[i], calls[i]);
}
