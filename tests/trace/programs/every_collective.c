/*
 * Calls every collective on communicators of four processes: once blocking, once nonblocking, twice
 * persistent (PERSISTENT), and all of that with large counts (LARGE). Every block is three integers, 12
 * bytes.
 *
 * ONE_SCATTER: a persistent MPI_Scatter is started only once. Intel MPI 2021.18 fails in the second start at
 * its root ("Invalid communicator"), traced or not.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { P = 4, BLOCK = 3 };

static int sent[2 * P * BLOCK], got[2 * P * BLOCK];
static int counts[P], places[P], byte_places[P];
static MPI_Aint far_places[P];
static MPI_Datatype types[P];

static void wait_for(MPI_Request *request) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

#ifdef PERSISTENT
static void start_twice(const char *name, MPI_Request *request) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
#ifdef ONE_SCATTER
    const int is_once = strncmp(name, "Scatter_init", strlen("Scatter_init")) == 0;
#else
    const int is_once = name == NULL;
#endif
    if (!is_once) {
        MPI_Startall(1, request);
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(request);
}
#define TWICE(name, ...)                                                                                     \
    MPI_##name(__VA_ARGS__, MPI_INFO_NULL, &request);                                                        \
    start_twice(#name, &request);
#else
#define TWICE(name, ...)
#endif

#define ALL(name, lower, ...)                                                                                \
    MPI_##name(__VA_ARGS__);                                                                                 \
    MPI_I##lower(__VA_ARGS__, &request);                                                                     \
    wait_for(&request);                                                                                      \
    TWICE(name##_init, __VA_ARGS__)

static void small(MPI_Comm comm, MPI_Comm ring) {
    MPI_Request request;
    ALL(Barrier, barrier, comm)
    ALL(Bcast, bcast, sent, BLOCK, MPI_INT, 1, comm)
    ALL(Gather, gather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL(Gatherv, gatherv, sent, BLOCK, MPI_INT, got, counts, places, MPI_INT, 1, comm)
    ALL(Scatter, scatter, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL(Scatterv, scatterv, sent, counts, places, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL(Allgather, allgather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm)
    ALL(Allgatherv, allgatherv, sent, BLOCK, MPI_INT, got, counts, places, MPI_INT, comm)
    ALL(Alltoall, alltoall, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm)
    ALL(Alltoallv, alltoallv, sent, counts, places, MPI_INT, got, counts, places, MPI_INT, comm)
    ALL(Alltoallw, alltoallw, sent, counts, byte_places, types, got, counts, byte_places, types, comm)
    ALL(Reduce, reduce, sent, got, BLOCK, MPI_INT, MPI_SUM, 1, comm)
    ALL(Allreduce, allreduce, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL(Reduce_scatter, reduce_scatter, sent, got, counts, MPI_INT, MPI_SUM, comm)
    ALL(Reduce_scatter_block, reduce_scatter_block, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL(Scan, scan, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL(Exscan, exscan, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL(Neighbor_allgather, neighbor_allgather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, ring)
    ALL(Neighbor_allgatherv, neighbor_allgatherv, sent, BLOCK, MPI_INT, got, counts, places, MPI_INT, ring)
    ALL(Neighbor_alltoall, neighbor_alltoall, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, ring)
    ALL(Neighbor_alltoallv, neighbor_alltoallv, sent, counts, places, MPI_INT, got, counts, places, MPI_INT,
        ring)
    ALL(Neighbor_alltoallw, neighbor_alltoallw, sent, counts, far_places, types, got, counts, far_places,
        types, ring)
}

#ifdef LARGE
#define ALL_C(name, lower, ...)                                                                              \
    MPI_##name##_c(__VA_ARGS__);                                                                             \
    MPI_I##lower##_c(__VA_ARGS__, &request);                                                                 \
    wait_for(&request);                                                                                      \
    TWICE(name##_init_c, __VA_ARGS__)

static void large(MPI_Comm comm, MPI_Comm ring) {
    MPI_Request request;
    MPI_Count many[P];
    MPI_Aint where[P];
    for (int i = 0; i < P; i++) {
        many[i] = BLOCK;
        where[i] = (MPI_Aint)i * BLOCK;
    }
    ALL_C(Bcast, bcast, sent, BLOCK, MPI_INT, 1, comm)
    ALL_C(Gather, gather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL_C(Gatherv, gatherv, sent, BLOCK, MPI_INT, got, many, where, MPI_INT, 1, comm)
    ALL_C(Scatter, scatter, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL_C(Scatterv, scatterv, sent, many, where, MPI_INT, got, BLOCK, MPI_INT, 1, comm)
    ALL_C(Allgather, allgather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm)
    ALL_C(Allgatherv, allgatherv, sent, BLOCK, MPI_INT, got, many, where, MPI_INT, comm)
    ALL_C(Alltoall, alltoall, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm)
    ALL_C(Alltoallv, alltoallv, sent, many, where, MPI_INT, got, many, where, MPI_INT, comm)
    ALL_C(Alltoallw, alltoallw, sent, many, far_places, types, got, many, far_places, types, comm)
    ALL_C(Reduce, reduce, sent, got, BLOCK, MPI_INT, MPI_SUM, 1, comm)
    ALL_C(Allreduce, allreduce, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL_C(Reduce_scatter, reduce_scatter, sent, got, many, MPI_INT, MPI_SUM, comm)
    ALL_C(Reduce_scatter_block, reduce_scatter_block, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL_C(Scan, scan, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL_C(Exscan, exscan, sent, got, BLOCK, MPI_INT, MPI_SUM, comm)
    ALL_C(Neighbor_allgather, neighbor_allgather, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, ring)
    ALL_C(Neighbor_allgatherv, neighbor_allgatherv, sent, BLOCK, MPI_INT, got, many, where, MPI_INT, ring)
    ALL_C(Neighbor_alltoall, neighbor_alltoall, sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, ring)
    ALL_C(Neighbor_alltoallv, neighbor_alltoallv, sent, many, where, MPI_INT, got, many, where, MPI_INT, ring)
    ALL_C(Neighbor_alltoallw, neighbor_alltoallw, sent, many, far_places, types, got, many, far_places, types,
          ring)
}
#endif

int main(int argc, char **argv) {
    const int side = P, is_periodic = 1;
    MPI_Comm comm, ring;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < P; i++) {
        counts[i] = BLOCK;
        places[i] = i * BLOCK;
        byte_places[i] = i * BLOCK * (int)sizeof(int);
        far_places[i] = byte_places[i];
        types[i] = MPI_INT;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &side, &is_periodic, 0, &ring);
    small(comm, ring);
#ifdef LARGE
    large(comm, ring);
#endif
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
