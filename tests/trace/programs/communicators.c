/* Creates communicators of every kind on four processes, some with the same members, and names some. */
#include <mpi.h>

int main(int argc, char **argv) {
    const int sides[] = {2, 2}, periods[] = {0, 0}, remains[] = {1, 0};
    const int odd_ranks[] = {1, 3};
    int rank;
    MPI_Comm first, second, half, between, merged, grid, row, idle, odd;
    MPI_Group world, odd_group;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_dup(first, &second);
    MPI_Comm_set_name(second, "second");
    MPI_Barrier(second);
    MPI_Barrier(first);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 7, &between);
    MPI_Barrier(between);
    MPI_Bcast(&rank, 1, MPI_INT, rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1, between);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Intercomm_merge(between, rank >= 2, &merged);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &grid);
    MPI_Cart_sub(grid, remains, &row);
    MPI_Barrier(row);
    MPI_Comm_idup(MPI_COMM_WORLD, &idle, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(idle);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, odd_ranks, &odd_group);
    if (rank % 2 == 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd_group, 3, &odd);
        MPI_Barrier(odd);
        MPI_Comm_free(&odd);
    }
    MPI_Comm_create(MPI_COMM_WORLD, odd_group, &odd);
    if (odd != MPI_COMM_NULL)
        MPI_Comm_free(&odd);
    MPI_Group_free(&odd_group);
    MPI_Group_free(&world);
    MPI_Comm_free(&second);
    MPI_Comm_dup(MPI_COMM_WORLD, &second); /* its handle may be that of the freed one */
    MPI_Barrier(second);
    MPI_Finalize();
    return 0;
}
