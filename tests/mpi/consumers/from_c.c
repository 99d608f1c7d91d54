/* A start, a start with delays, and the clock of the communicator. */
#include <offbeat/harmonize.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, flag;
    offbeat_start start;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_Harmonize(MPI_COMM_WORLD, &flag);
    MPIX_Harmonize_delayed(MPI_COMM_WORLD, 1000 * rank, &start);
    offbeat_instant now = offbeat_clock_now(MPIX_Harmonize_clock(MPI_COMM_WORLD));
    printf("rank %d: flag %s, waits %d ns, left %s, bound %s\n", rank,
           flag == 0 || flag == 1 ? "known" : "wrong", (int)(start.planned_ns - start.deadline_ns),
           now.global_ns >= start.planned_ns ? "after it" : "before it",
           now.bound_ns >= 0 ? "known" : "wrong");
    MPI_Finalize();
    return 0;
}
