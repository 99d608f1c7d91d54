/*
 * `spawning HOW`: a process spawns another process of this program by MPI_Comm_spawn (HOW is `one`), or one
 * of each of two commands by MPI_Comm_spawn_multiple (`multiple`). Both groups call MPI_Barrier on their
 * MPI_COMM_WORLD, the spawning one 5 times, the spawned one 9 times, and reduce ranks on the merged
 * communicator. Each process prints the sum and its argument.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void spawn(char *program, const char *how, MPI_Comm *other) {
    char *first[] = {"first command", NULL}, *second[] = {"second command", NULL};
    char *programs[] = {program, program}, **arguments[] = {first, second};
    const int counts[] = {1, 1};
    int codes[2];
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Info_create(&infos[1]);
    if (strcmp(how, "multiple") == 0)
        MPI_Comm_spawn_multiple(2, programs, arguments, counts, infos, 0, MPI_COMM_WORLD, other, codes);
    else
        MPI_Comm_spawn(program, first, 1, infos[1], 0, MPI_COMM_WORLD, other, codes);
    MPI_Info_free(&infos[1]);
}

int main(int argc, char **argv) {
    MPI_Comm other, merged;
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&other);
    const int is_spawned = other != MPI_COMM_NULL;
    for (int i = 0; i < (is_spawned ? 9 : 5); i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (!is_spawned)
        spawn(argv[0], argv[1], &other);
    MPI_Intercomm_merge(other, is_spawned, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    char line[128];
    const int bytes = snprintf(line, sizeof line, "%s rank %d: sum %d, %s\n",
                               is_spawned ? "spawned" : "first", rank, sum, argv[1]);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return write(1, line, (size_t)bytes) == bytes ? 0 : 1;
}
