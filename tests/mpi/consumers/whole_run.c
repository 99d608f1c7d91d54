/* Uses all of the library: starts on communicators that are freed and on one that is not freed before
 * MPI_Finalize, clocks with each method, and a call that fails. */
#include <offbeat/harmonize.h>
#include <stdio.h>
#include <stdlib.h>

static void starts_on(MPI_Comm comm) {
    for (int i = 0; i < 20; i++) {
        int flag;
        offbeat_start start;
        MPIX_Harmonize(comm, &flag);
        MPIX_Harmonize_delayed(comm, 10000 * i, &start);
    }
}

static void clocks_of_all_methods(void) {
    for (int i = 0; offbeat_clock_method_name(i) != NULL; i++) {
        offbeat_clock *clock;
        offbeat_clock_options options = {.method = offbeat_clock_method_name(i)};
        offbeat_clock_create_with(MPI_COMM_WORLD, &options, &clock);
        offbeat_clock_sync(clock);
        offbeat_clock_now(clock);
        offbeat_clock_free(&clock);
    }
}

int main(int argc, char **argv) {
    int rank, size, flag;
    MPI_Comm half, duplicate;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    starts_on(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    starts_on(half);
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    starts_on(duplicate);
    clocks_of_all_methods();
    MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
    if (MPIX_Harmonize_delayed(duplicate, -1, NULL) == MPI_SUCCESS ||
        MPIX_Harmonize(duplicate, NULL) == MPI_SUCCESS)
        return 1;
    starts_on(duplicate);
    MPIX_Harmonize(MPI_COMM_SELF, &flag);
    if (argc > 1)
        *(volatile char *)malloc((size_t)argc) = 1; /* a leak, which valgrind must find */
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
