/*
 * MPI_Pack of two blocks of two complex numbers each, which are 36 bytes apart: MPI_Type_create_hvector.
 * Collectives with this type are wrong, too.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    float numbers[13], packed[8] = {0}; /* the blocks begin at numbers 0 and 9 */
    int position = 0, wrong = 0;
    MPI_Datatype blocks;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 13; i++)
        numbers[i] = (float)i;
    MPI_Type_create_hvector(2, 2, 36, MPI_C_FLOAT_COMPLEX, &blocks);
    MPI_Type_commit(&blocks);
    MPI_Pack(numbers, 1, blocks, packed, sizeof packed, &position, MPI_COMM_SELF);
    for (int i = 0; i < 8; i++)
        wrong += packed[i] != (float)(i < 4 ? i : i + 5);
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
