/* A program of many iterations for SimGrid's SMPI: the peer of 'offbeat program simulate'.
 *
 *     smpirun ... program_peers ITERATIONS BYTES EVERY DOUBLES BASE_NS STEP_NS
 *
 * In each iteration rank r works for BASE_NS + (7 r modulo 11) STEP_NS, exchanges BYTES with both neighbours
 * on a ring, and calls an allreduce of DOUBLES numbers in every EVERY-th iteration. Rank 0 prints the
 * simulated time of the rank that ends last, in seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double NODE_FLOPS_PER_NS = 1; /* the speed in the platform file: 1 Gf */

static void exchange(char *buffer, int bytes, int rank, int p) {
    int right = (rank + 1) % p, left = (rank + p - 1) % p;
    MPI_Request requests[4];
    MPI_Irecv(buffer, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer + bytes, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(buffer + 2L * bytes, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(buffer + 2L * bytes, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int rank = 0, p = 0;
    MPI_Init(&argc, &argv);
    if (argc != 7)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    int iterations = atoi(argv[1]), bytes = atoi(argv[2]), every = atoi(argv[3]), doubles = atoi(argv[4]);
    double work = (atof(argv[5]) + 7 * rank % 11 * atof(argv[6])) * NODE_FLOPS_PER_NS;
    char *buffer = calloc(3, (size_t)bytes);
    double *sent = calloc((size_t)doubles, sizeof *sent),
           *received = calloc((size_t)doubles, sizeof *received);
    double begin_s = MPI_Wtime();
    for (int i = 1; i <= iterations; ++i) {
        smpi_execute_flops(work);
        exchange(buffer, bytes, rank, p);
        if (i % every == 0)
            MPI_Allreduce(sent, received, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double taken_s = MPI_Wtime() - begin_s, last_s = 0;
    MPI_Reduce(&taken_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.12f\n", last_s);
    free(received);
    free(sent);
    free(buffer);
    return MPI_Finalize();
}
