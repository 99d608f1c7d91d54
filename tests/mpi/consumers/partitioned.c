/* A partitioned send to the other process, with other partitions there. */
#include <offbeat/partitioned.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, out[12], in[12], sum = 0;
    offbeat_prequest requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int i = 0; i < 12; i++)
        out[i] = 100 * rank + i;
    offbeat_psend_init(out, 4, 3, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    offbeat_precv_init(in, 3, 4, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    offbeat_pstartall(2, requests);
    offbeat_pready_range(0, 3, requests[0]);
    offbeat_pwaitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 12; i++)
        sum += in[i];
    offbeat_prequest_free(&requests[0]);
    offbeat_prequest_free(&requests[1]);
    printf("rank %d received numbers with the sum %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
