/*
 * MPI_Sendrecv of three bytes of a process to itself, received in descending order: MPI_Type_vector with
 * stride -1. Collectives with this type are wrong, too.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char sent[] = {1, 2, 3}, received[] = {0, 0, 0};
    MPI_Datatype descending;
    MPI_Init(&argc, &argv);
    MPI_Type_vector(3, 1, -1, MPI_CHAR, &descending);
    MPI_Type_commit(&descending);
    MPI_Sendrecv(sent, 3, MPI_CHAR, 0, 0, received + 2, 1, descending, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    int wrong = received[0] != 3 || received[1] != 2 || received[2] != 1;
    printf("%d %d %d instead of 3 2 1: %d wrong\n", received[0], received[1], received[2], wrong);
    MPI_Finalize();
    return wrong;
}
