/* MPI_Allgatherv on MPI_COMM_SELF: the only block is received two elements behind the address of the buffer.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int sent[] = {1, 2}, received[] = {0, 0, 0, 0}, count = 2, displacement = 2;
    MPI_Init(&argc, &argv);
    MPI_Allgatherv(sent, 2, MPI_INT, received, &count, &displacement, MPI_INT, MPI_COMM_SELF);
    int is_right = !received[0] && !received[1] && received[2] == 1 && received[3] == 2;
    printf("received %d %d %d %d: %s\n", received[0], received[1], received[2], received[3],
           is_right ? "right" : "WRONG");
    MPI_Finalize();
    return !is_right;
}
