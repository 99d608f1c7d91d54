/*
 * MPI_Alltoall on MPI_COMM_SELF of 64 KiB and some bytes, six of every seven: the send type and the receive
 * type are equal, but two handles.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 10923, DATA = 6, EXTENT = 7 };

static MPI_Datatype create_type(void) {
    MPI_Datatype data, spaced;
    MPI_Type_contiguous(DATA, MPI_BYTE, &data);
    MPI_Type_create_resized(data, -1, EXTENT, &spaced);
    MPI_Type_commit(&spaced);
    return spaced;
}

int main(int argc, char **argv) {
    static unsigned char sent[N * EXTENT], received[N * EXTENT];
    int wrong = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < N * EXTENT; i++)
        sent[i] = (unsigned char)(i % 251);
    MPI_Alltoall(sent, N, create_type(), received, N, create_type(), MPI_COMM_SELF);
    for (int i = 0; i < N * EXTENT; i++)
        wrong += i % EXTENT < DATA && received[i] != sent[i];
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
