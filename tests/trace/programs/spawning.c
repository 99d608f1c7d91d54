/*
 * `spawning CHILDREN`: the processes spawn so many processes of the same program, and both groups call
 * MPI_Barrier on their MPI_COMM_WORLD, the spawning ones 5 times, the spawned ones 9 times, and reduce ranks
 * on the merged communicator. Each process prints the sum.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Comm parent, other, merged;
    int rank, sum, codes[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    const int is_spawned = parent != MPI_COMM_NULL;
    for (int i = 0; i < (is_spawned ? 9 : 5); i++)
        MPI_Barrier(MPI_COMM_WORLD);
    other = parent;
    if (!is_spawned)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[1]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       codes);
    MPI_Intercomm_merge(other, is_spawned, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    char line[64];
    const int bytes =
        snprintf(line, sizeof line, "%s rank %d: sum %d\n", is_spawned ? "spawned" : "first", rank, sum);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return write(1, line, (size_t)bytes) == bytes ? 0 : 1;
}
