/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs with MPI's partitioned calls share. Nothing here is offbeat's: plain MPI 4. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, rank, #condition);         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                    \
        }                                                                                                    \
    } while (0)

/* Element i of iteration k in the message with a salt. */
static int value(int salt, int k, int i) {
    return salt * 1000003 + k * 7919 + i;
}

static void fill(int *data, int first, int count, int salt, int k) {
    for (int i = first; i < first + count; i++)
        data[i] = value(salt, k, i);
}

static int is_right(const int *data, int first, int count, int salt, int k) {
    for (int i = first; i < first + count; i++)
        if (data[i] != value(salt, k, i))
            return 0;
    return 1;
}

typedef void scenario(void);

struct named_scenario {
    const char *name;
    scenario *run;
};

extern const struct named_scenario scenarios[]; /* ends with a name that is NULL */

/* Runs the scenario that the first argument names; rank 0 prints "done" when all processes have ended it. */
int main(int argc, char **argv) {
    int provided, i = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2 && provided == MPI_THREAD_MULTIPLE);
    while (scenarios[i].name && strcmp(scenarios[i].name, argv[1]))
        i++;
    CHECK(scenarios[i].name);
    scenarios[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("done");
    MPI_Finalize();
    return 0;
}
