/* The collectives that have counts for each process, with drawn counts of which many are 0: sparse_blocks
 * SEED. */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 16, MOST_COUNT = 100 };

static int size, rank;
static unsigned seed;
static int counts[MOST], others[MOST], displacements[MOST], byte_displacements[MOST];
static MPI_Datatype types[MOST];
static int sent[MOST * MOST_COUNT], got[MOST * MOST_COUNT];

/* How much `from` sends to `to` in a call: nothing in three of four cases. */
static int drawn(unsigned call, unsigned from, unsigned to) {
    unsigned number = seed * 7919u + call * 104729u + from * 31u + to * 17u;
    number = (number ^ number >> 7) * 2654435761u;
    number ^= number >> 15;
    return number % 4 == 0 ? (int)(number / 4 % MOST_COUNT) : 0;
}

/* Counts to and from each process. */
static void draw(unsigned call) {
    for (int i = 0; i < size; i++) {
        counts[i] = drawn(call, (unsigned)rank, (unsigned)i);
        others[i] = drawn(call, (unsigned)i, (unsigned)rank);
    }
}

/* The same counts on all processes: those of rank 0. */
static void draw_common(unsigned call) {
    for (int i = 0; i < size; i++)
        counts[i] = drawn(call, 0, (unsigned)i);
}

int main(int argc, char **argv) {
    MPI_Comm ring;
    MPI_Aint places[2] = {0, MOST_COUNT * sizeof(int)};
    int dimensions[1], periods[1] = {1};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (int i = 0; i < size; i++) {
        displacements[i] = i * MOST_COUNT;
        byte_displacements[i] = displacements[i] * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    draw(0);
    MPI_Alltoallv(sent, counts, displacements, MPI_INT, got, others, displacements, MPI_INT, MPI_COMM_WORLD);
    draw(1);
    MPI_Alltoallw(sent, counts, byte_displacements, types, got, others, byte_displacements, types,
                  MPI_COMM_WORLD);
    draw_common(2);
    MPI_Gatherv(sent, counts[rank], MPI_INT, got, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
    draw_common(3);
    MPI_Scatterv(sent, counts, displacements, MPI_INT, got, counts[rank], MPI_INT, 0, MPI_COMM_WORLD);
    draw_common(4);
    MPI_Allgatherv(sent, counts[rank], MPI_INT, got, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    draw_common(5);
    MPI_Reduce_scatter(sent, got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    dimensions[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &ring);
    /* In a ring, what goes to the left neighbour arrives from the right one. */
    const unsigned left = (unsigned)(rank + size - 1) % (unsigned)size,
                   right = (unsigned)(rank + 1) % (unsigned)size;
    const unsigned me = (unsigned)rank;
    int to[2] = {drawn(6, me, left), drawn(6, me, right + MOST)};
    int from[2] = {drawn(6, left, me + MOST), drawn(6, right, me)};
    MPI_Neighbor_alltoallv(sent, to, displacements, MPI_INT, got, from, displacements, MPI_INT, ring);
    MPI_Neighbor_alltoallw(sent, to, places, types, got, from, places, types, ring);
    int own = drawn(7, me, 0), received[2] = {drawn(7, left, 0), drawn(7, right, 0)};
    MPI_Neighbor_allgatherv(sent, own, MPI_INT, got, received, displacements, MPI_INT, ring);
    MPI_Finalize();
    return 0;
}
